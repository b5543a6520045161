import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

interface Cut {
  /** In the first bytes of the request. */
  readonly text: string
  /** How much passes before the connection is cut: of the request, or, with the whole request, of the reply. */
  readonly request?: (bytes: number) => number
  readonly reply?: (bytes: number) => number
  readonly struck: () => void
}

/** Stands between a client and servers, whatever they speak, and cuts a connection at a chosen byte. */
export class CutProxy {
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  #cuts: Cut[] = []
  #connections = 0

  private constructor(server: Server) {
    this.#server = server
  }

  /** With several servers, each connection goes to the next one. */
  static async start(...urls: readonly string[]): Promise<CutProxy> {
    const targets = urls
      .map((url) => new URL(url))
      .map(({ hostname, port }) => ({ host: hostname, port: Number(port) }))
    const server = createServer((client) => {
      const target = targets[proxy.#connections++ % targets.length] as (typeof targets)[0]
      proxy.#join(client, connect(target))
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const proxy = new CutProxy(server)
    onTestFinished(() => proxy.#stop())
    return proxy
  }

  /** The same URL, through this proxy. */
  through(url: string): string {
    const made = new URL(url)
    made.host = `127.0.0.1:${(this.#server.address() as AddressInfo).port}`
    return made.href
  }

  cutRequest(text: string, passes: (bytes: number) => number): Promise<void> {
    return new Promise((struck) => this.#cuts.push({ text, request: passes, struck }))
  }

  cutReply(text: string, passes: (bytes: number) => number): Promise<void> {
    return new Promise((struck) => this.#cuts.push({ text, reply: passes, struck }))
  }

  async #stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    this.#server.close()
    await once(this.#server, 'close')
  }

  #join(client: Socket, server: Socket): void {
    let losing: Cut | undefined
    for (const [one, other] of [
      [client, server],
      [server, client],
    ] as const) {
      this.#sockets.add(one)
      one.setNoDelay()
      one.on('error', () => {})
      one.on('close', () => {
        this.#sockets.delete(one)
        other.end() // not destroyed: what has passed already must get there
      })
    }
    client.on('data', (data) => {
      const cut = losing ? undefined : this.#cuts.find(({ text }) => data.includes(text))
      if (cut) this.#cuts = this.#cuts.filter((each) => each !== cut)
      if (cut?.request) {
        server.end(data.subarray(0, cut.request(data.length)))
        client.destroy()
        cut.struck()
        return
      }
      losing ??= cut
      server.write(data)
    })
    server.on('data', (data) => {
      if (!losing) {
        client.write(data)
        return
      }
      const passed = data.subarray(0, losing.reply?.(data.length))
      client.write(passed, () => client.destroy())
      server.destroy()
      losing.struck()
    })
  }
}
