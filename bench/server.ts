/**
 * The one PostgreSQL of a benchmark: what DATABASE_URL names, else a cluster of its own from the installed programs, which
 * are built as people run them, else the embedded one, which is built with little optimization.
 */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir, totalmem } from 'node:os'
import { join } from 'node:path'
import { Cluster } from '../src/embedded/cluster.js'
import { findNativePackage } from '../src/embedded/native-package.js'
import { prepareNativePrograms } from '../src/embedded/native-programs.js'
import { serverUser } from '../src/embedded/server-user.js'
import { Database } from '../src/store/database.js'
import { systemPrograms } from '../test/harness/test-server.js'
import { setAsideHugePages } from './huge-pages.js'

export interface BenchServer {
  readonly url: string
  readonly about: string
  readonly stop: () => Promise<void>
}

const walGigabytes = 8
/** What this process may have, in a container, too. */
const memory = Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY)
const bufferMegabytes = Math.floor(memory / 4 / 1_048_576)

/**
 * Durable, with room for the work: a quarter of the machine's memory for buffers, as PostgreSQL's manual advises. A minute of it
 * writes up to seven gigabytes of WAL, and some before: with fewer segments, or a checkpoint on the way, its end would be slower than
 * its beginning by what the server does for that. With many more they would fill the memory, and be read and written anew: how many
 * are kept follows from how long a checkpoint that nobody asks for may take, and none comes here.
 */
const settings = {
  shared_buffers: `${bufferMegabytes}MB`,
  min_wal_size: `${walGigabytes}GB`,
  max_wal_size: `${walGigabytes + 2}GB`,
  checkpoint_completion_target: '0.1', // so 1/1.1 of that is the distance of two checkpoints
  autovacuum_naptime: '15s', // as the guide advises: so it is no matter of luck which part of a minute has more to clean up
  max_connections: '200',
}

/**
 * A server that has been at work for a while writes its WAL into segments that are there. To make them, in memory that was
 * never touched, costs up to a third of the work itself on some machines, and whoever is measured first would pay for it.
 */
async function makeSegments(url: string, signal?: AbortSignal): Promise<void> {
  const db = new Database({ url, poolSize: 1 })
  for (let gigabytes = 0; gigabytes < walGigabytes; gigabytes += 1 / 16) {
    signal?.throwIfAborted()
    await db.once(`select pg_logical_emit_message(false, 'bench', repeat('x', 64 * 1024 * 1024))`)
  }
  await db.once('checkpoint')
  await db.close()
}

/** So it is with buffers: one row for each page of them, not logged, and not by a statement that would use a few in turn. */
async function touchBuffers(url: string, signal?: AbortSignal): Promise<void> {
  const db = new Database({ url, poolSize: 1 })
  await db.once('create unlogged table bench_page (filler text)')
  await db.once('alter table bench_page alter column filler set storage plain, set (autovacuum_enabled = off)')
  for (let megabytes = 0; megabytes < bufferMegabytes; megabytes += 256) {
    signal?.throwIfAborted()
    await db.once(`insert into bench_page select repeat('x', 8000) from generate_series(1, 256 * 128)`)
  }
  await db.once('drop table bench_page')
  await db.close()
}

/** `touched`: its buffers are, too, which takes a minute. `signal`: it is not wanted any more, and is stopped. */
export async function startBenchServer({
  touched = false,
  signal,
}: {
  touched?: boolean
  signal?: AbortSignal
} = {}): Promise<BenchServer> {
  const given = process.env['DATABASE_URL']
  if (given) return { url: given, about: 'DATABASE_URL', stop: async () => {} }
  const directory = mkdtempSync(join(tmpdir(), 'fencepost-bench-'))
  chmodSync(directory, 0o755)
  const installed = systemPrograms()
  const programs =
    installed ??
    (await prepareNativePrograms(await findNativePackage(), join(directory, 'copies'), await serverUser(directory)))
  const hugePages = setAsideHugePages(bufferMegabytes)
  const cluster = new Cluster({ programs, directory, settings: { ...settings, huge_pages: hugePages ? 'on' : 'off' } })
  const stop = async () => {
    await cluster.stop('fast')
    rmSync(directory, { recursive: true, force: true })
  }
  try {
    const started = cluster.initialise().then(() => cluster.start())
    const { url } = await started.finally(() => hugePages?.giveBack())
    if (touched) await touchBuffers(url, signal)
    await makeSegments(url, signal)
    const set = Object.entries(settings).map(([name, value]) => `${name} ${value}`)
    const pages = `${hugePages ? ', huge pages' : ''}${touched ? ', buffers touched before' : ''}`
    return { url, about: `${installed ? 'installed' : 'embedded'}, ${set.join(', ')}${pages}`, stop }
  } catch (error) {
    await stop()
    throw error
  }
}
