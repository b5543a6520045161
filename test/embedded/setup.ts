import { chmod, mkdir, mkdtemp, readdir, readFile, realpath, rename, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { Client } from 'pg'
import { afterAll, expect, onTestFinished, vi } from 'vitest'
import { Cluster, type ClusterPrograms } from '../../src/embedded/cluster.js'
import { type EmbeddedServer, joinEmbeddedServer } from '../../src/embedded/embedded-server.js'
import { findNativePackage } from '../../src/embedded/native-package.js'
import { Member } from './member.js'

// Some tests make a database cluster, which takes a second, and five on a busy machine.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

export const asRoot = process.getuid?.() === 0
const unsafe = { fsync: 'off' }

/** A project directory of its own, and a guarantee that no server is left behind in it. */
export async function setup(kind: 'used before' | 'fresh' = 'used before') {
  const place = await temporaryDirectory()
  const project = join(place, 'app')
  const options = { directory: join(project, '.fencepost'), systemDirectory: join(place, 'system'), settings: unsafe }
  const home = join(options.directory, 'server')
  if (kind === 'used before') await moveSpareTo(home)

  return {
    options,
    ...options,
    place,
    project,
    home,
    join: (more: { keepRunning?: boolean } = {}): Promise<EmbeddedServer> =>
      joinEmbeddedServer({ ...options, ...more }, options),
    spawnMember: async (more: { keepRunning?: boolean } = {}, user?: { uid: number; gid: number }): Promise<Member> => {
      const member = await Member.spawn({ ...options, ...more }, user)
      onTestFinished(() => member.kill())
      return member
    },
  }
}

/** A cluster of its own: one that was initialised before, or a fresh one of the programs given. */
export async function setupCluster(fresh?: ClusterPrograms) {
  const directory = join(await temporaryDirectory(), 'cluster')
  const options = { programs: fresh ?? (await embeddedPrograms()), directory, settings: unsafe }
  if (!fresh) await moveSpareTo(directory)
  return { ...options, data: join(directory, 'data'), cluster: new Cluster(options) }
}

export async function embeddedPrograms(): Promise<ClusterPrograms> {
  return (await findNativePackage()).programs
}

/** Clusters that earlier tests of the file have used. Most tests are about servers, not about initdb. */
const spares: string[] = []

async function moveSpareTo(home: string): Promise<void> {
  const spare = spares.pop() ?? (await makeSpare())
  const { uid } = await stat(join(spare, 'data'))
  await mkdir(home, { recursive: true })
  for (const name of ['data', 'password']) await rename(join(spare, name), join(home, name))
  onTestFinished(async () => {
    await endServersIn(home)
    const left = await stat(join(home, 'data')).catch(() => undefined)
    if (left?.uid === uid) {
      for (const name of ['data', 'password']) await rename(join(home, name), join(spare, name))
      spares.push(spare)
    } else await rm(spare, { recursive: true })
  })
}

async function makeSpare(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'fencepost-spare-'))
  await chmod(directory, 0o755)
  await new Cluster({ programs: await embeddedPrograms(), directory, settings: unsafe }).initialise()
  return directory
}

afterAll(async () => {
  for (const spare of spares) await rm(spare, { recursive: true })
})

/** Open to all, unlike what mkdtemp makes. */
export async function temporaryDirectory(): Promise<string> {
  const directory = await realpath(await mkdtemp(join(tmpdir(), 'fencepost-embedded-')))
  await chmod(directory, 0o755)
  onTestFinished(async () => {
    await endServersIn(directory)
    await rm(directory, { recursive: true, force: true, maxRetries: 5 })
  })
  return directory
}

async function endServersIn(directory: string): Promise<void> {
  for (const pid of await postmastersIn(directory)) process.kill(pid, 'SIGQUIT')
  await until(async () => (await postmastersIn(directory)).length === 0)
}

/** Asked of the server itself, so that it holds wherever the data is. */
export async function postmasterPid(url: string): Promise<number> {
  const [row] = await query(url, `select split_part(pg_read_file('postmaster.pid'), E'\\n', 1)::int as pid`)
  return Number(row?.['pid'])
}

export async function query(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows
  } finally {
    await client.end()
  }
}

export async function expectStopped(pid: number): Promise<void> {
  await until(() => Promise.resolve(!isThere(pid)))
  expect(isThere(pid)).toBe(false)
}

export function isThere(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/** The living servers whose data is below a directory, found without any of the code under test. */
export async function postmastersIn(directory: string): Promise<number[]> {
  if (process.platform !== 'linux') return []
  const pids: number[] = []
  for (const name of (await readdir('/proc')).filter((entry) => /^\d+$/.test(entry))) {
    const command = await readFile(`/proc/${name}/cmdline`, 'utf8').catch(() => '')
    if (command.includes(`postgres\0-D\0${directory}`)) pids.push(Number(name))
  }
  return pids
}

/** Until this process holds the lock and another one stands in the queue. */
export async function othersWaitFor(lock: string): Promise<void> {
  await until(async () => {
    const names = await readdir(lock)
    const top = Math.max(...names.filter((name) => /^\d+$/.test(name)).map(Number))
    const ours = (await readFile(join(lock, String(top)), 'utf8')).startsWith(`${process.pid}-`)
    return ours && names.some((name) => name.startsWith('claim-') && !name.startsWith(`claim-${process.pid}-`))
  })
}

export async function until(condition: () => Promise<boolean>, msMax = 15_000): Promise<void> {
  const deadline = Date.now() + msMax
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(`Not so after ${msMax} ms`)
    await pause(10)
  }
}
