/**
 * The one PostgreSQL of a benchmark: what DATABASE_URL names, else a cluster of its own from the installed programs, which
 * are built as people run them, else the embedded one, which is built with little optimization.
 */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Cluster } from '../src/embedded/cluster.js'
import { findNativePackage } from '../src/embedded/native-package.js'
import { prepareNativePrograms } from '../src/embedded/native-programs.js'
import { serverUser } from '../src/embedded/server-user.js'
import { systemPrograms } from '../test/harness/test-server.js'

export interface BenchServer {
  readonly url: string
  readonly about: string
  readonly stop: () => Promise<void>
}

/** Durable, with room for the work: what a server of some gigabytes is commonly given. */
const settings = { shared_buffers: '1GB', max_wal_size: '8GB', max_connections: '200' }

export async function startBenchServer(): Promise<BenchServer> {
  const given = process.env['DATABASE_URL']
  if (given) return { url: given, about: 'DATABASE_URL', stop: async () => {} }
  const directory = mkdtempSync(join(tmpdir(), 'fencepost-bench-'))
  chmodSync(directory, 0o755)
  const installed = systemPrograms()
  const programs =
    installed ??
    (await prepareNativePrograms(await findNativePackage(), join(directory, 'copies'), await serverUser(directory)))
  const cluster = new Cluster({ programs, directory, settings })
  await cluster.initialise()
  const { url } = await cluster.start()
  const set = Object.entries(settings).map(([name, value]) => `${name} ${value}`)
  return {
    url,
    about: `${installed ? 'installed' : 'embedded'}, ${set.join(', ')}`,
    stop: async () => {
      await cluster.stop('fast')
      rmSync(directory, { recursive: true, force: true })
    },
  }
}
