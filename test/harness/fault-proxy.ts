import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

const readyForQuery = 'Z'.charCodeAt(0)

interface Fault {
  readonly text: string
  readonly when: 'request' | 'reply'
  readonly struck: () => void
}

/** Stands between a client and the server, and cuts the connection at a chosen request, before or after it is done. */
export class FaultProxy {
  /** The server's URL, through this proxy. */
  readonly url: string
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  #faults: Fault[] = []

  private constructor(server: Server, url: string) {
    this.#server = server
    this.url = url
  }

  static async start(serverUrl: string): Promise<FaultProxy> {
    const url = new URL(serverUrl)
    const target = { host: url.hostname, port: Number(url.port) }
    const server = createServer((client) => proxy.#join(client, connect(target)))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`
    const proxy = new FaultProxy(server, url.href)
    onTestFinished(() => proxy.stop())
    return proxy
  }

  /** The next request with this text is carried out; its reply has left the server when the connection is cut. */
  loseReplyTo(text: string): Promise<void> {
    return new Promise((struck) => this.#faults.push({ text, when: 'reply', struck }))
  }

  /** The next request with this text never reaches the server. */
  loseRequest(text: string): Promise<void> {
    return new Promise((struck) => this.#faults.push({ text, when: 'request', struck }))
  }

  /** The server is away: connections are cut, and new ones refused. */
  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    if (!this.#server.listening) return
    this.#server.close()
    await once(this.#server, 'close')
  }

  /** After stop(), at the same address. */
  async comeBack(): Promise<void> {
    this.#server.listen(Number(new URL(this.url).port), '127.0.0.1')
    await once(this.#server, 'listening')
  }

  #join(client: Socket, server: Socket): void {
    let losing: Fault | undefined
    let reply = Buffer.alloc(0)
    for (const [one, other] of [
      [client, server],
      [server, client],
    ] as const) {
      this.#sockets.add(one)
      one.on('error', () => {})
      one.on('close', () => {
        this.#sockets.delete(one)
        other.destroy()
      })
    }
    client.on('data', (data) => {
      const fault = this.#faults.find(({ text }) => data.includes(text))
      if (fault) {
        this.#faults = this.#faults.filter((other) => other !== fault)
        if (fault.when === 'request') {
          client.destroy()
          fault.struck()
          return
        }
        // The server was idle, so its reply starts here, at the start of a message.
        losing = fault
      }
      server.write(data)
    })
    server.on('data', (data) => {
      if (!losing) {
        client.write(data)
        return
      }
      reply = Buffer.concat([reply, data])
      if (endsRequest(reply)) {
        client.destroy()
        losing.struck()
      }
    })
  }
}

function endsRequest(reply: Buffer): boolean {
  let at = 0
  while (at + 5 <= reply.length) {
    const next = at + 1 + reply.readInt32BE(at + 1)
    if (reply[at] === readyForQuery && next <= reply.length) return true
    at = next
  }
  return false
}
