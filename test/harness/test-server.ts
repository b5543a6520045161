import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chmod, mkdtemp, rm, statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { Cluster, type ClusterPrograms } from '../../src/embedded/cluster.js'
import { findNativePackage } from '../../src/embedded/native-package.js'
import { prepareNativePrograms } from '../../src/embedded/native-programs.js'
import { serverUser } from '../../src/embedded/server-user.js'
import { installLabClock } from '../../src/lab/lab-clock.js'
import { migrate } from '../../src/store/migrator.js'
import { movesDigest } from '../../src/store/sql-files.js'
import { guardOff, isSqlGuard, sqlFilesUnderTest } from './guard-removal.js'

const wholeTemplateName = 'fencepost_template'
/** A template of its own for the functions without a guard: the server may be that of many runs. */
export const templateName = wholeTemplateName + (process.env['FENCEPOST_GUARD_OFF'] ?? '').replace(/\W/g, '_')
const roomBytesMin = 1.5 * 2 ** 30

/** The system's PostgreSQL 15, where Debian's package puts it, or where the environment says. */
export function systemPrograms(): ClusterPrograms | undefined {
  const bin = process.env['FENCEPOST_TEST_PG15'] ?? '/usr/lib/postgresql/15/bin'
  const programs = { initdb: join(bin, 'initdb'), pgCtl: join(bin, 'pg_ctl'), postgres: join(bin, 'postgres') }
  return Object.values(programs).every(existsSync) ? programs : undefined
}

export interface TestServer {
  readonly url: string
  /** Stops the server, after which it starts again where it was. */
  restart(mode: 'fast' | 'immediate'): Promise<void>
  stop(): Promise<void>
}

/** The embedded server that `npm run guards` keeps for all its runs, or one of this run's own. */
export async function embeddedTestServer(): Promise<Pick<TestServer, 'url' | 'stop'>> {
  const url = process.env['FENCEPOST_GUARDS_SERVER']
  if (!url) return startTestServer('embedded')
  if (templateName === wholeTemplateName) return { url, stop: async () => {} }
  await query(url, `create database ${templateName} template ${wholeTemplateName} strategy file_copy`)
  await takeOutGuard(databaseUrl(url, templateName))
  return { url, stop: () => query(url, `drop database ${templateName}`) }
}

async function takeOutGuard(template: string): Promise<void> {
  const guard = guardOff()
  if (!guard || !isSqlGuard(guard)) return
  const files = sqlFilesUnderTest()
  if (guard.move !== 'clock') await query(template, files.moves.get(guard.move) as string) // tests have their own clock
  await query(template, `update fencepost.moves_installed set digest = '${movesDigest(files)}'`)
}

/** A server for one run of the suite, with a migrated template database that each test clones. */
export async function startTestServer(which: 'embedded' | 'system'): Promise<TestServer> {
  const directory = await mkdtemp(join(await roomyDirectory(), 'fencepost-test-'))
  await chmod(directory, 0o755)
  const programs =
    which === 'system'
      ? (systemPrograms() as ClusterPrograms)
      : await prepareNativePrograms(await findNativePackage(), join(directory, 'copies'), await serverUser(directory))
  const cluster = new Cluster({
    programs,
    directory,
    settings: {
      fsync: 'off',
      full_page_writes: 'off', // guards against torn pages, which only a crash of the machine leaves
      synchronous_commit: 'on',
      autovacuum: 'off',
      max_connections: '300',
      shared_buffers: '128MB',
      log_min_messages: 'panic',
    },
  })
  await cluster.initialise()
  const { url } = await cluster.start()
  await query(url, `alter role fencepost password '${cheapVerifier(new URL(url).password)}'`)
  await makeTemplate(url)
  return {
    url,
    async restart(mode) {
      await cluster.stop(mode)
      await cluster.start()
    },
    async stop() {
      await cluster.stop('immediate')
      await rm(directory, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

/** In memory where there is room: each test has some 300 files of 8 MB in all written, and deleted a moment later. */
async function roomyDirectory(): Promise<string> {
  const inMemory = '/dev/shm'
  if (!existsSync(inMemory)) return tmpdir()
  const { bavail, bsize } = await statfs(inMemory)
  return bavail * bsize >= roomBytesMin ? inMemory : tmpdir()
}

/**
 * The password's SCRAM verifier with one iteration instead of 4096, half the time of a connection. A server takes a
 * verifier for what it is, and tells clients the iterations.
 */
function cheapVerifier(password: string): string {
  const salt = randomBytes(16)
  const salted = pbkdf2Sync(password, salt, 1, 32, 'sha256')
  const key = (name: string) => createHmac('sha256', salted).update(name).digest()
  const storedKey = createHash('sha256').update(key('Client Key')).digest('base64')
  return `SCRAM-SHA-256$1:${salt.toString('base64')}$${storedKey}:${key('Server Key').toString('base64')}`
}

async function makeTemplate(url: string): Promise<void> {
  await query(url, `create database ${templateName}`)
  const template = databaseUrl(url, templateName)
  await migrate({ url: template, schema: 'fencepost', files: sqlFilesUnderTest() })
  const client = new pg.Client({ connectionString: template })
  await client.connect()
  await installLabClock(client, 'fencepost')
  await client.end()
}

export function databaseUrl(serverUrl: string, name: string): string {
  const url = new URL(serverUrl)
  url.pathname = `/${name}`
  return url.href
}

export async function query(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(sql)
  } finally {
    await client.end()
  }
}
