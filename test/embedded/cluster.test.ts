import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chown, mkdir, readdir, readFile, rename, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { Client } from 'pg'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { Cluster } from '../../src/embedded/cluster.js'
import { isPresent } from '../../src/embedded/file-presence.js'
import { freePort } from '../../src/embedded/free-port.js'
import { embeddedPrograms, expectStopped, postmasterPid, postmastersIn, query, setupCluster, until } from './setup.js'

const debian15 = '/usr/lib/postgresql/15/bin'
const has15 = await isPresent(join(debian15, 'postgres'))

describe('the file of a dead server', () => {
  it('is survived when its pid is nobody’s', async () => {
    const { cluster, data } = await setupCluster()
    const { pid } = await cluster.start()
    await killServer(pid)
    expect(await isPresent(join(data, 'postmaster.pid'))).toBe(true)

    expect(await cluster.running()).toBeUndefined()
    const again = await cluster.start()
    expect(await postmasterPid(again.url)).toBe(again.pid)
    expect(again.pid).not.toBe(pid)
    await cluster.stop()
  })

  it('is survived when its pid now belongs to another program of the same user, which is left in peace', async () => {
    const { cluster, data } = await setupCluster()
    const { pid } = await cluster.start()
    await killServer(pid)
    const stranger = await givePidToStranger(data, pid)

    expect(await cluster.running()).toBeUndefined()
    await cluster.stop()
    const again = await cluster.start()
    expect(await postmasterPid(again.url)).toBe(again.pid)
    await cluster.stop()
    expect(stranger.exitCode ?? stranger.signalCode).toBeNull()
  })

  it('is survived when a power failure left it empty', async () => {
    const { cluster, data } = await setupCluster()
    await writeFile(join(data, 'postmaster.pid'), '')
    const { uid, gid } = await stat(data)
    await chown(join(data, 'postmaster.pid'), uid, gid)
    const { pid, url } = await cluster.start()
    expect(await postmasterPid(url)).toBe(pid)
    await cluster.stop()
  })

  it('still keeps a new server off the data until the last backend of the old one is gone', async () => {
    const { cluster, data, directory } = await setupCluster()
    const { pid, url } = await cluster.start()
    const backend = await freezeBackend(url)
    await killServer(pid)
    await givePidToStranger(data, pid)

    const starting = cluster.start()
    await until(async () => /is still in use/.test(await readFile(join(directory, 'postgres.log'), 'utf8')))
    expect(await cluster.running()).toBeUndefined()
    process.kill(backend, 'SIGCONT')
    const again = await starting
    expect(await postmasterPid(again.url)).toBe(again.pid)
    await cluster.stop()
  })
})

describe('a living server', () => {
  it('is adopted, not started twice', async () => {
    const { cluster, ...options } = await setupCluster()
    // Meant for the caller's own database, not for this server, which has no certificate.
    vi.stubEnv('PGSSLMODE', 'require')
    onTestFinished(() => void vi.unstubAllEnvs())
    const first = await cluster.start()
    expect(await new Cluster(options).start()).toEqual(first)
    expect(await new Cluster(options).running()).toEqual(first)
    await cluster.stop()
    await expectStopped(first.pid)
    expect(await cluster.running()).toBeUndefined()
  })

  it('is recognised by its password after its directory was moved', async () => {
    const { cluster, directory, ...options } = await setupCluster()
    const { pid } = await cluster.start()
    await rename(directory, `${directory}-moved`)
    const moved = new Cluster({ ...options, directory: `${directory}-moved` })
    expect(await moved.start()).toMatchObject({ pid })
    await moved.stop()
    await expectStopped(pid)
  })

  it('that is shutting down is waited for and replaced', async () => {
    const { cluster, data } = await setupCluster()
    const { pid, url } = await cluster.start()
    const client = new Client({ connectionString: url })
    client.on('error', () => {})
    await client.connect()
    // A smart shutdown waits for our session and lets nobody else in.
    process.kill(pid, 'SIGTERM')
    await until(async () => (await readFile(join(data, 'postmaster.pid'), 'utf8')).includes('stopping'))

    const again = await cluster.start()
    expect(again.pid).not.toBe(pid)
    await cluster.stop()
    await client.end().catch(() => {})
  })
})

