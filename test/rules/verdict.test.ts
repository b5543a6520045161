import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import { FencepostError } from '../../src/errors.js'
import { jsonText } from '../../src/job/json.js'
import { describeError, NonRetryable, RetryAfter, verdictOf } from '../../src/job/verdict.js'
import { limits } from '../../src/limits.js'
import { type RetryOptions, retryPolicy } from '../../src/task/retry-policy.js'

const judge = (error: unknown, options: RetryOptions = {}, failures = 1) =>
  verdictOf(error, retryPolicy({ backoff: 'fixed', delay: '2s', jitter: 0, ...options }), failures, 0)

describe('the verdict on a failure', () => {
  it('is to try again after the backoff', () => {
    expect(judge(new Error('boom'))).toMatchObject({ final: false, delayMs: 2_000 })
    expect(judge(new Error('boom'), { backoff: 'linear' }, 3)).toMatchObject({ final: false, delayMs: 6_000 })
  })

  it('is final for NonRetryable, without asking the predicate', () => {
    expect(judge(new NonRetryable('no'), { retryable: () => true })).toMatchObject({
      final: true,
      error: { name: 'NonRetryable', message: 'no' },
    })
  })

  it('waits as long as RetryAfter says, without asking the predicate, beyond the maximum, too', () => {
    const verdict = judge(new RetryAfter('1h', 'busy'), { retryable: () => false, max: '5m' })
    expect(verdict).toMatchObject({ final: false, delayMs: 3_600_000, error: { name: 'RetryAfter', message: 'busy' } })
    expect(judge(new RetryAfter(0))).toMatchObject({ final: false, delayMs: 0 })
  })

  it('knows both of another copy of the package', async () => {
    vi.resetModules()
    const other = await import('../../src/job/verdict.js')
    expect(other.NonRetryable).not.toBe(NonRetryable)
    expect(judge(new other.NonRetryable('no'))).toMatchObject({ final: true })
    expect(judge(new other.RetryAfter('1h'))).toMatchObject({ final: false, delayMs: 3_600_000 })
  })

  it('refuses a RetryAfter that cannot be', () => {
    expect(() => new RetryAfter('-1s')).toThrow(expect.objectContaining({ code: 'FP_DURATION_INVALID' }))
    expect(() => new RetryAfter('soon' as '1s')).toThrow(
      expect.objectContaining({
        code: 'FP_DURATION_INVALID',
        message: expect.stringContaining('RetryAfter') as string,
      }) as Error,
    )
  })

  it('has a message of its own for a RetryAfter without one, and keeps its cause', () => {
    const cause = new Error('busy')
    expect(new RetryAfter('1s')).toMatchObject({ message: 'retry later' })
    expect(new RetryAfter('1s', 'later', { cause })).toMatchObject({ message: 'later', cause })
  })

  it('follows the predicate', () => {
    const retryable = (error: unknown) => error instanceof TypeError
    expect(judge(new TypeError('again'), { retryable }).final).toBe(false)
    expect(judge(new RangeError('never'), { retryable }).final).toBe(true)
  })

  it('is to try again when the predicate itself throws', () => {
    const retryable = () => {
      throw new Error('in the predicate')
    }
    expect(judge(new Error('boom'), { retryable })).toMatchObject({ final: false, error: { message: 'boom' } })
  })

  it('is final for input and results that another try cannot mend', () => {
    expect(judge(new FencepostError('FP_INPUT_INVALID', 'x')).final).toBe(true)
    expect(judge(new FencepostError('FP_INPUT_TOO_LARGE', 'x')).final).toBe(true)
    expect(judge(new FencepostError('FP_DATABASE_UNREACHABLE', 'x')).final).toBe(false)
  })
})

