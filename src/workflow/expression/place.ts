import { ExpressionError } from '../expression-error.js'

/** A stretch of a string that holds an expression: what an error points at. */
export class Place {
  readonly source: string
  readonly offset: number
  readonly length: number

  constructor(source: string, offset: number, length: number) {
    this.source = source
    this.offset = offset
    this.length = length
  }

  error(problem: string, hint?: string, cause?: unknown): ExpressionError {
    return new ExpressionError(problem, this, { hint, cause })
  }

  /** What is written there, if it is short enough to be named in a message. */
  get words(): string | undefined {
    const text = this.source.slice(this.offset, this.offset + this.length)
    return text.length <= 60 && !/[\r\n]/.test(text) ? text : undefined
  }
}
