import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { Journal } from './journal.js'

/** Stands in for a payment provider: honours idempotency keys, tells every call, and now and then does not answer. */
export class Provider {
  readonly url: string
  readonly #server: Server
  readonly #journal: Journal
  readonly #charges = new Map<string, number>()
  #calls = 0

  private constructor(server: Server, journal: Journal) {
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    this.#server = server
    this.#journal = journal
    server.on('request', (request, response) => void this.#answer(request, response).catch(() => response.destroy()))
  }

  static async start(journal: Journal): Promise<Provider> {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    return new Provider(server, journal)
  }

  stop(): void {
    this.#server.close()
    this.#server.closeAllConnections()
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const key = String(request.headers['idempotency-key'])
    const { n, attempt } = JSON.parse(await text(request)) as { n: number; attempt: number }
    const charge = this.#charges.get(key) ?? this.#charges.size + 1
    this.#charges.set(key, charge)
    this.#journal.write('call', n, attempt, key, charge)
    // Every eleventh call is charged, and its answer lost.
    if (this.#calls++ % 11 === 10) response.destroy()
    else response.end(JSON.stringify({ charge }))
  }
}
