import { describe, expect, it } from 'vitest'
import { checkedJobId, newJobId } from '../../src/job/job-id.js'

describe('a job id', () => {
  it('is a UUID, in lower case', () => {
    expect(checkedJobId('0198C1A2-7B1E-7CC3-98C4-DC0C0C07398F')).toBe('0198c1a2-7b1e-7cc3-98c4-dc0c0c07398f')
    expect(checkedJobId('00000000-0000-0000-0000-000000000000')).toBe('00000000-0000-0000-0000-000000000000')
  })

  it('is new every time, and later ones sort later', () => {
    const ids = Array.from({ length: 10_000 }, newJobId)
    expect(ids.every((id) => checkedJobId(id) === id)).toBe(true)
    expect(new Set(ids).size).toBe(ids.length)
    expect(ids.toSorted()).toEqual(ids)
  })

  it('begins with the time, and says that it is of version 7', () => {
    const before = Date.now()
    const id = newJobId()
    const ms = Number.parseInt(id.slice(0, 13).replace('-', ''), 16)
    expect(ms).toBeGreaterThanOrEqual(before)
    expect(ms).toBeLessThanOrEqual(Date.now())
    expect(id).toMatch(/^.{14}7.{4}[89ab]/)
  })

  it.each<[unknown, string]>([
    ['', '""'],
    ['o-1', '"o-1"'],
    ['0198c1a27b1e7cc398c4dc0c0c07398f', '"0198c1a27b1e7cc398c4dc0c0c07398f"'],
    ['{0198c1a2-7b1e-7cc3-98c4-dc0c0c07398f}', '"{0198c1a2-'],
    ['0198c1a2-7b1e-7cc3-98c4-dc0c0c07398g', '"0198c1a2-'],
    ['0198c1a2-7b1e-7cc3-98c4-dc0c0c07398f\n', '\\n"'],
    [' 0198c1a2-7b1e-7cc3-98c4-dc0c0c07398f', '" 0198'],
    ["' or 1=1 --", `"' or 1=1 --"`],
    [undefined, 'undefined'],
    [null, 'null'],
    [5, '5'],
    [Symbol('id'), 'a symbol'],
    [{ toString: () => '0198c1a2-7b1e-7cc3-98c4-dc0c0c07398f' }, 'an object'],
  ])('is not %o', (value, seen) => {
    expect(() => checkedJobId(value)).toThrow(
      expect.objectContaining({
        code: 'FP_ID_INVALID',
        message: expect.stringContaining(seen),
      }),
    )
  })
})