describe('the port', () => {
  it('is the last one again if it is free, and else another', async () => {
    const { cluster } = await setupCluster()
    const { port } = await cluster.start()
    await cluster.stop()
    expect((await cluster.start()).port).toBe(port)
    await cluster.stop()

    await occupy(port)
    const elsewhere = await cluster.start()
    expect(elsewhere.port).not.toBe(port)
    await cluster.stop()
  })

  it('is chosen again when somebody takes it in the meantime', async () => {
    const options = await setupCluster()
    const taken = await occupy(0)
    const choices = [() => Promise.resolve(taken), () => freePort()]
    const unlucky = new Cluster({ ...options, choosePort: () => choices.shift()!() })
    expect((await unlucky.start()).port).not.toBe(taken)
    expect(choices).toEqual([])
    await unlucky.stop()
  })
})

describe('initialise', () => {
  it('clears away what a killed process left half-made, and keeps what is whole', async () => {
    const { cluster, directory, data } = await setupCluster(await embeddedPrograms())
    await mkdir(join(directory, 'data.999999999-1-gone'), { recursive: true })
    await writeFile(join(directory, 'data.999999999-1-gone', 'PG_VERSION'), '18\n')
    await cluster.initialise()
    expect((await readdir(directory)).toSorted()).toEqual(['data', 'password'])

    const made = await stat(join(data, 'PG_VERSION'))
    await cluster.initialise()
    expect(await stat(join(data, 'PG_VERSION'))).toEqual(made)
  })

  it('reports what initdb says', async () => {
    const { cluster, data } = await setupCluster(await embeddedPrograms())
    await mkdir(data, { recursive: true })
    await writeFile(join(dirname(data), 'password'), '')
    await expect(cluster.initialise()).rejects.toMatchObject({
      code: 'FP_EMBEDDED_FAILED',
      message: expect.stringContaining('password file'),
    })
    expect(await readdir(dirname(data))).toEqual(['data', 'password'])
  })
})

describe('programs of an older PostgreSQL', () => {
  it.skipIf(!has15)(`make and run a cluster${has15 ? '' : ` (skipped: no ${debian15})`}`, async () => {
    const [initdb, pgCtl, postgres] = ['initdb', 'pg_ctl', 'postgres'].map((name) => join(debian15, name))
    const { cluster, directory } = await setupCluster({ initdb: initdb!, pgCtl: pgCtl!, postgres: postgres! })
    await cluster.initialise()
    const { url, pid } = await cluster.start()
    expect(await query(url, `select current_setting('server_version_num')::int / 10000 as major`)).toEqual([
      { major: 15 },
    ])
    await cluster.stop('immediate')
    await expectStopped(pid)
    expect(await postmastersIn(directory)).toEqual([])
  })
})

async function killServer(pid: number): Promise<void> {
  process.kill(pid, 'SIGKILL')
  await expectStopped(pid)
}

/** As if the system had given the dead server's pid to a new process of the same user. */
async function givePidToStranger(data: string, pid: number): Promise<ChildProcess> {
  const { uid, gid } = await stat(data)
  const stranger = spawn('sleep', ['600'], { uid, gid, stdio: 'ignore', cwd: '/' })
  onTestFinished(() => void stranger.kill('SIGKILL'))
  await once(stranger, 'spawn')
  const file = join(data, 'postmaster.pid')
  await writeFile(file, (await readFile(file, 'utf8')).replace(/^\d+/, String(stranger.pid)))
  expect(pid).not.toBe(stranger.pid)
  return stranger
}

/** A backend that does not notice the death of its postmaster, as one busy in a long query. */
async function freezeBackend(url: string): Promise<number> {
  const client = new Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
  const pid = rows[0]!.pid
  process.kill(pid, 'SIGSTOP')
  onTestFinished(async () => {
    await client.end().catch(() => {})
  })
  return pid
}

async function occupy(port: number): Promise<number> {
  const server = createServer().listen({ host: '127.0.0.1', port })
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const address = server.address()
  return typeof address === 'object' && address ? address.port : 0
}
