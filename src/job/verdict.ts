import { FencepostError } from '../errors.js'
import { type Duration, durationMs } from '../task/duration.js'
import { backoffMs, type RetryPolicy } from '../task/retry-policy.js'
import type { Json } from './json.js'

/** Thrown by a handler: this job must not be tried again. */
export class NonRetryable extends Error {
  override readonly name = 'NonRetryable'
}

/** Thrown by a handler: try again, but not before the delay has passed. It still counts as a failure. */
export class RetryAfter extends Error {
  override readonly name = 'RetryAfter'
  readonly delayMs: number

  constructor(delay: Duration, message = 'retry later', options?: ErrorOptions) {
    super(message, options)
    this.delayMs = durationMs(delay, 'RetryAfter')
  }
}

/** What a failure asks of the `fail` move. Whether the budget allows another try is decided there, by the row. */
export interface Verdict {
  readonly final: boolean
  readonly delayMs: number
  readonly error: Json
}

/** `failures` counts this one, within the budget in force (a retry by a person starts it anew). */
export function verdictOf(error: unknown, policy: RetryPolicy, failures: number, random: number): Verdict {
  const described = describeError(error)
  if (error instanceof NonRetryable) return { final: true, delayMs: 0, error: described }
  if (error instanceof RetryAfter) return { final: false, delayMs: error.delayMs, error: described }
  if (error instanceof FencepostError && error.code.startsWith('FP_INPUT_')) {
    return { final: true, delayMs: 0, error: described }
  }
  return { final: !isRetryable(policy, error), delayMs: backoffMs(policy, failures, random), error: described }
}

/** A predicate that throws must not cost the job its retries. */
function isRetryable(policy: RetryPolicy, error: unknown): boolean {
  try {
    return policy.retryable(error)
  } catch {
    return true
  }
}

const textLengthMax = 8_000

/** An error as JSON that PostgreSQL can store, whatever was thrown. */
export function describeError(error: unknown): Json {
  if (!(error instanceof Error)) return { name: 'Thrown', message: storable(safeString(error)) }
  const described: Record<string, Json> = { name: storable(error.name), message: storable(error.message) }
  const { code } = error as { code?: unknown }
  if (typeof code === 'string' || typeof code === 'number') described['code'] = storable(String(code))
  if (error.stack) described['stack'] = storable(error.stack)
  if (error.cause instanceof Error) described['cause'] = storable(`${error.cause.name}: ${error.cause.message}`)
  return described
}

function storable(text: string): string {
  return text.slice(0, textLengthMax).replaceAll('\u0000', '\uFFFD').toWellFormed()
}

function safeString(value: unknown): string {
  try {
    return typeof value === 'string' ? value : (JSON.stringify(value) ?? String(value))
  } catch {
    return Object.prototype.toString.call(value)
  }
}
