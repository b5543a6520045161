import { describe, expect, it } from 'vitest'
import type { Json } from '../../src/job/json.js'
import { limits } from '../../src/limits.js'
import { compileExpression, ExpressionError, type Scope } from '../../src/workflow/expression.js'
import { compileTemplate } from '../../src/workflow/template.js'
import { refusal } from './refusal.js'

const numbers = Array.from({ length: 100_000 }, (_, i) => i)
const scope: Scope = {
  vars: {
    numbers,
    some: numbers.slice(0, 3_000),
    texts: numbers.map((n) => `name-${n}`),
    files: numbers.slice(0, 20_000).map((n) => ({ id: n, name: `n${n}`, tags: ['a', 'b'] })),
    object: Object.fromEntries(numbers.slice(0, 50_000).map((n) => [`k${n}`, n])),
    long: 'a'.repeat(1_000_000),
    emoji: '😀'.repeat(300_000),
  },
}

/** x, nested so that each level goes ten times through the next. */
const nested = (levels: number) => {
  let cel = 'range(10)'
  for (let i = 0; i < levels; i++) cel = `range(10).map(x${i}, ${cel})`
  return cel
}

/** A list that holds a list twice, which holds a list twice, …: few lists, and exponentially much text. */
const shared = (levels: number) => {
  let cel = '[1]'
  for (let i = 0; i < levels; i++) cel = `[${cel}].map(x${i}, [x${i}, x${i}])[0]`
  return cel
}

const needle = 'substring(vars.long, 0, 50000) + "b" + substring(vars.long, 0, 50000)'

/** Each many times over, as far as it is let. */
const worst: readonly (readonly [string, string])[] = [
  ['loops in loops', nested(12)],
  ['a list of lists of lists', shared(22)],
  ['its comparison', `${shared(20)} == ${shared(20)}`],
  ['its text', `size(toJson(${shared(22)}))`],
  ['a condition that never holds', 'vars.numbers.exists(x, vars.numbers.exists(y, false))'],
  ['lists looked up in a list', 'vars.some.filter(x, [x] in vars.numbers)'],
  ['objects', "vars.numbers.map(x, vars.some.map(y, {'a': x, 'b': y}))"],
  ['a large result, by reference', 'vars.some.map(x, vars.files)'],
  ['default()', 'vars.numbers.map(x, vars.some.map(y, default(vars.a.b.c, x)))'],
  ...[
    'range(100000)',
    'vars.numbers + vars.numbers',
    'vars.long + string(x)',
    'join(vars.texts, ",")',
    'join(vars.numbers, vars.long)',
    "replace(vars.long, 'a', 'bb')",
    "replace(vars.long, 'a', vars.long)",
    "split(vars.long, '')",
    "split(vars.long, 'a')",
    'lines(vars.long)',
    'lower(vars.emoji)',
    'upper(vars.long)',
    'trim(vars.long)',
    'size(vars.emoji)',
    'substring(vars.emoji, 5, 10)',
    "padStart('', 1000000, '😀')",
    'sort(vars.texts)',
    'sort(vars.numbers)',
    'vars.texts.sortBy(t, t)',
    'max(vars.texts)',
    'sum(vars.numbers)',
    'unique(vars.files)',
    'keys(vars.object)',
    'merge(vars.object, vars.object)',
    'pick(vars.object, keys(vars.object))',
    'omit(vars.object, vars.texts)',
    'fromEntries(entries(vars.object))',
    'toJson(vars.files)',
    'fromJson(toJson(vars.files))',
    'zip(vars.numbers, vars.numbers, vars.numbers)',
    'chunks(vars.numbers, 1)',
    'flatten(chunks(vars.numbers, 1))',
    'reverse(vars.numbers)',
    'slice(vars.numbers, 1)',
    'round(x + 0.12345, 3)',
    "double('1.23456789e-7')",
    'fromEpochMs(toEpochMs("2024-01-01T00:00:00Z") + x)',
    `contains(vars.long, ${needle})`,
    `indexOf(vars.long, ${needle})`,
    `split(vars.long, ${needle})`,
    `replace(vars.long, ${needle}, '')`,
    'vars.long + "a" < vars.long + "b"',
    'vars.long + "" == vars.long',
    "matches(vars.long, '(a+)+b$')",
    "matches(vars.long, '^(a|aa)+$')",
    "matches(vars.long, '(a?){200}(a){200}b')",
    "matches('a', '((((a{30}){3}){3}){3}|' + string(x) + ')')",
  ].map((cel) => [cel, `vars.numbers.map(x, ${cel})`] as const),
  ['one huge range', 'range(9007199254740991)'],
  ['one huge padding', "padEnd('', 9007199254740991, 'ab')"],
  [
    'growing text',
    "replace(replace(replace(vars.long, 'a', 'bbbbbbbbbbbbbbbbbbbb'), 'b', 'cccccccccccc'), 'c', 'dddd')",
  ],
]

