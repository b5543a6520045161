import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Duration, durationMs, durationText } from '../../src/task/duration.js'

const tenYearsMs = 3650 * 86_400_000

describe('a duration', () => {
  it.each<[Duration, number]>([
    ['500ms', 500],
    ['30s', 30_000],
    ['5m', 300_000],
    ['2h', 7_200_000],
    ['3d', 259_200_000],
    ['1w', 604_800_000],
    ['1.5s', 1_500],
    ['0s', 0],
    ['0.4ms', 0],
    [0, 0],
    [250, 250],
    [0.6, 1],
    ['3650d', tenYearsMs],
    [' 30s ' as Duration, 30_000],
  ])('%j is %d ms', (value, ms) => {
    expect(durationMs(value, 'delay')).toBe(ms)
  })

  it.each<[unknown, string]>([
    ['30', '"30"'],
    ['', '""'],
    ['s', '"s"'],
    ['30 s', '"30 s"'],
    ['30S', '"30S"'],
    ['1e3s', '"1e3s"'],
    ['.5s', '".5s"'],
    ['30s; drop table job', '"30s; drop table job"'],
    ['30s\n30s', '"30s\\n30s"'],
    [Number.NaN, 'NaN'],
    [undefined, 'undefined'],
    [null, 'null'],
    [true, 'true'],
    [5n, 'a bigint'],
    [Symbol('5s'), 'a symbol'],
    [() => 5, 'a function'],
    [{ ms: 5 }, 'an object'],
    [Object.create(null), 'an object'],
    [['5s'], 'an object'],
  ])('%o cannot be read', (value, seen) => {
    expect(() => durationMs(value as Duration, 'delay')).toThrow(
      expect.objectContaining({ code: 'FP_DURATION_INVALID', message: expect.stringContaining(`: delay is ${seen}`) }),
    )
  })

  it.each<Duration>([-1, '-1ms', '-5s', Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, '3651d', Number.MAX_VALUE])(
    '%j is out of range',
    (value) => {
      expect(() => durationMs(value, 'delay')).toThrow(
        expect.objectContaining({
          code: 'FP_DURATION_INVALID',
          message: expect.stringContaining('it must be from 0ms to 3650d'),
        }),
      )
    },
  )

  it('may have a range of its own', () => {
    expect(durationMs('1s', 'lease', 1_000, 5_000)).toBe(1_000)
    expect(() => durationMs(999, 'lease', 1_000, 90_000)).toThrow('lease is 999; it must be from 1s to 90s')
    expect(() => durationMs('2d', 'lease', 1_000, 86_400_000)).toThrow('lease is "2d"; it must be from 1s to 1d')
  })

  it('reads what durationText writes', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: tenYearsMs }), (ms) => {
        expect(durationMs(durationText(ms) as Duration, 'delay')).toBe(ms)
      }),
    )
  })
})
