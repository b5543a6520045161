import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { jsonText } from '../../src/job/json.js'
import { limits } from '../../src/limits.js'

const mebibyte = 1_048_576
const text = (value: unknown, bytesMax = mebibyte) => jsonText(value, 'the input', bytesMax)
const refusal = (code: string, message: string) =>
  expect.objectContaining({ code, message: expect.stringContaining(message) })

function nested(depth: number): unknown {
  let value: unknown = 'deep'
  for (let i = 0; i < depth; i++) value = i % 2 ? [value] : { in: value }
  return value
}

const holes = (length: number): unknown[] => Object.assign([], { length })

class Money {
  readonly cents = 5
}

describe('what can be stored', () => {
  const shared = { a: 1 }

  it.each<[string, unknown, string]>([
    ['null', null, 'null'],
    ['undefined, as null', undefined, 'null'],
    ['numbers', [0, -1, 1.5, 1e300, Number.MIN_VALUE], '[0,-1,1.5,1e+300,5e-324]'],
    ['strings', ['', 'ä', '😀', '\n'], '["","ä","😀","\\n"]'],
    ['empty containers', [[], {}], '[[],{}]'],
    ['undefined members, which are left out', { a: undefined, b: 1 }, '{"b":1}'],
    ['an object without a prototype', Object.assign(Object.create(null), { a: 1 }), '{"a":1}'],
    ['an object of another realm', runInNewContext('({ a: [1] })'), '{"a":[1]}'],
    ['a member named __proto__', JSON.parse('{"__proto__":{"a":1}}'), '{"__proto__":{"a":1}}'],
    ['a date, as text', { at: new Date(0) }, '{"at":"1970-01-01T00:00:00.000Z"}'],
    ['what a toJSON() gives', { toJSON: (key: string) => ({ key }) }, '{"key":""}'],
    ['what a toJSON() inside gives', [{ toJSON: (key: string) => ({ key }) }], '[{"key":"0"}]'],
    ['what a toJSON() gives for its key alone', [{ toJSON: (key: string) => (key === '0' ? 1 : undefined) }], '[1]'],
    ['what a toJSON() gives for no key', { toJSON: (key: string) => (key === '' ? 1 : undefined) }, '1'],
    [
      'what a toJSON() inside an object gives for its name',
      { a: { b: { toJSON: (key: string) => (key === 'b' ? 1 : undefined) } } },
      '{"a":{"b":1}}',
    ],
    ['the same object in two places', { a: shared, b: [shared, shared] }, '{"a":{"a":1},"b":[{"a":1},{"a":1}]}'],
    ['text that merely looks like an escaped NUL', '\\u0000', '"\\\\u0000"'],
    ['text that merely looks like an escaped surrogate', '\\ud800', '"\\\\ud800"'],
    ['backslashes before what looks like an escape', '\\\\\\u0000', '"\\\\\\\\\\\\u0000"'],
    ['the character before NUL’s successor', '\u0001', '"\\u0001"'],
    ['U+FFFF and U+FEFF', '\uFFFF\uFEFF', '"\uFFFF\uFEFF"'],
  ])('%s', (_, value, expected) => {
    expect(text(value)).toBe(expected)
  })

  it('is nested up to the limit', () => {
    expect(JSON.parse(text(nested(limits.payloadDepthMax)))).toEqual(nested(limits.payloadDepthMax))
  })

  it('has as many bytes as the limit, counted in UTF-8', () => {
    expect(text('x'.repeat(mebibyte - 2))).toHaveLength(mebibyte)
    expect(() => text('x'.repeat(mebibyte - 1))).toThrow(
      refusal('FP_INPUT_TOO_LARGE', 'the input has more than 1048576 bytes'),
    )
    expect(text('ä'.repeat(5), 12)).toBe('"äääää"')
    expect(() => text('ä'.repeat(5), 11)).toThrow(
      refusal('FP_INPUT_TOO_LARGE', 'the input has 12 bytes, the limit is 11'),
    )
    expect(() => text('\u0001', 7)).toThrow(refusal('FP_INPUT_TOO_LARGE', 'the input has 8 bytes, the limit is 7'))
  })

  const storable = fc
    .jsonValue({ noUnicodeString: false })
    .filter((value) => !/\\u(0000|d[89a-f])/.test(JSON.stringify(value)))

  it('is the text of JSON.stringify, at exactly its number of bytes and not at one less', () => {
    fc.assert(
      fc.property(storable, (value) => {
        const expected = JSON.stringify(value)
        const bytes = Buffer.byteLength(expected)
        expect(text(value, bytes)).toBe(expected)
        expect(() => text(value, bytes - 1)).toThrow(expect.objectContaining({ code: 'FP_INPUT_TOO_LARGE' }))
      }),
      { numRuns: 100 },
    )
  })
})

