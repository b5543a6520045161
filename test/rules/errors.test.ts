import { describe, expect, it } from 'vitest'
import { type ErrorCode, errorCatalogue, FencepostError, shown } from '../../src/errors.js'

describe('the catalogue of errors', () => {
  it.each(Object.entries(errorCatalogue))('%s has a code, a title and a hint', (code, { title, hint }) => {
    expect(code).toMatch(/^FP(_[A-Z]+)+$/)
    expect(title).toMatch(/^[A-Z].*[^.:]$/)
    expect(hint).toMatch(/^[A-Z`].{15,}/)
    expect(`${title}${hint}`).not.toContain('\n')
  })

  it('says no title twice', () => {
    const titles = Object.values(errorCatalogue).map(({ title }) => title)
    expect(new Set(titles).size).toBe(titles.length)
  })
})

describe('an error', () => {
  it('says what happened, and what to do next', () => {
    const error = new FencepostError('FP_JOB_UNKNOWN', 'the id')
    expect(error).toBeInstanceOf(Error)
    expect(error).toMatchObject({
      name: 'FencepostError',
      code: 'FP_JOB_UNKNOWN',
      message: 'There is no job with this id: the id',
      hint: errorCatalogue.FP_JOB_UNKNOWN.hint,
    })
    expect('cause' in error).toBe(false)
    expect(error.stack).toContain('FencepostError: There is no job with this id: the id')
  })

  it('may have no detail, a hint of its own, and a cause', () => {
    expect(new FencepostError('FP_CLOSED').message).toBe('This client has been closed')
    const cause = new Error('why')
    expect(new FencepostError('FP_USAGE', 'x', { hint: 'Do y.', cause })).toMatchObject({ hint: 'Do y.', cause })
    expect(new FencepostError('FP_USAGE', 'x', { cause: undefined })).toHaveProperty('cause', undefined)
  })

  it('quotes the start of what is too long, line by line', () => {
    const error = new FencepostError('FP_JOB_UNKNOWN', `${'x'.repeat(2_001)}\n${'y'.repeat(2_000)}`)
    expect(error.message).toBe(`There is no job with this id: ${'x'.repeat(2_000)}…\n${'y'.repeat(2_000)}`)
    const lines = new FencepostError('FP_JOB_UNKNOWN', 'x\n'.repeat(10_001))
    expect(lines.message).toBe(`There is no job with this id: ${'x\n'.repeat(10_000)}…`)
  })

  it('has a code that TypeScript knows', () => {
    // @ts-expect-error: no such code
    const unknown: ErrorCode = 'FP_NO_SUCH_CODE'
    expect(errorCatalogue).not.toHaveProperty(unknown)
  })
})

it.each<[unknown, string]>([
  ['a\nb', '"a\\nb"'],
  ['x'.repeat(81), `"${'x'.repeat(80)}…"`],
  [5, '5'],
  [Number.NaN, 'NaN'],
  [false, 'false'],
  [undefined, 'undefined'],
  [null, 'null'],
  [5n, 'a bigint'],
  [Symbol('x'), 'a symbol'],
  [() => 1, 'a function'],
  [[1], 'an object'],
  [Object.create(null), 'an object'],
])('a message shows %o as %s', (value, expected) => {
  expect(shown(value)).toBe(expected)
})
