import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { stringify } from 'yaml'
import { limits } from '../../src/limits.js'
import type { Path } from '../../src/workflow/problem.js'
import { readYaml } from '../../src/workflow/yaml-file.js'

function read(text: string) {
  const { content, problems } = readYaml(text)
  return { data: content?.data, places: content?.places, problems }
}

function messages(text: string): string[] {
  return read(text).problems.map(({ line, column, message }) => `${line}:${column} ${message}`)
}

describe('the data of a YAML file', () => {
  it.each<[string, string, unknown]>([
    ['plain values', 'a: 1\nb: [x, 2.5, true, null, ~]\nc:', { a: 1, b: ['x', 2.5, true, null, null], c: null }],
    ['words that are no booleans since YAML 1.2', 'a: yes\nb: off', { a: 'yes', b: 'off' }],
    ['times as text', 'at: 2030-01-31T18:00:00Z', { at: '2030-01-31T18:00:00Z' }],
    ['keys that look like numbers as text', '1: a\ntrue: b', { '1': 'a', true: 'b' }],
    ['a value used twice', 'a: &x { n: 1 }\nb: *x', { a: { n: 1 }, b: { n: 1 } }],
    ['an anchor that was set again', 'a: &x 1\nb: &x 2\nc: *x', { a: 1, b: 2, c: 2 }],
    [
      'an anchor inside of one that is used',
      'a: &o { i: &x 1 }\nb: &x 2\nc: *o\nd: *x',
      {
        a: { i: 1 },
        b: 2,
        c: { i: 1 },
        d: 2,
      },
    ],
    [
      'a merge, in which what is written wins',
      'a: &x { n: 1, m: 1 }\nb: { <<: *x, n: 2 }',
      {
        a: { n: 1, m: 1 },
        b: { n: 2, m: 1 },
      },
    ],
    [
      'a merge of several, in which the first wins',
      'a: &x { n: 1 }\nb: &y { n: 2, m: 2 }\nc: { <<: [*x, *y] }',
      {
        a: { n: 1 },
        b: { n: 2, m: 2 },
        c: { n: 1, m: 2 },
      },
    ],
    ['an expression without its quotes as the text that was meant', 'when: {{ a.b == 1 }}', { when: '{{ a.b == 1 }}' }],
  ])('%s', (_, text, expected) => {
    expect(read(text).data).toEqual(expected)
  })

  it('has a key named __proto__ as a member like any other', () => {
    const { data } = read('__proto__: { a: 1 }')
    expect(Object.keys(data as object)).toEqual(['__proto__'])
    expect(Object.getPrototypeOf(data)).toBe(Object.prototype)
  })
})

describe('what no JSON can hold', () => {
  it.each<[string, string[]]>([
    ['a: .nan\nb: 1', ['1:4 .nan is no number that JSON knows']],
    ['a: 9007199254740993', ['1:4 9007199254740993 is too large to be kept exactly']],
    ['a: 9007199254740991', []],
    ['a: 1e300', ['1:4 1e300 is too large to be kept exactly']],
    ['a: "x\\0"', ['1:4 the text contains U+0000 or a lone surrogate']],
    ['a: "\\ud800"', ['1:4 the text contains U+0000 or a lone surrogate']],
    ['a: &x [*x]', ['1:8 the alias *x stands inside its own anchor']],
    ['? [a, b]\n: c', ['1:3 a key must be text']],
  ])('%j is noted and the rest is read', (text, expected) => {
    const { data } = read(text)
    expect(messages(text)).toEqual(expected)
    expect(data).toBeTypeOf('object')
  })
})

describe('a file that is too much', () => {
  it('is refused by its size, before it is parsed', () => {
    const text = `a: ${'x'.repeat(limits.definitionBytesMax)}`
    expect(messages(text)).toEqual([`1:1 the file has ${text.length} bytes, the limit is ${limits.definitionBytesMax}`])
  })

  it('is refused by what its aliases would make of it', () => {
    const levels = Array.from({ length: 30 }, (_, i) => `a${i + 1}: &a${i + 1} [*a${i}, *a${i}, *a${i}]`)
    expect(messages(`a0: &a0 x\n${levels.join('\n')}`)).toEqual([
      expect.stringContaining(`the aliases up to here stand for more than ${limits.definitionAliasedMax} values`),
    ])
  })

  it.each([limits.payloadDepthMax + 1, 3_000])('is refused if it is nested %i levels deep', (depth) => {
    expect(messages(`a: ${'['.repeat(depth)}${']'.repeat(depth)}`)).toEqual([
      expect.stringMatching(/nested too deeply/),
    ])
    expect(messages(`a: ${'['.repeat(50)}${']'.repeat(50)}`)).toEqual([])
  })
})

