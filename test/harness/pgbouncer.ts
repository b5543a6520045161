import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { onTestFinished } from 'vitest'
import { giveTo, serverUser } from '../../src/embedded/server-user.js'

/** Where Debian's package puts it, or where the environment says. */
const program = process.env['FENCEPOST_TEST_PGBOUNCER'] ?? '/usr/sbin/pgbouncer'
export const hasPgBouncer = existsSync(program)

/** Fewer sessions than the clients have connections, each used in turn: what a session remembers, another one finds. */
const sessions = 3
const portTriesMax = 5

/** A PgBouncer in transaction mode before the database of this URL, until the test has finished; answers its URL. */
export async function startPgBouncer(serverUrl: string): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'fencepost-pgbouncer-'))
  onTestFinished(() => rm(directory, { recursive: true, force: true }))
  const config = join(directory, 'pgbouncer.ini')
  const user = await serverUser(directory) // it refuses to run as root, as the server does
  const server = new URL(serverUrl)
  for (let tries = 1; ; tries++) {
    const port = await freePort()
    await writeFile(config, settings(server, port), { mode: 0o600 })
    await giveTo(user, directory)
    const bouncer = spawn(program, [config], { ...user, stdio: ['ignore', 'ignore', 'pipe'] })
    const trouble = await started(bouncer)
    if (trouble === undefined) {
      onTestFinished(() => ended(bouncer))
      server.host = `127.0.0.1:${port}`
      server.password = ''
      return server.href
    }
    // Somebody may have taken the port between our look and its own.
    if (tries === portTriesMax) throw new Error(`PgBouncer did not start: ${trouble}`)
  }
}

function settings(server: URL, port: number): string {
  const quoted = (value: string) => `'${decodeURIComponent(value).replaceAll("'", "''")}'`
  return `[databases]
* = host=${server.hostname} port=${server.port} user=${quoted(server.username)} password=${quoted(server.password)}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = ${sessions}
server_round_robin = 1
`
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

/** Nothing once it is up; what it last said if it has ended before. */
async function started(bouncer: ChildProcess): Promise<string | undefined> {
  let last = ''
  for await (const line of createInterface({ input: bouncer.stderr as NodeJS.ReadableStream })) {
    last = line
    if (line.includes('process up')) {
      bouncer.stderr?.resume()
      return undefined
    }
  }
  return last
}

async function ended(bouncer: ChildProcess): Promise<void> {
  if (bouncer.exitCode !== null || bouncer.signalCode !== null) return
  const gone = once(bouncer, 'exit')
  bouncer.kill('SIGTERM')
  await gone
}
