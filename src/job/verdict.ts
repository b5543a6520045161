import { FencepostError } from '../errors.js'
import { limits } from '../limits.js'
import { type Duration, durationMs } from '../task/duration.js'
import { backoffMs, type RetryPolicy } from '../task/retry-policy.js'
import type { Json } from './json.js'

/**
 * A registered symbol, not `instanceof`: a handler may have another copy of this package than the worker that runs it.
 * CommonJS projects do, where the package is compiled a second time.
 */
const wish = Symbol.for('fencepost.wish')

/** Thrown by a handler: this job must not be tried again. */
export class NonRetryable extends Error {
  override readonly name = 'NonRetryable'

  get [wish]() {
    return 'never' as const
  }
}

/** Thrown by a handler: try again, but not before the delay has passed. It still counts as a failure. */
export class RetryAfter extends Error {
  override readonly name = 'RetryAfter'
  readonly delayMs: number

  constructor(delay: Duration, message = 'retry later', options?: ErrorOptions) {
    super(message, options)
    this.delayMs = durationMs(delay, 'RetryAfter')
  }

  get [wish]() {
    return 'after' as const
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
  const wished = wishOf(error)
  if (wished === 'never' || isUnfit(error)) return { final: true, delayMs: 0, error: described }
  if (wished === 'after') return { final: false, delayMs: (error as RetryAfter).delayMs, error: described }
  return { final: !isRetryable(policy, error), delayMs: backoffMs(policy, failures, random), error: described }
}

/** A proxy may throw even here. */
function wishOf(error: unknown): 'never' | 'after' | undefined {
  try {
    return (error as { [wish]?: 'never' | 'after' } | undefined | null)?.[wish]
  } catch {
    return undefined
  }
}

/** An input, or a result, that another try cannot mend. */
function isUnfit(error: unknown): boolean {
  try {
    return error instanceof FencepostError && error.code.startsWith('FP_INPUT_')
  } catch {
    return false
  }
}

/** A predicate that throws must not cost the job its retries. */
function isRetryable(policy: RetryPolicy, error: unknown): boolean {
  try {
    return policy.retryable(error)
  } catch {
    return true
  }
}

/** An error as JSON that PostgreSQL can store, whatever was thrown: a job must fail, not hang on its own error. */
export function describeError(error: unknown): Json {
  try {
    if (!isErrorLike(error)) return { name: 'Thrown', message: storable(textOf(error)) }
    const described: Record<string, Json> = { name: storable(error.name ?? 'Thrown'), message: storable(error.message) }
    if (typeof error.code === 'string' || typeof error.code === 'number') described['code'] = storable(error.code)
    if (typeof error.stack === 'string') described['stack'] = storable(error.stack)
    if (isErrorLike(error.cause))
      described['cause'] = storable(`${textOf(error.cause.name)}: ${textOf(error.cause.message)}`)
    return described
  } catch {
    return { name: 'Thrown', message: 'a value that cannot be read' }
  }
}

interface ErrorLike {
  readonly name?: unknown
  readonly message: unknown
  readonly code?: unknown
  readonly stack?: unknown
  readonly cause?: unknown
}

/** Errors of another realm or of a library of its own are no instances of Error, but say what happened all the same. */
function isErrorLike(value: unknown): value is ErrorLike {
  return value instanceof Error || (typeof value === 'object' && value !== null && 'message' in value)
}

function storable(value: unknown): string {
  return textOf(value).slice(0, limits.errorTextLengthMax).replaceAll('\u0000', '\uFFFD').toWellFormed()
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return value
  try {
    return JSON.stringify(value) ?? String(value)
  } catch {
    return Object.prototype.toString.call(value)
  }
}
