import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'

/** `I` in ReadyForQuery: the server is idle outside a transaction, so what was asked is committed or undone. */
const readyForQuery = 'Z'.charCodeAt(0)
const idle = 'I'.charCodeAt(0)
const errorResponse = 'E'.charCodeAt(0)

/**
 * Stands between a client and the server and can lose the reply to a commit: it reads the server's messages and, when
 * armed, withholds everything from the one that says that the nth transaction is over.
 */
export class FaultProxy {
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  #armed: { commitsLeft: number; action: 'cut' | 'hold'; reached: () => void } | undefined
  /** How many transactions have ended on connections through this proxy. */
  commits = 0

  private constructor(target: { host: string; port: number }) {
    this.#server = createServer((client) => this.#join(client, connect(target)))
  }

  static async start(target: { host: string; port: number }): Promise<FaultProxy> {
    const proxy = new FaultProxy(target)
    proxy.#server.listen(0, '127.0.0.1')
    await once(proxy.#server, 'listening')
    return proxy
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  /**
   * The reply to the nth commit from now is lost: the connection is cut, or the reply withheld (the client is then to
   * be killed). The answer is fulfilled when the server has committed.
   */
  loseReplyOfCommit(n: number, action: 'cut' | 'hold'): Promise<void> {
    return new Promise((reached) => {
      this.#armed = { commitsLeft: n, action, reached }
    })
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    this.#server.close()
    await once(this.#server, 'close')
  }

  #join(client: Socket, server: Socket): void {
    for (const [one, other] of [
      [client, server],
      [server, client],
    ] as const) {
      this.#sockets.add(one)
      one.setNoDelay() // messages are passed on one by one: each would wait for the acknowledgement of the one before
      one.on('error', () => {})
      one.on('close', () => {
        this.#sockets.delete(one)
        other.destroy()
      })
    }
    client.on('data', (data) => server.write(data))

    let unread = Buffer.alloc(0)
    let unsent: Buffer[] = []
    let started = false
    const send = (message: Buffer) => {
      for (const held of unsent) client.write(held)
      unsent = []
      client.write(message)
    }
    server.on('data', (data) => {
      unread = Buffer.concat([unread, data])
      while (unread.length >= 5 && unread.length > unread.readInt32BE(1)) {
        const message = unread.subarray(0, 1 + unread.readInt32BE(1))
        unread = unread.subarray(message.length)
        if (message[0] !== readyForQuery) {
          // What precedes a withheld ReadyForQuery must not tell the client that it has committed. And a client that is
          // told of an error may hang up at once: before that, the end of its transaction is to be counted.
          if ((this.#armed && started) || isRefusal(message)) unsent.push(message)
          else send(message)
        } else if (started && message[5] === idle && this.#reachesLoss()) {
          server.removeAllListeners('data').resume()
          if (this.#armed?.action === 'cut') client.destroy()
          this.#armed?.reached()
          this.#armed = undefined
          return
        } else {
          started = true // the first one ends the handshake
          send(message)
        }
      }
    })
  }

  #reachesLoss(): boolean {
    this.commits++
    if (!this.#armed) return false
    this.#armed.commitsLeft--
    return this.#armed.commitsLeft <= 0
  }
}

/** An error after which the session goes on: ReadyForQuery follows. */
function isRefusal(message: Buffer): boolean {
  return message[0] === errorResponse && !message.includes('VFATAL\0') && !message.includes('VPANIC\0')
}
