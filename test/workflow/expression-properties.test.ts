import { Environment } from '@marcbachmann/cel-js'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Json, jsonText } from '../../src/job/json.js'
import { compileExpression, ExpressionError, type Scope, type ScopeName } from '../../src/workflow/expression.js'
import { forms } from '../../src/workflow/expression/forms.js'
import { functionsByName } from '../../src/workflow/functions.js'
import { compileTemplate } from '../../src/workflow/template.js'

const names: readonly ScopeName[] = [
  'parameters',
  'vars',
  'tasks',
  'item',
  'index',
  'run',
  'error',
  'attempt',
  'ending',
]
const bytesMax = 512 * 1_048_576

/** Keys that expressions ask for, so that some are there; and some that must not mean anything. */
const key = fc.oneof(
  fc.constantFrom('a', 'b', 'name', '__proto__', 'constructor', 'length', 'toString', '0'),
  fc.string({ maxLength: 3 }),
)
const json = fc.letrec<{ json: Json }>((tie) => ({
  json: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom<Json>(null, true, false, '', 0, -0, 1, 2.5, -3, 1e300, Number.MAX_SAFE_INTEGER),
    fc.double({ noNaN: true }),
    fc.string({ unit: 'binary', maxLength: 8 }),
    fc.constantFrom('12', '1.5', '2026-01-31T09:00:00Z', '[1]', 'a,b', '😀', '(a+)+$'),
    fc.array(tie('json'), { maxLength: 4 }),
    fc.array(fc.tuple(key, tie('json')), { maxLength: 4 }).map((entries): Json => {
      const made = {}
      for (const [name, value] of entries) {
        Object.defineProperty(made, name, { value, enumerable: true, writable: true, configurable: true })
      }
      return made
    }),
  ),
})).json

const scope: fc.Arbitrary<Scope> = fc.record({
  parameters: json,
  vars: json,
  tasks: json,
  item: json,
  index: fc.nat(5),
  run: json,
  error: json,
  attempt: fc.nat(5),
  status: fc.constantFrom('succeeded' as const, 'failed' as const, 'timed_out' as const, 'cancelled' as const),
  result: json,
})

const loops = [...forms.keys()].filter((name) => name !== 'has' && name !== 'default')

/** Expressions that are well formed, whether they make sense or not. */
const expression = fc.letrec<{ cel: string }>((tie) => {
  const cel = tie('cel')
  const args = (count: number) => fc.array(cel, { minLength: count, maxLength: count })
  return {
    cel: fc.oneof(
      { depthSize: 'medium', withCrossShrink: true },
      fc.constantFrom('parameters', 'vars', 'tasks', 'item', 'index', 'error', 'result()', 'failed()', 'x', 'y'),
      fc.constantFrom(
        '0',
        '1',
        '-1',
        '2.5',
        '1e308',
        '9007199254740991',
        'true',
        'false',
        'null',
        "'a'",
        "''",
        "'a,b'",
      ),
      fc
        .tuple(cel, fc.constantFrom('.a', '.name', '.__proto__', '.constructor', '[0]', "['b']"))
        .map((both) => both.join('')),
      fc.tuple(cel, cel).map(([container, index]) => `${container}[${index}]`),
      fc
        .tuple(cel, fc.constantFrom('+', '-', '*', '/', '%', '==', '!=', '<', '>=', 'in', '&&', '||'), cel)
        .map(([left, operator, right]) => `(${left} ${operator} ${right})`),
      fc.tuple(fc.constantFrom('!', '-'), cel).map(([sign, value]) => `${sign}(${value})`),
      args(3).map(([condition, yes, no]) => `(${condition} ? ${yes} : ${no})`),
      fc.array(cel, { maxLength: 3 }).map((items) => `[${items.join()}]`),
      fc
        .array(fc.tuple(fc.constantFrom('a', 'b', '__proto__'), cel), { maxLength: 2 })
        .map((entries) => `{${entries.map(([name, value]) => `'${name}': ${value}`).join()}}`),
      fc.constantFrom(...functionsByName.values()).chain(({ name, argumentsMin, argumentsMax }) =>
        fc
          .integer({ min: argumentsMin, max: Math.min(3, argumentsMax) })
          .chain(args)
          .map((values) => `${name}(${values.join()})`),
      ),
      fc
        .tuple(cel, fc.constantFrom(...loops), fc.constantFrom('x', 'y'), cel)
        .map(([list, loop, variable, body]) => `${list}.${loop}(${variable}, ${body})`),
      fc.tuple(cel, cel).map(([value, other]) => `default(${value}, ${other})`),
      fc.tuple(cel).map(([value]) => `has(${value}.a)`),
    ),
  }
}).cel

