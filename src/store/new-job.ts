/** A job ready to be stored: checked, with every option resolved. */
export interface NewJob {
  readonly id: string
  readonly task: string
  /** On one line, as JSON.stringify() makes it. */
  readonly payloadText: string
  readonly queue: string
  readonly priority: number
  readonly delayMs: number
  readonly failuresMax: number
  readonly lossesMax: number
  readonly leaseMs: number
  /** JSON text of its gates, in the order in which they are waited for; null if it has none. */
  readonly gatesText: string | null
}
