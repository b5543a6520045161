import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { defaults, limits } from '../../src/limits.js'
import { backoffMs, type RetryOptions, retryPolicy } from '../../src/task/retry-policy.js'

describe('the retry policy', () => {
  it('has the documented defaults', () => {
    expect(retryPolicy()).toMatchObject({
      limit: defaults.retryLimit,
      backoff: defaults.retryBackoff,
      delayMs: defaults.retryDelayMs,
      delayMsMax: defaults.retryDelayMsMax,
      jitter: defaults.retryJitter,
    })
    expect(retryPolicy().retryable(new Error('any'))).toBe(true)
  })

  it('does not cut a delay that is longer than the default maximum', () => {
    expect(retryPolicy({ delay: '1h' }).delayMsMax).toBe(3_600_000)
    expect(retryPolicy({ delay: '1h', max: '10m' }).delayMsMax).toBe(600_000)
  })

  it.each<[unknown, string, string]>([
    [{ limit: -1 }, 'FP_OPTION_INVALID', 'limit of retry must be a whole number from 0 to 10000, not -1'],
    [{ limit: 1.5 }, 'FP_OPTION_INVALID', 'not 1.5'],
    [{ limit: Number.POSITIVE_INFINITY }, 'FP_OPTION_INVALID', 'not Infinity'],
    [{ limit: limits.retryLimitMax + 1 }, 'FP_OPTION_INVALID', 'not 10001'],
    [{ limit: '3' }, 'FP_OPTION_INVALID', 'not "3"'],
    [{ backoff: 'fibonacci' }, 'FP_OPTION_INVALID', 'fixed, linear, exponential, not "fibonacci"'],
    [{ backoff: Symbol('fixed') }, 'FP_OPTION_INVALID', 'not a symbol'],
    [{ jitter: -0.1 }, 'FP_OPTION_INVALID', 'from 0 to 1, not -0.1'],
    [{ jitter: 1.1 }, 'FP_OPTION_INVALID', 'from 0 to 1, not 1.1'],
    [{ jitter: Number.NaN }, 'FP_OPTION_INVALID', 'from 0 to 1, not NaN'],
    [{ jitter: '0.5' }, 'FP_OPTION_INVALID', 'from 0 to 1, not "0.5"'],
    [{ delay: '-1s' }, 'FP_DURATION_INVALID', 'delay of retry is "-1s"'],
    [{ max: 'soon' }, 'FP_DURATION_INVALID', 'max of retry is "soon"'],
    [{ retryable: true }, 'FP_OPTION_INVALID', 'retryable of retry must be a function, not true'],
    [{ maxDelay: '5m' }, 'FP_OPTION_INVALID', 'retry has no option "maxDelay"'],
    [null, 'FP_OPTION_INVALID', 'the options of retry must be an object, not null'],
    [5, 'FP_OPTION_INVALID', 'the options of retry must be an object, not 5'],
  ])('refuses %o', (options, code, message) => {
    expect(() => retryPolicy(options as RetryOptions)).toThrow(
      expect.objectContaining({ code, message: expect.stringContaining(message) }),
    )
  })
})

describe('the backoff', () => {
  const delays = (options: RetryOptions, failures: number[]) =>
    failures.map((n) => backoffMs(retryPolicy({ jitter: 0, ...options }), n, 0.5))

  it.each<[RetryOptions, number[]]>([
    [{ backoff: 'fixed', delay: '2s' }, [2_000, 2_000, 2_000, 2_000, 2_000]],
    [{ backoff: 'linear', delay: '2s' }, [2_000, 4_000, 6_000, 8_000, 10_000]],
    [{ backoff: 'exponential', delay: '2s' }, [2_000, 4_000, 8_000, 16_000, 32_000]],
    [{ backoff: 'exponential', delay: '2s', max: '10s' }, [2_000, 4_000, 8_000, 10_000, 10_000]],
    [{ backoff: 'linear', delay: '2s', max: '5s' }, [2_000, 4_000, 5_000, 5_000, 5_000]],
    [{ backoff: 'fixed', delay: '2s', max: '1s' }, [1_000, 1_000, 1_000, 1_000, 1_000]],
    [{ backoff: 'exponential', delay: 0 }, [0, 0, 0, 0, 0]],
  ])('%o waits %j ms', (options, expected) => {
    expect(delays(options, [1, 2, 3, 4, 5])).toEqual(expected)
  })

  it('does not overflow after very many failures', () => {
    expect(delays({ backoff: 'exponential', delay: '3650d', max: '3650d' }, [10_000])).toEqual([limits.durationMsMax])
  })

  it.each<[number, number, number]>([
    [0.2, 0, 10_000],
    [0.2, 0.5, 9_000],
    [1, 0.5, 5_000],
    [1, 0.999_999, 0],
    [0, 0.999_999, 10_000],
  ])('with jitter %d and a draw of %d, 10 s become %d ms', (jitter, random, ms) => {
    expect(backoffMs(retryPolicy({ backoff: 'fixed', delay: '10s', jitter }), 1, random)).toBe(ms)
  })

  const anyPolicy = fc.record({
    backoff: fc.constantFrom('fixed', 'linear', 'exponential'),
    delay: fc.integer({ min: 0, max: limits.durationMsMax }),
    max: fc.integer({ min: 0, max: limits.durationMsMax }),
    jitter: fc.double({ min: 0, max: 1, noNaN: true }),
  })
  const anyFailures = fc.integer({ min: 1, max: limits.retryLimitMax })
  const anyDraw = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })

  it('is never negative, never above the maximum, and whole', () => {
    fc.assert(
      fc.property(anyPolicy, anyFailures, anyDraw, (options, failures, random) => {
        const ms = backoffMs(retryPolicy(options), failures, random)
        expect(Number.isInteger(ms)).toBe(true)
        expect(ms).toBeGreaterThanOrEqual(0)
        expect(ms).toBeLessThanOrEqual(options.max)
      }),
      { numRuns: 1_000 },
    )
  })

  it('is shortened by no more than the jitter’s share', () => {
    fc.assert(
      fc.property(anyPolicy, anyFailures, anyDraw, (options, failures, random) => {
        const whole = backoffMs(retryPolicy({ ...options, jitter: 0 }), failures, random)
        const drawn = backoffMs(retryPolicy(options), failures, random)
        expect(drawn).toBeLessThanOrEqual(whole)
        expect(drawn).toBeGreaterThanOrEqual(Math.floor(whole * (1 - options.jitter)))
      }),
      { numRuns: 1_000 },
    )
  })

  it('never shrinks from one failure to the next', () => {
    fc.assert(
      fc.property(anyPolicy, anyFailures, anyDraw, (options, failures, random) => {
        const policy = retryPolicy(options)
        expect(backoffMs(policy, failures + 1, random)).toBeGreaterThanOrEqual(backoffMs(policy, failures, random))
      }),
    )
  })
})