/** The value, or undefined if it was refused as it should be. Anything else that is thrown fails the test. */
function outcome(work: () => Json): Json | undefined {
  try {
    return work()
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error
    if (error.cause !== undefined) throw error // something else has thrown inside
    const { source, offset, length, text } = error
    expect(offset).toBeGreaterThanOrEqual(0)
    expect(length).toBeGreaterThan(0)
    expect(offset).toBeLessThanOrEqual(source.length)
    expect(text).toMatch(/\n {2} *\^+$/)
    return undefined
  }
}

describe('whatever the expression and whatever the values', () => {
  it('it ends with JSON that can be stored, or with an ExpressionError that points at a place', () => {
    let values = 0
    fc.assert(
      fc.property(expression, scope, (cel, given) => {
        // x and y are variables of some loops; here they are given to all.
        const text = `{{ [vars].map(x, [parameters].map(y, ${cel}))[0][0] }}`
        const value = outcome(() => compileExpression(text, names).evaluate(given))
        if (value === undefined) return
        values++
        expect(JSON.parse(jsonText(value, 'it', bytesMax))).toEqual(JSON.parse(JSON.stringify(value)))
        // It depends on nothing else.
        expect(compileExpression(text, names).evaluate(given)).toEqual(value)
      }),
      { numRuns: 2_000 },
    )
    expect(values).toBeGreaterThan(200)
  })

  it('a template gives JSON that can be stored, or an ExpressionError', () => {
    let values = 0
    const part = fc.oneof(
      fc.constantFrom('', 'text', ' }} ', '😀', '{'),
      expression.map((cel) => `{{ ${cel} }}`),
    )
    const template = fc.array(part, { maxLength: 3 }).map((parts) => ({ a: [parts.join('')] }))
    fc.assert(
      fc.property(template, scope, (source, given) => {
        const value = outcome(() => compileTemplate(source, names).evaluate(given))
        if (value === undefined) return
        values++
        jsonText(value, 'it', bytesMax)
      }),
      { numRuns: 500 },
    )
    expect(values).toBeGreaterThan(50)
  })

  it('text that is no expression is refused with an ExpressionError, or is one', () => {
    const letters = fc.constantFrom(
      ...Array.from(`{}'"\\()[].,:?!|&=<>+-*/% \n\r\t0189exubr_vars"""'''//😀é\u0000`),
      'vars',
      '{{',
      '}}',
      'size(',
      '.map(x,',
    )
    const soup = fc.oneof(fc.string({ unit: letters, maxLength: 30 }), fc.string({ unit: 'binary', maxLength: 20 }))
    fc.assert(
      fc.property(soup, scope, (text, given) => {
        outcome(() => compileTemplate(`{{${text}}}`, names).evaluate(given))
        outcome(() => compileTemplate(text, names).evaluate(given))
      }),
      { numRuns: 2_000 },
    )
  })

  it('messages do not say what is in the values', () => {
    const canary = 'Xcanary7'
    const values: Scope = {
      parameters: { a: canary, b: [canary], name: { a: canary } },
      vars: { a: [canary, 1], b: null, name: canary },
      tasks: { a: { a: canary } },
      item: canary,
      index: 1,
      run: canary,
      error: { a: canary },
      attempt: 1,
      status: 'failed',
      result: [canary],
    }
    // What was made a key is named as one.
    const plain = expression.filter((cel) => !cel.includes('fromEntries'))
    fc.assert(
      fc.property(plain, (cel) => {
        try {
          compileExpression(`{{ [vars].map(x, [parameters].map(y, ${cel})) }}`, names).evaluate(values)
        } catch (error) {
          const { message, hint, text } = error as ExpressionError
          expect(`${message} ${hint} ${text}`).not.toContain(canary)
        }
      }),
      { numRuns: 2_000 },
    )
  })
})

