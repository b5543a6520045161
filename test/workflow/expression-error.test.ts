import { describe, expect, it } from 'vitest'
import { ExpressionError } from '../../src/workflow/expression-error.js'

const at = (source: string, part: string) =>
  new ExpressionError('it is wrong', { source, offset: source.indexOf(part), length: part.length }).text.split('\n')

describe('the text of an error', () => {
  it.each<[string, string, string, string, string]>([
    ['points at the place', 'a {{ b.c }} d', 'b.c', 'a {{ b.c }} d', '     ^^^'],
    ['shows the line only', 'one\ntwo x\nthree', 'x', 'two x', '    ^'],
    ['takes CRLF for one end of a line', 'one\r\ntwo x\r\nthree', 'x', 'two x', '    ^'],
    ['ends the carets with the line', 'a [b\nc] d', '[b\nc]', 'a [b', '  ^^'],
    ['counts an emoji as the two columns that it takes', "'😀é' + x", 'x', "'😀é' + x", '        ^'],
    ['counts a letter with its accent once', "'e\u0301' + x", 'x', "'e\u0301' + x", '      ^'],
    ['counts wide letters as two', '日本 x', 'x', '日本 x', '     ^'],
    ['has a space for a tab', '\tx', 'x', ' x', ' ^'],
    [
      'shows no control character, and nothing that turns the line around',
      '\u001b[2J\u202ex',
      'x',
      '\uFFFD[2J\uFFFDx',
      '     ^',
    ],
    ['shows no half characters', '\ud800x', 'x', '\uFFFDx', ' ^'],
  ])('%s', (_, source, part, line, carets) => {
    expect(at(source, part)).toEqual(['it is wrong', `  ${line}`, `  ${carets}`])
  })

  it('points behind the end', () => {
    expect(new ExpressionError('it ends', { source: 'a +', offset: 3, length: 1 }).text).toBe('it ends\n  a +\n     ^')
  })

  it('cuts a long line around the place', () => {
    const [, line, carets] = at(`${'a'.repeat(500)}HERE${'b'.repeat(500)}`, 'HERE') as [string, string, string]
    expect(line).toBe(`  …${'a'.repeat(60)}HERE${'b'.repeat(36)}…`)
    expect(line.indexOf('HERE')).toBe(carets.indexOf('^'))
    expect(carets.trim()).toBe('^^^^')
  })

  it('keeps everything else when it is given the way to its string', () => {
    const error = new ExpressionError(
      'it is wrong',
      { source: 'x', offset: 0, length: 1 },
      { hint: 'mend it', cause: 1 },
    )
    const { path, problem, hint, cause, source, offset, length, message, name } = error.at(['a', 0])
    expect({ path, problem, hint, cause, source, offset, length, message, name }).toEqual({
      path: ['a', 0],
      problem: 'it is wrong',
      hint: 'mend it',
      cause: 1,
      source: 'x',
      offset: 0,
      length: 1,
      message: 'it is wrong',
      name: 'ExpressionError',
    })
  })
})
