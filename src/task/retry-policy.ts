import { FencepostError, shown } from '../errors.js'
import { defaults, limits } from '../limits.js'
import { type Duration, durationMs } from './duration.js'
import { checkedInteger, checkOptionNames } from './options.js'

export interface RetryOptions {
  /** How many failures are followed by another try. 0: none. */
  readonly limit?: number
  readonly backoff?: 'fixed' | 'linear' | 'exponential'
  /** The delay before the first retry. */
  readonly delay?: Duration
  /** No delay is longer than this; five minutes by default, or `delay` if that is longer. */
  readonly max?: Duration
  /** The share of the delay, from 0 to 1, that is drawn at random, so that failures in step do not retry in step. */
  readonly jitter?: number
  /** Whether this error is worth another try. A throw of `NonRetryable` or `RetryAfter` decides before it is asked. */
  readonly retryable?: (error: unknown) => boolean
}

export interface RetryPolicy {
  readonly limit: number
  readonly backoff: 'fixed' | 'linear' | 'exponential'
  readonly delayMs: number
  readonly delayMsMax: number
  readonly jitter: number
  readonly retryable: (error: unknown) => boolean
}

const backoffs = ['fixed', 'linear', 'exponential'] as const
const known = ['limit', 'backoff', 'delay', 'max', 'jitter', 'retryable'] as const satisfies (keyof RetryOptions)[]

/** `what` names the owner of the options in errors. */
export function retryPolicy(options: RetryOptions = {}, what = 'retry'): RetryPolicy {
  checkOptionNames(options, known, what)
  const backoff = options.backoff ?? defaults.retryBackoff
  if (!backoffs.includes(backoff)) {
    throw new FencepostError(
      'FP_OPTION_INVALID',
      `backoff of ${what} must be ${backoffs.join(', ')}, not ${shown(backoff)}`,
    )
  }
  const jitter: unknown = options.jitter ?? defaults.retryJitter
  if (typeof jitter !== 'number' || !(jitter >= 0 && jitter <= 1)) {
    throw new FencepostError('FP_OPTION_INVALID', `jitter of ${what} must be from 0 to 1, not ${shown(jitter)}`)
  }
  const retryable: unknown = options.retryable ?? (() => true)
  if (typeof retryable !== 'function') {
    throw new FencepostError('FP_OPTION_INVALID', `retryable of ${what} must be a function, not ${shown(retryable)}`)
  }
  const delayMs = durationMs(options.delay ?? defaults.retryDelayMs, `delay of ${what}`)
  return {
    limit: checkedInteger(options.limit ?? defaults.retryLimit, `limit of ${what}`, 0, limits.retryLimitMax),
    backoff,
    delayMs,
    delayMsMax:
      options.max === undefined
        ? Math.max(defaults.retryDelayMsMax, delayMs)
        : durationMs(options.max, `max of ${what}`),
    jitter,
    retryable: retryable as RetryPolicy['retryable'],
  }
}

/**
 * The delay after the nth failure (n from 1). `random` is from [0, 1): the delay is shortened by up to the jitter's
 * share, so that `max` is a maximum.
 */
export function backoffMs(policy: RetryPolicy, failures: number, random: number): number {
  const factor = { fixed: 1, linear: failures, exponential: 2 ** Math.min(failures - 1, 50) }[policy.backoff]
  const delay = Math.min(policy.delayMs * factor, policy.delayMsMax)
  return Math.round(delay * (1 - policy.jitter * random))
}
