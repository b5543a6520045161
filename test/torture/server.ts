import { chmod, mkdir, readFile, rm, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { Cluster } from '../../src/embedded/cluster.js'
import { findNativePackage } from '../../src/embedded/native-package.js'
import { prepareNativePrograms } from '../../src/embedded/native-programs.js'
import { serverUser } from '../../src/embedded/server-user.js'
import { migrate } from '../../src/store/migrator.js'
import { sqlFilesUnderTest } from '../harness/guard-removal.js'
import { systemPrograms } from '../harness/test-server.js'
import { storedBySql } from './stored-by.js'

/** Few enough to be used up on purpose, and more than the processes need. */
const connectionsMax = 140

/** A PostgreSQL of the torture's own, with a disk's durability, that is shut down and crashed. */
export class TortureServer {
  readonly url: string
  readonly version: string
  readonly #cluster: Cluster
  readonly #log: string
  #restarting: Promise<void> = Promise.resolve()
  #isOver = false
  /** Lines of its log that tell of what must not happen. */
  readonly complaints: string[] = []

  private constructor(cluster: Cluster, url: string, version: string, log: string) {
    this.#cluster = cluster
    this.url = url
    this.version = version
    this.#log = log
  }

  static async start(parent: string, which: 'system' | 'embedded'): Promise<TortureServer> {
    const directory = join(parent, 'server')
    await mkdir(directory)
    for (const path of [parent, directory]) await chmod(path, 0o755)
    const system = which === 'system' ? systemPrograms() : undefined
    const programs =
      system ??
      (await prepareNativePrograms(await findNativePackage(), join(directory, 'copies'), await serverUser(directory)))
    const cluster = new Cluster({
      programs,
      directory,
      settings: { fsync: 'on', synchronous_commit: 'on', max_connections: String(connectionsMax) },
    })
    await cluster.initialise()
    // A password costs each new connection 10 ms of both sides, and there are thousands.
    await writeFile(join(directory, 'data', 'pg_hba.conf'), 'host all all 127.0.0.1/32 trust\n')
    const { url } = await cluster.start()
    await migrate({ url, schema: 'fencepost', files: sqlFilesUnderTest() })
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    await client.query(`
      create table effect (n bigint not null, attempt integer not null);
      create table item_effect (r bigint not null, part text not null, job_id uuid not null);
      ${storedBySql}`)
    const { rows } = await client.query<{ server_version: string }>('show server_version')
    await client.end()
    return new TortureServer(cluster, url, rows[0]?.server_version ?? '', join(directory, 'postgres.log'))
  }

  /** `immediate` is a crash: nothing is written out, and the next start recovers from the log. */
  restart(mode: 'fast' | 'immediate'): Promise<void> {
    this.#restarting = this.#restarting.then(async () => {
      if (this.#isOver) return
      await this.#cluster.stop(mode)
      await this.readLog()
      await truncate(this.#log) // it would be set aside, and forgotten, when it is large
      await this.#cluster.start()
    })
    return this.#restarting
  }

  /** Statistics do not survive a crash: deadlocks are counted in the log. */
  async readLog(): Promise<void> {
    const text = await readFile(this.#log, 'utf8')
    this.complaints.push(
      ...text.split('\n').filter((line) => /deadlock detected|PANIC:|invalid page|could not access status/.test(line)),
    )
  }

  async stop(): Promise<void> {
    this.#isOver = true
    await this.#restarting.catch(() => {})
    await this.#cluster.stop('immediate')
  }
}

export async function removeDirectory(directory: string): Promise<void> {
  await rm(directory, { recursive: true, force: true, maxRetries: 5 })
}
