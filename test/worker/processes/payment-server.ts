import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

export interface Call {
  readonly key: string
  readonly jobId: string
  readonly at: Date
}

interface Trouble {
  readonly kind: 'hang' | 'cut'
  readonly struck: (call: Call) => void
}

/** Stands in for a payment provider: it honours idempotency keys, and can be told to charge and say nothing. */
export class PaymentServer {
  readonly url: string
  /** Every request that came. */
  readonly calls: Call[] = []
  /** What was really charged, by idempotency key. */
  readonly charges = new Map<string, { readonly jobId: string; readonly chargeId: string }>()
  readonly #troubles: Trouble[] = []

  private constructor(server: Server) {
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    server.on('request', (request, response) => void this.#answer(request, response))
  }

  static async start(): Promise<PaymentServer> {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => {
      server.close()
      server.closeAllConnections()
    })
    return new PaymentServer(server)
  }

  /** The next call is charged and gets no answer, ever. */
  hangNext(): Promise<Call> {
    return new Promise((struck) => this.#troubles.push({ kind: 'hang', struck }))
  }

  /** The next call is charged, and the connection is cut instead of an answer. */
  cutNext(): Promise<Call> {
    return new Promise((struck) => this.#troubles.push({ kind: 'cut', struck }))
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const key = String(request.headers['idempotency-key'])
    const { jobId } = JSON.parse(await text(request)) as { jobId: string }
    const call = { key, jobId, at: new Date() }
    this.calls.push(call)
    const charge = this.charges.get(key) ?? { jobId, chargeId: `ch_${this.charges.size + 1}` }
    this.charges.set(key, charge)
    const trouble = this.#troubles.shift()
    if (!trouble) response.end(JSON.stringify(charge))
    else if (trouble.kind === 'cut') response.destroy()
    trouble?.struck(call)
  }
}
