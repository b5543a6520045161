import fc from 'fast-check'
import { expect } from 'vitest'
import { errorCatalogue, FencepostError } from '../../src/errors.js'

/** FENCEPOST_SEED=… repeats a run; the names of the tests tell it. */
export const seed = Number(process.env['FENCEPOST_SEED'] || Date.now() % 2 ** 31)
/** So much longer than in CI. */
const times = Number(process.env['FENCEPOST_ROUNDS'] || 1)

export function runs(count: number) {
  return { seed, numRuns: count * times, endOnFailure: true }
}

/** What has broken programs before: quoting, encodings, patterns, names that objects have already, sizes. */
export const hostileTexts: readonly string[] = [
  '',
  ' ',
  `'; drop schema fencepost cascade; --`,
  `"; drop schema fencepost cascade; --`,
  `'); delete from fencepost.job; --`,
  `$$; drop table fencepost.job; $$`,
  `$1 $2 %s %I %L`,
  `\\'; drop table fencepost.job; --`,
  `/* fencepost.job */ fencepost.job`,
  `{"a",NULL,b}`,
  'NULL',
  'null',
  '%',
  '_',
  'pause:queue:default',
  'gate:a',
  'fifo:a',
  'a\u0000b',
  '\uD800',
  'a\uDFFFb',
  '\u202Ejob',
  '\u001B[2J\u001B[31m',
  '\r\nX-Injected: 1',
  '\u2028',
  '😀'.repeat(200),
  'ä'.repeat(201),
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  '../../../../etc/passwd',
  '{{ 1 / 0 }}',
  '{{ secret }}',
  '<script>alert(1)</script>',
  ']]>',
  '-1',
  '1e999',
  '9007199254740993',
  '0x10',
  'Infinity',
  'x'.repeat(1_048_576),
]

export const hostileText: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(...hostileTexts),
  fc.string({ unit: 'binary', maxLength: 30 }),
)

const hostileNumber: fc.Arbitrary<number> = fc.oneof(
  fc.constantFrom(0, -0, -1, 0.5, 101, 2 ** 31, -(2 ** 31) - 1, 2 ** 53, 1e308, Number.NaN, Number.POSITIVE_INFINITY),
  fc.integer(),
  fc.double(),
)

/** Nested deeper than any limit; built without recursion. */
export function nested(depth: number, leaf: unknown = 1): unknown {
  let value = leaf
  for (let n = 0; n < depth; n++) value = n % 2 === 0 ? [value] : { a: value }
  return value
}

/** Whatever a program in JavaScript can hand over. */
export const hostileValue: fc.Arbitrary<unknown> = fc.oneof(
  hostileText,
  hostileNumber,
  fc.constantFrom(undefined, null, true, false, 1n, Symbol.iterator, () => 1, new Date(Number.NaN), new Map()),
  fc.constantFrom(
    JSON.parse('{"__proto__": {"isAdmin": true}}'),
    Object.create(null),
    nested(5_000),
    new Proxy({}, {}),
  ),
  fc.anything({
    key: hostileText,
    maxDepth: 2,
    withBigInt: true,
    withDate: true,
    withMap: true,
    withNullPrototype: true,
  }),
)

/** An object with some of these keys, and now and then one that nobody knows. */
export function someOf(keys: Readonly<Record<string, fc.Arbitrary<unknown>>>): fc.Arbitrary<Record<string, unknown>> {
  return fc
    .record(keys, { requiredKeys: [] })
    .chain((options) =>
      fc.oneof(
        { weight: 9, arbitrary: fc.constant(options as Record<string, unknown>) },
        { weight: 1, arbitrary: hostileText.map((name) => ({ ...options, [name]: 1 })) },
      ),
    )
}

const callMsMax = 10_000

/** What a call came to: done, or refused with an error of the catalogue that says what to do. Anything else is a bug. */
export async function outcomeOf(call: () => unknown): Promise<'done' | FencepostError> {
  const startedAt = performance.now()
  try {
    await call()
    return 'done'
  } catch (error) {
    if (!(error instanceof FencepostError)) throw new Error('not an error of the catalogue', { cause: error })
    expect(Object.keys(errorCatalogue)).toContain(error.code)
    expect(error.code, error.message).not.toBe('FP_DATABASE_ERROR') // refused before it reaches the database
    expect(error.message).not.toBe('')
    expect(error.message.length).toBeLessThan(25_000) // a list of problems may be long,
    expect(error.message).not.toMatch(/.{3000}/) // but not what one of them says
    expect(error.hint).not.toBe('')
    return error
  } finally {
    expect(performance.now() - startedAt).toBeLessThan(callMsMax)
  }
}
