import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'

const readyForQuery = 'Z'.charCodeAt(0)
/** The server waits for what it is to copy: if that were held back, the request would never be done. */
const copyInResponse = 'G'.charCodeAt(0)
/** Query and Sync: the server answers each with one ReadyForQuery, when what was asked is committed or undone. */
const endsOfRequest = ['Q'.charCodeAt(0), 'S'.charCodeAt(0)]

const shutdownNotice = errorMessage('FATAL', '57P01', 'terminating connection due to administrator command')

interface Fault {
  /** Upper and lower case are the same. */
  readonly text: string
  readonly foundIn: 'request' | 'reply'
  /**
   * `cut` the connection before the request reaches the server, or when it is done; or `hold` the request, or the reply;
   * or the server is made to `end` the session with its reply.
   */
  readonly kind: 'cut before' | 'cut after' | 'hold before' | 'hold after' | 'end after'
  readonly struck: (held: Held) => void
}

/** A connection on which a request or a reply is held up. */
export interface Held {
  cut(): void
  /** Lets the request go on its way; a reply that was held is lost. */
  letGo(): void
}

/** Stands between a client and the server, and cuts the connection at a chosen request, before or after it is done. */
export class ServerProxy {
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

  static async start(serverUrl: string): Promise<ServerProxy> {
    const url = new URL(serverUrl)
    const target = { host: url.hostname, port: Number(url.port) }
    const server = createServer((client) => proxy.#join(client, connect(target)))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`
    const proxy = new ServerProxy(server, url.href)
    return proxy
  }

  /** The next request with this text is carried out; its reply has left the server when the connection is cut. */
  loseReplyTo(text: string): Promise<Held> {
    return this.#arm(text, 'request', 'cut after')
  }

  /** The next request with this text never reaches the server; what was sent before it does. */
  loseRequest(text: string): Promise<Held> {
    return this.#arm(text, 'request', 'cut before')
  }

  /** The next request with this text is carried out, and its reply held; or it is held before it gets there. */
  holdRequest(text: string, at: 'before' | 'after'): Promise<Held> {
    return this.#arm(text, 'request', `hold ${at}`)
  }

  /** The next request with this text is answered, and in the same breath the server says that it shuts down. */
  endSessionWithReplyTo(text: string): Promise<Held> {
    return this.#arm(text, 'request', 'end after')
  }

  /** The next reply in which this text is does not arrive: what was asked is done, and the connection is cut. */
  loseReplyWith(text: string): Promise<Held> {
    return this.#arm(text, 'reply', 'cut after')
  }

  /** The same, but the connection stays open: who asked goes on waiting. */
  holdReplyWith(text: string): Promise<Held> {
    return this.#arm(text, 'reply', 'hold after')
  }

  /** How many faults have been asked for and have not found their request. */
  get armed(): number {
    return this.#faults.length
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

  #arm(text: string, foundIn: Fault['foundIn'], kind: Fault['kind']): Promise<Held> {
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
    const cut = () => client.destroy()
    const pass = (messages: readonly Buffer[]) => {
      const passed: Buffer[] = []
      for (const [n, message] of messages.entries()) {
        // One request is several messages, each of which may have the text: the statement, and the name it is prepared by.
        const fault = losing?.from === asked ? undefined : this.#takeFault('request', message)
        if (fault?.kind === 'cut before') {
          server.write(Buffer.concat(passed))
          cut()
          fault.struck({ cut, letGo: cut })
          return
        }
        if (fault?.kind === 'hold before') {
          server.write(Buffer.concat(passed))
          client.pause()
          const letGo = () => {
            pass(messages.slice(n))
            if (!this.#stalled) client.resume()
          }
          fault.struck({ cut, letGo })
          return
        }
        if (fault) losing = { fault, from: asked }
        if (endsOfRequest.includes(message[0] as number)) asked++
        passed.push(message)
      }
      server.write(Buffer.concat(passed))
    }
    client.on('data', (data) => pass(requests.in(data)))
    server.on('data', (data) => {
      const passed: Buffer[] = []
      for (const message of replies.in(data)) {
        const fault = losing ? undefined : this.#takeFault('reply', message)
        if (fault) losing = { fault, from: answered }
        if (message[0] === readyForQuery) answered++
        const isReady = message[0] === readyForQuery
        const isEnd = losing !== undefined && answered === losing.from + 1 && isReady
        const isPassed = !losing || answered < losing.from || (answered === losing.from && isReady)
        if (isPassed || message[0] === copyInResponse || losing?.fault.kind === 'end after') passed.push(message)
        if (!losing || !isEnd) continue
        if (losing.fault.kind === 'end after') passed.push(shutdownNotice)
        if (losing.fault.kind === 'cut after') cut()
        losing.fault.struck({ cut, letGo: cut })
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

function errorMessage(severity: string, code: string, text: string): Buffer {
  const fields = Buffer.from(`S${severity}\0V${severity}\0C${code}\0M${text}\0\0`)
  const head = Buffer.from('E\0\0\0\0')
  head.writeInt32BE(fields.length + 4, 1)
  return Buffer.concat([head, fields])
}
