import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Json } from '../../src/job/json.js'
import { compileExpression } from '../../src/workflow/expression.js'
import { cutAt, indexOfText } from '../../src/workflow/expression/text-search.js'
import { refusal } from './refusal.js'

// What docs/reference/expressions.md shows is tested with that page; here are the edges and what is refused.

const evaluate = (cel: string) => compileExpression(`{{ ${cel} }}`, []).evaluate({})

describe('the functions', () => {
  it.each<[string, Json]>([
    // positions and lengths count characters, not the halves of them
    ["size('👍é👍')", 3],
    ["substring('👍é👍', 1)", 'é👍'],
    ["substring('👍é👍', 0, 1)", '👍'],
    ["substring('👍é👍', -1)", '👍'],
    ["substring('👍é👍', -2, -1)", 'é'],
    ["substring('👍é👍', 2, 1)", ''],
    ["substring('abc', 2, 1)", ''],
    ["substring('abc', -9, 9)", 'abc'],
    ["substring('👍', 5)", ''],
    ["indexOf('👍é👍', 'é')", 1],
    ["indexOf('abc', '')", 0],
    ["split('👍é', '')", ['👍', 'é']],
    ["padStart('é', 4, '👍é')", '👍é👍é'],
    ["padEnd('👍', 3, 'ab')", '👍ab'],
    ["padStart('abc', 2)", 'abc'],
    ["padStart('abc', -5)", 'abc'],
    ["padStart('a', 5, '')", 'a'],
    // strings
    ["split('', ',')", ['']],
    ["split('a,,b,', ',')", ['a', '', 'b', '']],
    ["replace('aaa', 'aa', 'b')", 'ba'],
    ["replace('a.b', '.', '$&')", 'a$&b'],
    ["lines('')", []],
    ["lines('\\n')", ['']],
    ["lines('a\\r\\n\\nb')", ['a', '', 'b']],
    ["lines('a\\rb')", ['a', 'b']],
    ["join([], ',')", ''],
    ["join(['a', 1, null, {'b': [true]}], ' ')", 'a 1 null {"b":[true]}'],
    ["contains('abc', '')", true],
    ["contains('abc', 'd')", false],
    ["endsWith('abc', 'bc')", true],
    ["endsWith('abc', 'ab')", false],
    ["startsWith('abc', 'bc')", false],
    ["padStart('a', 3)", '  a'],
    ["padEnd('a', 3)", 'a  '],
    ["indexOf('abc', 'd')", -1],
    ["indexOf('👍é', '👍')", 0],
    ["size('a👍')", 2],
    ["substring('a👍b', 1, 2)", '👍'],
    ["upper('straße')", 'STRASSE'],
    // lists
    ['slice([1, 2, 3], 5)', []],
    ['slice([1, 2, 3], 0, -1)', [1, 2]],
    ['last([])', null],
    ['sort([])', []],
    ['sort([10, 9, 1])', [1, 9, 10]],
    ["sort(['\uFF01', '😀', 'a'])", ['a', '\uFF01', '😀']],
    ["[['b', 1], ['a', 1], ['c', 0]].sortBy(p, p[1]).map(p, p[0])", ['c', 'b', 'a']],
    [
      "unique([1, '1', 1.0, null, null, [1], [1.0], {'a': 1, 'b': 2}, {'b': 2, 'a': 1}])",
      [1, '1', null, [1], { a: 1, b: 2 }],
    ],
    ['flatten([])', []],
    ["flatten(['ab', [], [null]])", ['ab', null]],
    ['range(0)', []],
    ['range(-3)', []],
    ['range(-2, 1)', [-2, -1, 0]],
    ['range(3, 1)', []],
    ['chunks([], 3)', []],
    ['chunks([1, 2], 1)', [[1], [2]]],
    ["unique([{'a': 1, 'b': 2}, {'b': 2, 'a': 1}]).map(each, keys(each))", [['a', 'b']]],
    ['min([2, 1, 3])', 1],
    ['max([2, 3, 1])', 3],
    ['chunks([1, 2], 5)', [[1, 2]]],
    ['zip([], [])', []],
    ['zip([1], [2], [3])', [[1, 2, 3]]],
    ['sum([0.5, 1])', 1.5],
    ["min(['b', 'a'])", 'a'],
    ["max(['b', 'a'])", 'b'],
    ['indexOf([[1], {}], {})', 1],
    // objects
    ['keys({})', []],
    ["keys({'b': 1, '10': 1, '9': 1, 'B': 1})", ['10', '9', 'B', 'b']],
    ["fromEntries([['a', 1], ['a', 2]])", { a: 2 }],
    ["fromEntries(entries({'a': {'b': 1}}))", { a: { b: 1 } }],
    ["merge({'a': 1}, {}, {'a': 3, 'b': null})", { a: 3, b: null }],
    ["pick({'a': 1}, [])", {}],
    // numbers
    ['round(0.5)', 1],
    ['round(-0.5)', -1],
    ['round(2.345, 2)', 2.35],
    ['round(1.0000005, 6)', 1.000001],
    ['round(0.00000015, 7)', 2e-7],
    ['round(1e-10, 3)', 0],
    ['round(1e21 + 0.5, 2)', 1e21],
    ['round(123456789.987654321, 5)', 123456789.98765],
    ['floor(-0.5)', -1],
    ["int(' 42\\n')", 42],
    ["int('-7')", -7],
    ["int('+7')", 7],
    ['int(1e300)', 1e300],
    ["double('.5')", 0.5],
    ["double('.25')", 0.25],
    ["double('12.5')", 12.5],
    ['double(1.5)', 1.5],
    ['round(1.5, 15)', 1.5],
    ["double('-1.5E-3')", -0.0015],
    // conversions
    ['string(null)', 'null'],
    ["string({'b': 'x', 'a': 1})", '{"a":1,"b":"x"}'],
    ['fromJson(\'"a"\')', 'a'],
    ["fromJson(' [1] ')", [1]],
    ["toEpochMs('1970-01-01T00:00:00Z')", 0],
    ["toEpochMs('1969-12-31T23:59:59.5Z')", -500],
    ["toEpochMs('2024-02-29T00:00Z')", 1709164800000],
    ['fromEpochMs(-1)', '1969-12-31T23:59:59.999Z'],
  ])('%s → %j', (cel, value) => {
    expect(evaluate(cel)).toEqual(value)
  })

  it.each<[string, string]>([
    ["replace('a', '', 'b')", 'replace() cannot look for an empty string'],
    ['join(1)', 'join() needs a list here, not a number'],
    ["floor('1')", 'floor() needs a number here, not a string'],
    ['range(1.5)', 'range() needs a whole number here, not one with a fraction'],
    ["range('1')", 'range() needs a whole number here, not a string'],
    ['zip([1], [1], [1, 2])', 'zip() needs lists of the same length, not of 1 and 2 items'],
    ['sum([1, null])', 'sum() adds numbers, and one item is null'],
    ['sum([9007199254740991, 1])', 'the whole number is too large to be exact'],
    ['sum([1e308, 1e308])', 'the number is too large'],
    ['min([])', 'min() needs at least one item'],
    ["sort([1, 'a'])", 'sort() compares numbers or strings, not the one with the other'],
    ['sort([null])', 'sort() compares numbers or strings, and here is null'],
    ['[2, 1].sortBy(x, [x])', 'sortBy() compares numbers or strings, and here is a list'],
    ['max([true, false])', 'max() compares numbers or strings, and here is a boolean'],
    ['chunks([1], 0)', 'chunks() needs a size of at least 1'],
    ['zip([1], [1, 2])', 'zip() needs lists of the same length, not of 1 and 2 items'],
    ["fromEntries([['a']])", 'fromEntries() needs pairs like [key, value], with a string as the key'],
    ['fromEntries([[1, 2]])', 'fromEntries() needs pairs like [key, value], with a string as the key'],
    ["pick({}, ['a', 1])", 'pick() needs a list of strings here, and one item is none'],
    ['keys([])', 'keys() needs an object here, not a list'],
    ['merge({}, null)', 'merge() needs an object here, not null'],
    ['round(1.5, 16)', 'round() rounds to 0 to 15 digits'],
    ['round(1.5, -1)', 'round() rounds to 0 to 15 digits'],
    ["int('1.5')", 'int() cannot read this string as a whole number'],
    ["int('')", 'int() cannot read this string as a whole number'],
    ["int('0x10')", 'int() cannot read this string as a whole number'],
    ["int('9007199254740993')", 'the whole number is too large to be exact'],
    ['int(null)', 'int() needs a number or a string here, not null'],
    ["double('1,5')", 'double() cannot read this string as a number'],
    ["double('Infinity')", 'double() cannot read this string as a number'],
    ["double('NaN')", 'double() cannot read this string as a number'],
    ["double('1e999')", 'the number is too large'],
    ["fromJson('{')", 'fromJson() cannot read this string as JSON'],
    ["fromJson('1e999')", 'this gives a number that is too large for JSON'],
    ["toEpochMs('2024-01-01')", 'toEpochMs() cannot read this string as a time'],
    ["toEpochMs('2024-01-01T00:00:00')", 'toEpochMs() cannot read this string as a time'],
    ["toEpochMs('2023-02-29T00:00:00Z')", 'toEpochMs() cannot read this string as a time'],
    ["toEpochMs('2024-13-01T00:00:00Z')", 'toEpochMs() cannot read this string as a time'],
    ["toEpochMs('2024-01-01T25:00:00Z')", 'toEpochMs() cannot read this string as a time'],
    ['fromEpochMs(1e300)', 'fromEpochMs() needs milliseconds since 1970, and this is out of range'],
    ["indexOf('abc', 1)", 'indexOf() looks for a string in a string, not for a number'],
    ['indexOf({}, 1)', 'indexOf() needs a string or a list here, not an object'],
  ])('%s is refused', (cel, expected) => {
    expect(refusal(() => evaluate(cel)).problem).toBe(expected)
  })
})