describe('where CEL and JSON mean the same', () => {
  // The library’s own evaluation is the judge: doubles, strings, booleans and lists of one type.
  const reference = new Environment({ unlistedVariablesAreDyn: true, homogeneousAggregateLiterals: false })
  const cases = fc.letrec<{ number: string; text: string; bool: string; list: string }>((tie) => {
    const { number, text, bool, list } = {
      number: tie('number'),
      text: tie('text'),
      bool: tie('bool'),
      list: tie('list'),
    }
    const infix = (of: fc.Arbitrary<string>, ...operators: string[]) =>
      fc.tuple(of, fc.constantFrom(...operators), of).map((parts) => parts.join(' '))
    const around = (of: fc.Arbitrary<string>) => of.map((cel) => `(${cel})`)
    const choice = (of: fc.Arbitrary<string>) => fc.tuple(bool, of, of).map(([c, a, b]) => `(${c} ? ${a} : ${b})`)
    return {
      number: fc.oneof(
        { depthSize: 'small' },
        fc.constantFrom('0.0', '1.0', '2.5', '-3.0', '1e3', 'vars.n', 'vars.list[1]'),
        infix(number, '+', '-', '*'),
        around(number),
        choice(number),
        number.map((cel) => `-(${cel})`),
        text.map((cel) => `double(size(${cel}))`),
        list.map((cel) => `double(size(${cel}))`),
      ),
      text: fc.oneof(
        { depthSize: 'small' },
        fc.constantFrom("'a'", '"b\\n"', "r'\\d'", "'''😀'''", 'vars.s', 'vars.o.k', "vars.o['k']"),
        infix(text, '+'),
        choice(text),
      ),
      bool: fc.oneof(
        { depthSize: 'small' },
        fc.constantFrom('true', 'false', 'vars.b', 'has(vars.o.k)', 'has(vars.o.z)', "'k' in vars.o"),
        infix(number, '<', '<=', '>', '>=', '==', '!='),
        infix(text, '<', '<=', '>', '>=', '==', '!='),
        infix(bool, '&&', '||', '=='),
        infix(list, '==', '!='),
        around(bool),
        bool.map((cel) => `!(${cel})`),
        fc.tuple(number, list).map(([item, of]) => `(${item}) in ${of}`),
        fc.tuple(list, fc.constantFrom('all', 'exists', 'exists_one')).map(([of, name]) => `${of}.${name}(x, x > 1.0)`),
        fc
          .tuple(text, fc.constantFrom('startsWith', 'endsWith', 'contains'), text)
          .map(([a, f, b]) => `(${a}).${f}(${b})`),
      ),
      list: fc.oneof(
        { depthSize: 'small' },
        fc.constantFrom('vars.list', '[1.0, 2.5]'),
        fc.tuple(number, number).map(([a, b]) => `[${a}, ${b}]`),
        infix(list, '+').map((cel) => `(${cel})`),
        list.map((cel) => `${cel}.map(x, x * 2.0)`),
        list.map((cel) => `${cel}.filter(x, x != 2.5)`),
      ),
    }
  })
  const given = { n: 7, s: 'text', b: true, o: { k: 'v' }, list: [1, 2, 3] }

  it.each(['number', 'text', 'bool', 'list'] as const)('a %s is the same as the library gives', (kind) => {
    let compared = 0
    fc.assert(
      fc.property(cases[kind], (cel) => {
        let expected: unknown
        try {
          expected = plain(reference.evaluate(cel, { vars: given }))
        } catch {
          return // the types that it infers are too narrow for it at times
        }
        compared++
        expect(compileExpression(`{{ ${cel} }}`, ['vars']).evaluate({ vars: given })).toEqual(expected)
      }),
      { numRuns: 500 },
    )
    expect(compared).toBeGreaterThan(250)
  })

  function plain(value: unknown): unknown {
    if (typeof value === 'bigint') return Number(value)
    if (typeof value === 'number') return value + 0
    return Array.isArray(value) ? value.map(plain) : value
  }
})
