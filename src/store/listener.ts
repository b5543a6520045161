import pg from 'pg'

const pauseMsMax = 5_000

/**
 * A connection that only listens. What it hears is a hint: notices that were sent while it was away are lost, so after
 * every connect the listener is told to look for itself (an empty payload).
 */
export class Listener {
  readonly #url: string
  readonly #channel: string
  readonly #onNotice: (payload: string) => void
  readonly #onError: (error: unknown) => void
  #client: pg.Client | undefined
  #timer: NodeJS.Timeout | undefined
  #tries = 0
  #closed = false

  constructor(url: string, channel: string, onNotice: (payload: string) => void, onError: (error: unknown) => void) {
    this.#url = url
    this.#channel = channel
    this.#onNotice = onNotice
    this.#onError = onError
    void this.#connect()
  }

  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#timer)
    await this.#client?.end().catch(() => {})
  }

  async #connect(): Promise<void> {
    const client = new pg.Client({
      connectionString: this.#url,
      application_name: 'fencepost listener',
      connectionTimeoutMillis: 10_000,
      keepAlive: true,
    })
    this.#client = client
    client.on('notification', ({ payload }) => this.#onNotice(payload ?? ''))
    client.on('error', (error) => this.#onError(error))
    let over = false
    const again = () => {
      if (!over) this.#again()
      over = true
    }
    client.once('end', again) // guard: listener.again
    try {
      await client.connect()
      await client.query(`listen ${client.escapeIdentifier(this.#channel)}`)
      this.#tries = 0
      if (!this.#closed) this.#onNotice('') // guard: listener.look
    } catch (error) {
      if (this.#closed) return
      this.#onError(error)
      void client.end().catch(() => {})
      again()
    }
  }

  #again(): void {
    if (this.#closed) return // guard: listener.not_after_close
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => void this.#connect(), Math.min(100 * 2 ** Math.min(this.#tries++, 10), pauseMsMax))
  }
}