describe('what cannot be stored', () => {
  const cycle: Record<string, unknown> = {}
  cycle['list'] = [1, { back: cycle }]
  const revoked = Proxy.revocable({}, {})
  revoked.revoke()

  it.each<[string, unknown, string]>([
    ['a function', () => 1, 'the input is a function'],
    ['a function inside', { a: { b: [1, () => 1] } }, 'the input.a.b[1] is a function'],
    ['a symbol', Symbol('s'), 'the input is a symbol'],
    ['a BigInt', { cents: 5n }, 'the input.cents is a bigint'],
    ['undefined in an array', [1, undefined], 'the input[1] is undefined'],
    ['a hole in an array', holes(3), 'the input[0] is undefined'],
    ['a hole in a huge array', holes(4_000_000_000), 'the input[0] is undefined'],
    ['NaN', { n: Number.NaN }, 'the input.n is NaN'],
    ['Infinity', [Number.POSITIVE_INFINITY], 'the input[0] is Infinity'],
    ['-Infinity', [Number.NEGATIVE_INFINITY], 'the input[0] is -Infinity'],
    ['a cycle', cycle, 'the input.list[1].back contains itself'],
    ['a Map', { m: new Map([[1, 2]]) }, 'the input.m is an instance of Map, not a plain object'],
    ['a Set', new Set([1]), 'the input is an instance of Set'],
    ['an instance of a class', new Money(), 'the input is an instance of Money'],
    [
      'an instance of a class without a name',
      new (class {
        n = 1
      })(),
      'the input is an instance of a class',
    ],
    ['an Error', new Error('x'), 'the input is an instance of Error'],
    ['a Uint8Array', new Uint8Array(3), 'the input is an instance of Uint8Array'],
    ['a Promise', Promise.resolve(1), 'the input is an instance of Promise'],
    ['a boxed string', Object('x'), 'the input is an instance of String'],
    ['an invalid date', { at: new Date(Number.NaN) }, 'the input.at is an invalid Date'],
    ['a toJSON() that gives nothing', { toJSON: () => undefined }, 'has a toJSON() that gives nothing to store'],
    [
      'a toJSON() that gives itself',
      new (class Loop {
        toJSON() {
          return this
        }
      })(),
      'the input is an instance of Loop',
    ],
    ['a toJSON() that gives a function', { toJSON: () => () => 1 }, 'the input is a function'],
    [
      'a toJSON() that throws',
      {
        a: {
          toJSON: () => {
            throw new Error('mine')
          },
        },
      },
      'the input.a could not be read',
    ],
    [
      'a getter that throws',
      {
        get a() {
          throw new Error('mine')
        },
      },
      'the input could not be read',
    ],
    ['a revoked proxy', revoked.proxy, 'the input could not be read'],
    ['U+0000', { a: 'x\u0000y' }, 'the input.a contains the character U+0000'],
    ['U+0000 after a backslash', '\\\u0000', 'the input contains the character U+0000'],
    ['U+0000 in a name', { 'x\u0000': 1 }, 'has a name that contains the character U+0000'],
    ['a high surrogate alone', ['\uD83D'], 'the input[0] contains a lone surrogate'],
    ['a low surrogate alone', ['\uDE00'], 'the input[0] contains a lone surrogate'],
    ['surrogates in the wrong order', ['\uDE00\uD83D'], 'the input[0] contains a lone surrogate'],
    ['a lone surrogate in a name', { '\uD83D': 1 }, 'has a name that contains a lone surrogate'],
    ['a member with an odd name', { 'a b': { "it's": Number.NaN } }, `the input["a b"]["it's"] is NaN`],
  ])('%s', (_, value, message) => {
    expect(() => text(value)).toThrow(refusal('FP_INPUT_NOT_JSON', message))
  })

  it('names no path that is longer than a line or two', () => {
    const long = { ['k'.repeat(100_000)]: Number.NaN }
    expect(() => text(long)).toThrow(
      expect.objectContaining({ message: expect.toSatisfy((m: string) => m.length < 300) }),
    )
  })

  it('keeps the error of a getter as the cause', () => {
    const mine = new Error('mine')
    const value = {
      get a() {
        throw mine
      },
    }
    expect(() => text(value)).toThrow(expect.objectContaining({ cause: mine }))
  })

  it.each([limits.payloadDepthMax + 1, 10_000, 100_000])('nesting %d deep', (depth) => {
    expect(() => text(nested(depth))).toThrow(
      refusal('FP_INPUT_TOO_DEEP', `the input is nested deeper than ${limits.payloadDepthMax} levels`),
    )
  })

  it('nesting that a toJSON() makes as it goes', () => {
    class Endless {
      toJSON() {
        return { next: new Endless() }
      }
    }
    expect(() => text(new Endless())).toThrow(refusal('FP_INPUT_TOO_DEEP', 'the input'))
  })

  it('a few objects that share each other into more text than there is memory', () => {
    let value: unknown = ['x']
    for (let i = 0; i < 90; i++) value = [value, value]
    expect(() => text(value)).toThrow(refusal('FP_INPUT_TOO_LARGE', 'the input has more than 1048576 bytes'))
  })

  it('far too much, before any text is made of it', () => {
    let read = 0
    const member = {
      get a() {
        read++
        return 'x'.repeat(100)
      },
    }
    expect(() => text(Array.from({ length: 1_000_000 }, () => member))).toThrow(
      refusal('FP_INPUT_TOO_LARGE', 'the input'),
    )
    expect(read).toBeLessThan(mebibyte / 100)
  })
})
