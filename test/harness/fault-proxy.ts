import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

const readyForQuery = 'Z'.charCodeAt(0)
/** Query and Sync: the server answers each with one ReadyForQuery, when what was asked is committed or undone. */
const endsOfRequest = ['Q'.charCodeAt(0), 'S'.charCodeAt(0)]

interface Fault {
  /** Upper and lower case are the same. */
  readonly text: string
  readonly foundIn: 'request' | 'reply'
  /** `cut` the connection before the request reaches the server, or when it is done; or `hold` the reply for ever. */
  readonly kind: 'cut before' | 'cut after' | 'hold after'
  readonly struck: () => void
}

/** Stands between a client and the server, and cuts the connection at a chosen request, before or after it is done. */
export class FaultProxy {
  /** The server's URL, through this proxy. */
  readonly url: string
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  #faults: Fault[] = []
  #stalled = false

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
    return this.#arm(text, 'request', 'cut after')
  }

  /** The next request with this text never reaches the server; what was sent before it does. */
  loseRequest(text: string): Promise<void> {
    return this.#arm(text, 'request', 'cut before')
  }

  /** The next reply in which this text is does not arrive: what was asked is done, and the connection is cut. */
  loseReplyWith(text: string): Promise<void> {
    return this.#arm(text, 'reply', 'cut after')
  }

  /** The same, but the connection stays open: who asked goes on waiting. */
  holdReplyWith(text: string): Promise<void> {
    return this.#arm(text, 'reply', 'hold after')
  }

  /** Cuts all connections, whatever they are at; new ones are let through. */
  cutAll(): void {
    for (const socket of this.#sockets) socket.destroy()
  }

  /** Nothing passes any more, in either direction, and nobody is told. */
  stall(): void {
    this.#stalled = true
    for (const socket of this.#sockets) socket.pause()
  }

  /** What was held up passes now. */
  resume(): void {
    this.#stalled = false
    for (const socket of this.#sockets) socket.resume()
  }

  /** The server is away: connections are cut, and new ones refused. */
  async stop(): Promise<void> {
    this.cutAll()
    if (!this.#server.listening) return
    this.#server.close()
    await once(this.#server, 'close')
  }

  /** After stop(), at the same address. */
  async comeBack(): Promise<void> {
    this.#server.listen(Number(new URL(this.url).port), '127.0.0.1')
    await once(this.#server, 'listening')
  }

  #arm(text: string, foundIn: Fault['foundIn'], kind: Fault['kind']): Promise<void> {
    return new Promise((struck) => this.#faults.push({ text, foundIn, kind, struck }))
  }

  #takeFault(foundIn: Fault['foundIn'], message: Buffer): Fault | undefined {
    if (this.#faults.length === 0) return undefined
    const said = message.toString('latin1').toLowerCase()
    const found = this.#faults.find((fault) => fault.foundIn === foundIn && said.includes(fault.text.toLowerCase()))
    if (found) this.#faults = this.#faults.filter((fault) => fault !== found)
    return found
  }

  #join(client: Socket, server: Socket): void {
    // Requests may be sent before the replies to earlier ones have come: they are matched by counting. The first is the
    // start of the session.
    let [asked, answered] = [1, 0]
    let losing: { fault: Fault; from: number } | undefined
    const [requests, replies] = [new Messages('begins without a type'), new Messages()]
    for (const [one, other] of [
      [client, server],
      [server, client],
    ] as const) {
      this.#sockets.add(one)
      one.on('error', () => {})
      one.on('close', () => {
        this.#sockets.delete(one)
        other.end() // not destroyed: what has passed already must get there
      })
    }
    client.on('data', (data) => {
      const passed: Buffer[] = []
      for (const message of requests.in(data)) {
        // One request is several messages, each of which may have the text: the statement, and the name it is prepared by.
        const fault = losing?.from === asked ? undefined : this.#takeFault('request', message)
        if (fault?.kind === 'cut before') {
          server.write(Buffer.concat(passed))
          client.destroy()
          fault.struck()
          return
        }
        if (fault) losing = { fault, from: asked }
        if (endsOfRequest.includes(message[0] as number)) asked++
        passed.push(message)
      }
      server.write(Buffer.concat(passed))
    })
    server.on('data', (data) => {
      const passed: Buffer[] = []
      for (const message of replies.in(data)) {
        const fault = losing ? undefined : this.#takeFault('reply', message)
        if (fault) losing = { fault, from: answered }
        if (message[0] === readyForQuery) answered++
        if (!losing || answered < losing.from || (answered === losing.from && message[0] === readyForQuery)) {
          passed.push(message)
        } else if (answered === losing.from + 1 && message[0] === readyForQuery) {
          if (losing.fault.kind === 'cut after') client.destroy()
          losing.fault.struck()
        }
      }
      if (!client.destroyed) client.write(Buffer.concat(passed))
    })
    if (this.#stalled) for (const socket of [client, server]) socket.pause()
  }
}

/** Puts together the messages of one direction of a connection. */
class Messages {
  #rest: Buffer = Buffer.alloc(0)
  #typeBytes: number

  constructor(start?: 'begins without a type') {
    this.#typeBytes = start ? 0 : 1
  }

  in(data: Buffer): Buffer[] {
    this.#rest = Buffer.concat([this.#rest, data])
    const whole: Buffer[] = []
    while (this.#rest.length >= this.#typeBytes + 4) {
      const length = this.#typeBytes + this.#rest.readInt32BE(this.#typeBytes)
      if (this.#rest.length < length) break
      whole.push(this.#rest.subarray(0, length))
      this.#rest = this.#rest.subarray(length)
      this.#typeBytes = 1
    }
    return whole
  }
}
