import { describe, expect, it } from 'vitest'
import { limits } from '../../src/limits.js'
import { checkedInteger, checkedName, checkOptionNames } from '../../src/task/options.js'

const refusal = (message: string) =>
  expect.objectContaining({ code: 'FP_OPTION_INVALID', message: expect.stringContaining(message) })

describe('a name', () => {
  it.each(['charge-card', 'a', 'Zahlung fällig', '支付', "o'brien", '"; drop table job; --', '😀'])(
    'may be %j',
    (name) => {
      expect(checkedName(name, 'queue')).toBe(name)
    },
  )

  it.each<[unknown, string]>([
    ['', 'queue must be a non-empty string, not ""'],
    ['  ', 'queue must be a non-empty string, not "  "'],
    [undefined, 'queue must be a non-empty string, not undefined'],
    [5, 'queue must be a non-empty string, not 5'],
    [Symbol('queue'), 'queue must be a non-empty string, not a symbol'],
    [['default'], 'queue must be a non-empty string, not an object'],
    ['a\u0000b', 'queue contains a control character'],
    ['a\nb', 'queue contains a control character'],
    ['a\u007Fb', 'queue contains a control character'],
    ['a\uD800', 'queue contains a control character or a lone surrogate'],
  ])('may not be %o', (name, message) => {
    expect(() => checkedName(name, 'queue')).toThrow(refusal(message))
  })
})

it('a name has up to 200 characters', () => {
  expect(checkedName('x'.repeat(limits.nameLengthMax), 'queue')).toHaveLength(200)
  expect(() => checkedName('x'.repeat(201), 'queue')).toThrow(refusal('queue is longer than 200 characters'))
})

describe('a whole number', () => {
  it.each([-100, 0, 100])('may be %d', (value) => {
    expect(checkedInteger(value, 'priority', -100, 100)).toBe(value)
  })

  it.each<[unknown, string]>([
    [-101, 'not -101'],
    [101, 'not 101'],
    [0.5, 'not 0.5'],
    [Number.NaN, 'not NaN'],
    [Number.POSITIVE_INFINITY, 'not Infinity'],
    ['5', 'not "5"'],
    [5n, 'not a bigint'],
    [null, 'not null'],
    [{}, 'not an object'],
    [Symbol('5'), 'not a symbol'],
    ['1; drop table job', 'not "1; drop table job"'],
  ])('may not be %o', (value, message) => {
    const range = 'priority must be a whole number from -100 to 100, '
    expect(() => checkedInteger(value, 'priority', -100, 100)).toThrow(refusal(range + message))
  })
})

describe('the names of options', () => {
  it('are known', () => {
    expect(() => checkOptionNames({ a: 1 }, ['a', 'b'], 'x')).not.toThrow()
    expect(() => checkOptionNames({}, ['a', 'b'], 'x')).not.toThrow()
  })

  it('are listed when one is misspelt', () => {
    expect(() => checkOptionNames({ c: 1 }, ['a', 'b'], 'x')).toThrow(
      expect.objectContaining({ code: 'FP_OPTION_INVALID', hint: 'The options are a, b.' }),
    )
  })

  it.each([null, 5, 'text', undefined])('cannot be those of %o', (options) => {
    expect(() => checkOptionNames(options, ['a'], 'x')).toThrow(refusal('the options of x must be an object'))
  })
})
