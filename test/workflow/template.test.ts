import { describe, expect, it } from 'vitest'
import type { Json } from '../../src/job/json.js'
import { limits } from '../../src/limits.js'
import type { Scope, ScopeName } from '../../src/workflow/expression.js'
import { compileTemplate } from '../../src/workflow/template.js'
import { refusal } from './refusal.js'

const names: readonly ScopeName[] = ['parameters', 'vars', 'tasks', 'item', 'index', 'ending']
const scope: Scope = {
  parameters: { version: '1.4.0', list: [1, 'a'], object: { b: 1, a: { c: null } }, no: null },
  vars: { text: 'x {{ y }}' },
  index: 3,
  status: 'succeeded',
  result: null,
}

const evaluate = (value: Json, given = scope) => compileTemplate(value, names).evaluate(given)

describe('a template', () => {
  it.each<[string, Json, Json]>([
    ['a string that is one expression keeps its type', '{{ parameters.list }}', [1, 'a']],
    ['… without spaces', '{{index}}', 3],
    ['… also null', '{{ parameters.no }}', null],
    ['text around it makes it text', ' {{ index }}', ' 3'],
    ['strings are rendered as they are', 'v{{ parameters.version }}-{{ index }}', 'v1.4.0-3'],
    ['anything else is rendered as JSON', '{{ parameters.list }};{{ parameters.no }};{{ true }}', '[1,"a"];null;true'],
    ['objects are rendered with their keys in order', '={{ parameters.object }}', '={"a":{"c":null},"b":1}'],
    [
      'numbers are rendered as JSON writes them',
      '{{ 1.50 }} {{ 1e21 }} {{ 0.1 + 0.2 }} {{ 1e-7 }}',
      '1.5 1e+21 0.30000000000000004 1e-7',
    ],
    ['what is rendered is not read again', '{{ vars.text }}!', 'x {{ y }}!'],
    ['text without expressions stays as it is', 'a { b } }} c', 'a { b } }} c'],
    ['other JSON stays as it is', [1, null, true, { a: [] }], [1, null, true, { a: [] }]],
    [
      'expressions in lists and objects are filled in',
      { a: ['{{ index }}', 1], b: { c: 'n{{ index }}' } },
      { a: [3, 1], b: { c: 'n3' } },
    ],
    ['keys are not templates', { '{{ index }}': '{{ index }}' }, { '{{ index }}': 3 }],
    ['a map ends where it ends', "{{ {'a': {'b': 1}} }}", { a: { b: 1 } }],
    ['… also right before the end of the expression', "{{{'a': {'b': {}}}}}", { a: { b: {} } }],
    ['}} in a string does not end the expression', '{{ \'}}\' + "}}" }}', '}}}}'],
    ['… nor after an escaped quote', "{{ 'it\\'s }} ' }}", "it's }} "],
    ['… nor in three quotes', "{{ '''a'}} ''b''' }}", "a'}} ''b"],
    ['… nor in a raw string', "{{ r'\\' }}' }}", "\\' }}"],
    ['{{ in a string is text', "{{ '{{' }}", '{{'],
    ['{{ can be written', "{{ '{{' }} x }}", '{{ x }}'],
    ['{{ in an expression opens two maps', "{{ {'a': {'b': {}}}['a'] }}", { b: {} }],
    ['a quote in a comment opens no string', "{{ 1 // it's one\n }}", 1],
    ['a comment ends with the expression', "{{ 1 // it's }}", 1],
    ['// in a string begins no comment', "{{ 'http://x' }}!", 'http://x!'],
    ['one expression after the other', '{{ 1 }}{{ 2 }}', '12'],
    ['emoji around and inside', '😀{{ "👍" + "é" }}😀', '😀👍é😀'],
    ['lines that end with CRLF', 'a\r\n{{ index\r\n }}\r\nb', 'a\r\n3\r\nb'],
    ['an empty string', '', ''],
  ])('%s', (_, template, value) => {
    expect(evaluate(template)).toEqual(value)
  })

  it('is given back as it is if there is nothing to fill in', () => {
    const plain = { a: [1, { b: 'c' }] }
    expect(evaluate(plain)).toBe(plain)
    expect((evaluate({ plain, n: '{{ index }}' }) as { plain: Json }).plain).toBe(plain)
  })

  it('takes a key named __proto__ for a key', () => {
    const made = evaluate(JSON.parse('{"__proto__": {"x": "{{ index }}"}}') as Json) as object
    expect(JSON.stringify(made)).toBe('{"__proto__":{"x":3}}')
    expect(Object.getPrototypeOf(made)).toBe(Object.prototype)
  })

  it('tells what it reads, of all its strings', () => {
    const template = compileTemplate(['{{ tasks.a }}', { x: "and {{ tasks['b'] }} {{ tasks.a }}" }], names)
    expect(template).toMatchObject({ taskNames: ['a', 'b'], usesAllTasks: false, usesResult: false })
    expect(compileTemplate(['{{ size(tasks) }}', '{{ result() }}'], names)).toMatchObject({
      taskNames: [],
      usesAllTasks: true,
      usesResult: true,
    })
    expect(compileTemplate('none', names)).toMatchObject({ taskNames: [], usesAllTasks: false, usesResult: false })
  })
})