describe('the places of a YAML file', () => {
  const text = [
    'name: release',
    'tasks:',
    '  - name: "a b"',
    '    input: { x: [1, two] }',
    '    empty:',
    '  - &t',
    '    name: b',
    '  - *t',
    '  - { <<: *t, more: 1 }',
  ].join('\n')
  const { places } = read(text)

  it.each<[Path, 'key' | 'value', string, string]>([
    [['name'], 'key', '1:1', 'name'],
    [['name'], 'value', '1:7', 'release'],
    [['tasks', 0, 'name'], 'value', '3:11', '"a b"'],
    [['tasks', 0, 'input'], 'key', '4:5', 'input'],
    [['tasks', 0, 'input'], 'value', '4:12', '{'],
    [['tasks', 0, 'input', 'x', 1], 'value', '4:21', 'two'],
    [['tasks', 0, 'input', 'x', 1], 'key', '4:21', 'two'],
    [['tasks', 0, 'empty'], 'value', '5:5', 'empty'],
    [['tasks', 0, 'missing'], 'value', '3:5', 'n'],
    [['tasks', 0, 'missing', 'deeper'], 'key', '3:5', 'n'],
    [['tasks', 2, 'name'], 'value', '7:11', 'b'],
    [['tasks', 3, 'name'], 'value', '7:11', 'b'],
    [['tasks', 3, 'more'], 'value', '9:21', '1'],
  ])('%j: the %s is at %s', (path, kind, place, written) => {
    const span = places?.[kind](path)
    expect(`${span?.line}:${span?.column}`).toBe(place)
    const line = text.split('\n')[(span?.line ?? 0) - 1]
    expect(line?.slice((span?.column ?? 0) - 1, (span?.column ?? 0) - 1 + (span?.length ?? 0))).toBe(written)
  })
})

describe('the place of a character', () => {
  const styles = ['PLAIN', 'QUOTE_SINGLE', 'QUOTE_DOUBLE', 'BLOCK_LITERAL', 'BLOCK_FOLDED'] as const
  const word = fc.string({
    unit: fc.constantFrom('a', 'b', '{', '}', '.', ':', '#', '-', '"', "'", '\\', 'é', '✓', '😀'),
    minLength: 1,
    maxLength: 12,
  })
  const gap = fc.constantFrom(' ', ' ', ' ', '  ', '\n', '\n\n', '\n  ', '\t')
  const sentence = fc.array(fc.tuple(word, gap), { minLength: 1, maxLength: 20 }).map((pairs) => pairs.flat().join(''))

  it('is found in whatever way a text is written', () => {
    fc.assert(
      fc.property(
        sentence,
        fc.constantFrom(...styles),
        fc.integer({ min: 20, max: 60 }),
        fc.constantFrom('\n', '\r\n'),
        (value, style, lineWidth, lineBreak) => {
          const written = stringify(
            { deep: [{ text: value, after: 1 }] },
            { defaultStringType: style, defaultKeyType: 'PLAIN', lineWidth },
          )
          const text = written.replaceAll('\n', lineBreak)
          const { data, places, problems } = read(text)
          expect(problems).toEqual([])
          const readBack = (data as { deep: { text: string }[] }).deep[0]?.text as string
          const lines = text.split(/\r?\n/)
          for (let offset = 0; offset < readBack.length; offset++) {
            const character = readBack[offset] as string
            if (/\s/.test(character)) continue
            const span = places?.within(['deep', 0, 'text'], offset, 1)
            const found = lines[(span?.line ?? 0) - 1]?.slice((span?.column ?? 0) - 1) ?? ''
            const isEscape = found.startsWith('\\')
            expect(isEscape || found.startsWith(character), `${JSON.stringify(character)} of ${text}`).toBe(true)
          }
        },
      ),
      { numRuns: 200 },
    )
  })

  it.each<[string, string, string]>([
    ['an escape of two units', 'a: "\\U0001F600 x"', '1:16'],
    ['a line that goes on', 'a: "one \\\n   two x"', '2:8'],
    ['a block with its own indentation', 'a: |2\n    one\n  x', '3:3'],
    ['a block that begins with empty lines', 'a: |\n\n\n  one\n  x', '5:3'],
    ['a folded block with an indented line', 'a: >\n  one\n    two\n  x', '4:3'],
    ['a folded block with empty lines', 'a: >-\n  one\n\n\n  two\n  x', '6:3'],
  ])('is found after %s', (_, text, expected) => {
    const { data, places } = read(text)
    const offset = (data as { a: string }).a.lastIndexOf('x')
    const span = places?.within(['a'], offset, 1)
    expect(`${span?.line}:${span?.column}`).toBe(expected)
  })

  it('inside of a fold is its start', () => {
    const { places } = read('a: "x\n\n\n  y"')
    expect(places?.within(['a'], 1, 1)).toMatchObject({ line: 1, column: 6 })
    expect(places?.within(['a'], 2, 1)).toMatchObject({ line: 1, column: 6 })
    expect(places?.within(['a'], 3, 1)).toMatchObject({ line: 4, column: 3 })
  })
})