describe('the description of an error', () => {
  it('keeps name, message, code, stack and cause', () => {
    const error = Object.assign(new TypeError('boom', { cause: new RangeError('deep') }), { code: 'E_BOOM' })
    expect(describeError(error)).toEqual({
      name: 'TypeError',
      message: 'boom',
      code: 'E_BOOM',
      stack: error.stack,
      cause: 'RangeError: deep',
    })
  })

  const hostile = new Proxy(new Error('x'), {
    getPrototypeOf() {
      throw new Error('trap')
    },
  })
  const revoked = Proxy.revocable({}, {})
  revoked.revoke()
  const cycle: Record<string, unknown> = {}
  cycle['self'] = cycle
  const throwing = (property: string) =>
    Object.defineProperty(new Error('x'), property, {
      get() {
        throw new Error('getter')
      },
    })

  it.each<[string, unknown, unknown]>([
    ['a string', 'boom', { name: 'Thrown', message: 'boom' }],
    ['nothing', undefined, { name: 'Thrown', message: 'undefined' }],
    ['null', null, { name: 'Thrown', message: 'null' }],
    ['a number', 42, { name: 'Thrown', message: '42' }],
    ['NaN', Number.NaN, { name: 'Thrown', message: 'null' }],
    ['a BigInt', 5n, { name: 'Thrown', message: '[object BigInt]' }],
    ['a symbol', Symbol('s'), { name: 'Thrown', message: 'Symbol(s)' }],
    ['an object', { status: 500 }, { name: 'Thrown', message: '{"status":500}' }],
    ['an object with a message', { message: 'boom', code: 7 }, { name: 'Thrown', message: 'boom', code: '7' }],
    ['a cycle', cycle, { name: 'Thrown', message: '[object Object]' }],
    ['an error whose message is no text', Object.assign(new Error('x'), { message: { a: 1 } }), { message: '{"a":1}' }],
    ['an error without a message', Object.assign(new Error('x'), { message: undefined }), { message: 'undefined' }],
    ['an error whose name is no text', Object.assign(new Error('x'), { name: 5 }), { name: '5', message: 'x' }],
    ['an error whose stack is no text', Object.assign(new Error('x'), { stack: 5 }), { name: 'Error', message: 'x' }],
    ['an error of another realm', runInNewContext('new TypeError("there")'), { name: 'TypeError', message: 'there' }],
    ['an error whose message throws', throwing('message'), { name: 'Thrown', message: 'a value that cannot be read' }],
    ['an error whose stack throws', throwing('stack'), { name: 'Thrown', message: 'a value that cannot be read' }],
    ['a proxy that throws', hostile, { name: 'Thrown', message: 'a value that cannot be read' }],
    ['a revoked proxy', revoked.proxy, { name: 'Thrown', message: 'a value that cannot be read' }],
    ['NUL', new Error('a\u0000b'), { message: 'a\uFFFDb' }],
    ['a lone surrogate', new Error('a\uD800b'), { message: 'a\uFFFDb' }],
  ])('copes with %s', (_, thrown, expected) => {
    expect(describeError(thrown)).toMatchObject(expected as object)
    expect(judge(thrown).error).toMatchObject(expected as object)
    expect(judge(thrown)).toMatchObject({ final: false, delayMs: 2_000 })
  })

  it('has no code, stack or cause where the error has none that can be told', () => {
    const bare = Object.assign(new Error('x', { cause: 'text' }), { code: { a: 1 }, stack: 5 })
    expect(describeError(bare)).toEqual({ name: 'Error', message: 'x' })
    expect(describeError({ message: 'x', code: 7 })).toEqual({ name: 'Thrown', message: 'x', code: '7' })
  })

  it('is short even if the error is huge', () => {
    const huge = 'x'.repeat(50_000_000)
    const described = describeError(
      Object.assign(new Error(huge, { cause: new Error(huge) }), { code: huge, stack: huge }),
    )
    for (const text of Object.values(described as Record<string, string>)) {
      expect(text.length).toBeLessThanOrEqual(limits.errorTextLengthMax)
    }
  })

  it('does not cut a character in two', () => {
    const text = `${'x'.repeat(limits.errorTextLengthMax - 1)}😀`
    expect(describeError(text)).toMatchObject({
      message: expect.toSatisfy((message: string) => message.isWellFormed()),
    })
  })

  it('can be stored, whatever was thrown', () => {
    fc.assert(
      fc.property(
        fc.anything({ withBigInt: true, withNullPrototype: true, withMap: true, withDate: true }),
        (thrown) => {
          expect(jsonText(describeError(thrown), 'the error', 1_000_000)).toBe(JSON.stringify(describeError(thrown)))
        },
      ),
    )
  })
})
