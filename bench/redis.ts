/** A Redis of its own in memory: it answers before anything is on disk, which is how BullMQ is mostly run. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { createInterface } from 'node:readline'

export interface Redis {
  readonly port: number
  stop(): Promise<void>
}

/** Undefined if there is none to start. */
export async function startRedis(): Promise<Redis | undefined> {
  const port = await freePort()
  const options = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no']
  const server = spawn('redis-server', options, { stdio: ['ignore', 'pipe', 'ignore'] })
  return (await isReady(server)) ? { port, stop: () => stopped(server) } : undefined
}

async function isReady(server: ChildProcess): Promise<boolean> {
  const failed = once(server, 'error').then(() => false)
  const ready = (async () => {
    for await (const line of createInterface({ input: server.stdout as NodeJS.ReadableStream })) {
      if (line.includes('Ready to accept connections')) {
        server.stdout?.resume()
        return true
      }
    }
    return false
  })()
  return Promise.race([failed, ready])
}

async function stopped(server: ChildProcess): Promise<void> {
  server.kill('SIGTERM')
  await once(server, 'exit')
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
