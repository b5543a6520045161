import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../embedded/free-port.js'
import { FencepostError } from '../errors.js'

export interface PeerRedis {
  readonly port: number
  stop(): Promise<void>
}

/** A Redis of its own, which writes down every command in a directory of its own; or, if not `durable`, nothing at all. */
export async function startRedis({ program = 'redis-server', durable = true } = {}): Promise<PeerRedis> {
  const directory = await mkdtemp(join(tmpdir(), 'fencepost-redis-'))
  const port = await freePort()
  const options = [
    '--port',
    String(port),
    '--bind',
    '127.0.0.1',
    '--dir',
    directory,
    '--appendonly',
    durable ? 'yes' : 'no',
    '--save',
    '',
  ]
  const server = spawn(program, options, { stdio: ['ignore', 'pipe', 'ignore'] })
  const gone = once(server, 'exit').catch(() => {})
  const stop = async () => {
    server.kill('SIGKILL')
    await gone
    await rm(directory, { recursive: true, force: true })
  }
  try {
    await ready(server)
  } catch (error) {
    await stop()
    throw error
  }
  return { port, stop }
}

function ready(server: ReturnType<typeof spawn>): Promise<void> {
  return new Promise((resolve, reject) => {
    let said = ''
    server.once('error', (error) => {
      reject(new FencepostError('FP_REDIS_MISSING', error.message, { cause: error }))
    })
    server.once('exit', (code) => {
      reject(new FencepostError('FP_REDIS_MISSING', `redis-server ended (${code}): ${said.slice(-500)}`))
    })
    server.stdout?.setEncoding('utf8').on('data', (text: string) => {
      said += text
      if (said.includes('Ready to accept connections')) resolve()
    })
  })
}