describe('the search for long strings', () => {
  const long = 'a'.repeat(200)

  it.each([
    ['what differs in its first character alone', `b${long}`, `c${long}`],
    ['what has another character before its end', `b${long}`, `b${long.slice(1)}c${long}b${long}`],
    ['what has one of its characters too often', `bc${long}`, `bbbcccc${long}`],
    ['what begins again within itself', `aab${long}`, `aaab${long}`],
    ['what begins again just before its end', `${long}b`, `${long}${long}b`],
  ])('does not take for it %s', (_, wanted, whole) => {
    expect(indexOfText(whole, wanted)).toBe(whole.indexOf(wanted))
    expect(cutAt(whole, wanted, () => undefined)).toEqual(whole.split(wanted))
  })

  const letters = fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 30 })
  const text = fc.array(letters, { maxLength: 12 }).map((parts) => parts.join('').repeat(20))
  const part = fc.tuple(letters, letters).map(([a, b]) => (a + b || 'a').repeat(30))

  it('finds what indexOf() and split() find', () => {
    fc.assert(
      fc.property(text, part, (around, wanted) => {
        fc.pre(wanted.length > 200)
        for (const whole of [around, around + wanted, wanted + around + wanted + wanted.slice(1)]) {
          expect(indexOfText(whole, wanted)).toBe(whole.indexOf(wanted))
          let found = 0
          expect(cutAt(whole, wanted, () => found++)).toEqual(whole.split(wanted))
          expect(found).toBe(whole.split(wanted).length - 1)
        }
      }),
    )
  })
})