const msMax = 250

describe('no expression stalls its process', () => {
  it.each(worst)('%s', (_, cel) => {
    const expression = compileExpression(`{{ ${cel} }}`, ['vars'])
    const durations: number[] = []
    // Of the processor, not of the clock: the machine may be busy with other things.
    while (durations.length < 4 && Math.min(...durations) > msMax) {
      const before = process.cpuUsage()
      expect(() => expression.evaluate(scope)).toThrow(ExpressionError)
      const { user, system } = process.cpuUsage(before)
      durations.push((user + system) / 1_000)
    }
    expect(Math.min(...durations)).toBeLessThan(msMax)
  })

  it('nor do all expressions of a template together', () => {
    const one = '{{ vars.numbers.map(x, x + 1) }}'
    expect(() => compileTemplate([one], ['vars']).evaluate(scope)).not.toThrow()
    const template = compileTemplate(
      Array.from({ length: 100 }, () => one),
      ['vars'],
    )
    expect(() => template.evaluate(scope)).toThrow('this takes more than 2,000,000 steps')
  })

  it('and the error says what to do', () => {
    const cel = 'vars.numbers.map(x, vars.numbers.map(y, y))'
    const error = refusal(() => compileExpression(`{{ ${cel} }}`, ['vars']).evaluate(scope))
    expect(error.problem).toBe(`this takes more than ${limits.expressionStepsMax.toLocaleString('en-US')} steps`)
    expect(error.hint).toBe('Use fewer loops inside loops, or shorter lists; larger work belongs into a task.')
    expect(error.source.slice(error.offset, error.offset + error.length)).toBe('vars.numbers.map(y, y)')
  })
})

describe('what people do is not in the way of the limit', () => {
  it.each<[string, (value: Json) => boolean]>([
    ['vars.numbers', (value) => value === numbers],
    ['vars.numbers.map(x, x + 1)', (value) => (value as Json[]).length === 100_000],
    ["vars.numbers.map(x, {'id': x})", (value) => (value as Json[]).length === 100_000],
    ["vars.texts.filter(t, t.startsWith('name-1')).size()", (value) => value === 11_111],
    ['chunks(vars.numbers, 100)', (value) => (value as Json[]).length === 1_000],
    ['vars.files', (value) => (value as Json[]).length === 20_000],
    ['vars.files.map(f, f.name).unique().size()', (value) => value === 20_000],
    ['slice(vars.some, 0, 500).map(x, slice(vars.some, 0, 500).filter(y, y == x)).size()', (value) => value === 500],
    ['sort(vars.texts).first()', (value) => value === 'name-0'],
  ])('%s', (cel, holds) => {
    expect(holds(compileExpression(`{{ ${cel} }}`, ['vars']).evaluate(scope))).toBe(true)
  })
})

describe('compiled expressions are kept', () => {
  it('so that the input of 10,000 items takes microseconds each', () => {
    const input = {
      region: '{{ item.region }}',
      n: '{{ index }}',
      name: 'deploy-{{ vars.version }}-{{ item.region }}',
      tags: ['{{ upper(item.region) }}', 'fixed'],
      more: '{{ item.tags.filter(t, t != "x").map(t, {"tag": t}) }}',
    }
    const perItemUs = () => {
      const before = process.cpuUsage()
      for (let index = 0; index < 10_000; index++) {
        const item = { region: `r${index}`, tags: ['a', 'x', 'b'] }
        compileTemplate(input, ['vars', 'item', 'index']).evaluate({ vars: { version: '1' }, item, index })
      }
      const { user, system } = process.cpuUsage(before)
      return (user + system) / 10_000
    }
    // 12 µs on a quiet machine; 100 µs is what compiling alone would take.
    expect(Math.min(perItemUs(), perItemUs(), perItemUs())).toBeLessThan(60)
  })

  it('for the names that they were compiled with', () => {
    expect(compileExpression('{{ vars }}', ['vars']).evaluate({ vars: 1 })).toBe(1)
    expect(() => compileExpression('{{ vars }}', ['parameters'])).toThrow(ExpressionError)
    expect(compileTemplate('{{ vars }}', ['vars']).evaluate({ vars: 1 })).toBe(1)
    expect(() => compileTemplate('{{ vars }}', ['parameters'])).toThrow(ExpressionError)
  })
})
