import type pg from 'pg'

/** Statements that are sent as one message, and what each COPY … FROM STDIN among them is given, in their order. */
export interface Copies {
  readonly sql: string
  readonly texts: readonly string[]
}

/** What the driver's connection can do besides what its types tell. */
interface Wire {
  query(text: string): void
  sendCopyFromChunk(chunk: Buffer): void
  endCopyFrom(): void
}

type Answered = (error: Error | null) => void

/** The driver knows the messages of COPY, and leaves it to a statement of the caller's to answer them. */
class CopyIn {
  readonly #sql: string
  readonly #texts: readonly string[]
  /** Set by the driver, as for every statement. */
  callback: Answered | undefined

  constructor({ sql, texts }: Copies) {
    this.#sql = sql
    this.#texts = texts
  }

  /** All at once: what comes after an error the server leaves unread. So it never waits for an answer of ours. */
  submit(wire: Wire): void {
    wire.query(this.#sql)
    for (const text of this.#texts) {
      wire.sendCopyFromChunk(Buffer.from(text))
      wire.endCopyFrom()
    }
  }

  handleCopyInResponse(): void {}

  handleError(error: Error): void {
    this.callback?.(error)
  }

  handleReadyForQuery(): void {
    this.callback?.(null)
  }

  handleRowDescription(): void {}
  handleDataRow(): void {}
  handleCommandComplete(): void {}
}

export function copyIn(client: pg.ClientBase, copies: Copies): Promise<void> {
  const query = client.query.bind(client) as unknown as (copy: CopyIn, answered: Answered) => void
  return new Promise((resolve, reject) => query(new CopyIn(copies), (error) => (error ? reject(error) : resolve())))
}
