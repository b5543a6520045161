import type { Json } from '../job/json.js'
import { defaults } from '../limits.js'
import { describeError } from '../job/verdict.js'
import type { RetryPolicy } from '../task/retry-policy.js'
import { compileExpression } from './expression.js'
import type { JobPolicy } from './run.js'

/** How an item is retried that its workflow has a word on; undefined if it has none. */
export function itemRetry(policy: JobPolicy | null, attempt: number): RetryPolicy | undefined {
  if (!policy?.retry) return undefined
  const { when, ...retry } = policy.retry
  return {
    ...retry,
    jitter: defaults.retryJitter,
    // An expression that fails is not true.
    retryable: (error) => when === undefined || isTrue(when, error, attempt),
  }
}

function isTrue(when: string, error: unknown, attempt: number): boolean {
  try {
    return compileExpression(when, ['error', 'attempt']).test({
      // Most errors have no code, and an expression that asks for it must not fail for that.
      error: { code: null, ...(describeError(error) as Record<string, Json>) },
      attempt,
    })
  } catch {
    return false
  }
}
