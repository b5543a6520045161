import { describe, expect, it } from 'vitest'
import type { Problem } from '../../src/workflow/problem.js'
import { problemsText } from '../../src/workflow/problems-text.js'

const at = (line: number, column: number, length = 1): Problem => ({
  path: 'x',
  line,
  column,
  length,
  message: 'wrong',
})

describe('problems as people read them', () => {
  it('have their line, what they are about, and what to do', () => {
    const problem = { ...at(2, 7, 3), hint: 'Mend it.' }
    expect(problemsText([problem, problem], 'a: 1\nthing: one\n', 'f.yaml')).toBe(
      [
        'f.yaml:2:7  wrong',
        '  2 | thing: one',
        '    |       ^^^',
        '  Mend it.',
        '',
        'f.yaml:2:7  wrong',
        '  2 | thing: one',
        '    |       ^^^',
        '  Mend it.',
      ].join('\n'),
    )
  })

  it.each<[string, string, Problem, string]>([
    ['keep a tab, however wide it is', '\tkey: value', at(1, 7, 5), '  1 | \tkey: value\n    | \t     ^^^^^'],
    ['show no control characters', 'a: \u001b[31mred\u202e', at(1, 1), '  1 | a: �[31mred�\n    | ^'],
    ['leave out an empty line', 'a\n\nb', at(2, 1), ''],
    ['know lines that end with two characters', 'a: 1\r\nb: 2', at(2, 4), '  2 | b: 2\n    |    ^'],
    ['stop at the end of the line', 'abc', at(1, 2, 99), '  1 | abc\n    |  ^^'],
    ['point behind the end', 'abc', at(1, 4), '  1 | abc\n    |    ^'],
  ])('%s', (_, source, problem, excerpt) => {
    expect(problemsText([problem], source, 'f')).toBe(
      [`f:${problem.line}:${problem.column}  wrong`, excerpt].filter(Boolean).join('\n'),
    )
  })

  it('show of a long line the part that matters', () => {
    const source = `${'a'.repeat(200)}HERE${'b'.repeat(200)}`
    const [, line = '', carets = ''] = problemsText([at(1, 201, 4)], source, 'f').split('\n')
    expect(line).toMatch(/^ {2}1 \| …a+HEREb+…$/)
    expect(line.length).toBeLessThan(120)
    expect(carets.indexOf('^')).toBe(line.indexOf('HERE'))
    expect(carets.trim()).toBe('|'.padEnd(carets.trim().length - 4) + '^^^^')
  })

  it('have their path where there is no file, and the line of the expression', () => {
    const expression = { source: 'one\n  {{ two }}\nthree', offset: 9, length: 3 }
    const problem: Problem = { path: 'tasks.a.input', message: 'wrong', hint: 'Mend it.', expression }
    expect(problemsText([problem], undefined, 'release')).toBe(
      ['release  tasks.a.input  wrong', '    {{ two }}', '       ^^^', '  Mend it.'].join('\n'),
    )
    expect(problemsText([{ path: '', message: 'wrong' }], undefined, '')).toBe('wrong')
  })

  it('are not more than can be read', () => {
    const many = Array.from({ length: 130 }, (_, i) => at(i + 1, 1))
    const text = problemsText(many, '', 'f')
    expect(text.split('\n\n')).toHaveLength(101)
    expect(text).toMatch(/… and 30 more$/)
  })
})