describe('an error in a template', () => {
  it.each<[string, Json, string, (string | number)[], string, string]>([
    ['{{ that is not closed', 'abc {{ index', '{{ is not closed', [], 'abc {{ index', '{{'],
    ['a map that is not closed', "{{ {'a': 1 }}", '{{ is not closed', [], "{{ {'a': 1 }}", '{{'],
    ['a string that is not closed', "{{ 'abc }}", "the string that begins with ' is not closed", [], "{{ 'abc }}", "'"],
    ['… on its line', "{{ 'abc\n' }}", "the string that begins with ' is not closed", [], "{{ 'abc\n' }}", "'"],
    [
      'three quotes that are not closed',
      '{{ """abc" }}',
      'the string that begins with """ is not closed',
      [],
      '{{ """abc" }}',
      '"""',
    ],
    [
      'a name in the second expression',
      ['ok', { a: '😀 {{ index }}\r\n{{ imdex }}' }],
      'imdex is not known',
      [1, 'a'],
      '😀 {{ index }}\r\n{{ imdex }}',
      'imdex',
    ],
    ['nothing', { a: '{{}}' }, 'there is no expression between {{ and }}', ['a'], '{{}}', '{{}}'],
  ])('is found when it is compiled: %s', (_, template, problem, path, source, place) => {
    const error = refusal(() => compileTemplate(template, names))
    expect(error).toMatchObject({ problem, path, source })
    expect(source.slice(error.offset, error.offset + error.length)).toBe(place)
  })

  it('at run time has the way to its string, too', () => {
    const template = compileTemplate({ a: ['x', 'n: {{ parameters.nothing }}'] }, names)
    const error = refusal(() => template.evaluate(scope))
    expect(error.path).toEqual(['a', 1])
    expect(error.text).toBe('parameters has no nothing\n  n: {{ parameters.nothing }}\n                   ^^^^^^^')
    expect(error.hint).toBe('It has list, no, object, version.')
  })

  it('has its own way each time, also if two strings are the same', () => {
    const template = { a: '{{ vars.x }}', b: '{{ vars.x }}' }
    const vars: Json = Object.defineProperty({ x: 1 }, 'y', { value: 0 })
    expect(refusal(() => compileTemplate(template, names).evaluate({ vars: {} })).path).toEqual(['a'])
    expect(refusal(() => compileTemplate([template.b], names).evaluate({ vars: {} })).path).toEqual([0])
    expect(compileTemplate(template, names).evaluate({ vars })).toEqual({ a: 1, b: 1 })
  })

  it('is that a value would stand too deep in it', () => {
    let deep: Json = 'x'
    for (let i = 0; i < limits.payloadDepthMax - 1; i++) deep = [deep]
    expect(() => evaluate(['{{ vars }}'], { vars: deep })).not.toThrow()
    expect(refusal(() => evaluate([['{{ vars }}']], { vars: deep })).problem).toBe(
      'this is nested deeper than 100 levels',
    )
  })

  it('is that it is nested too deeply itself', () => {
    let deep: Json = '{{ index }}'
    for (let i = 0; i < 50_000; i++) deep = [deep]
    expect(refusal(() => compileTemplate(deep, names)).problem).toBe('this is nested deeper than 100 levels')
  })
})
