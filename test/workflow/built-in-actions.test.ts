import { describe, expect, it } from 'vitest'
import type { Json } from '../../src/job/json.js'
import { limits } from '../../src/limits.js'
import { ActionFailure, concurrencyOf, runInline, troubleOf, waitOf } from '../../src/workflow/built-in-actions.js'
import { ExpressionError } from '../../src/workflow/expression.js'

/** What the action fails with. */
function failure(work: () => unknown): [string, string] {
  try {
    work()
  } catch (error) {
    if (error instanceof ActionFailure) return [error.code, error.message]
    throw error
  }
  throw new Error('nothing failed')
}

describe('a wait', () => {
  const run = '01890000-0000-7000-8000-00000000000a'

  it.each<[string, Json, object]>([
    ['wait.signal', { name: 'go' }, { name: 'go' }],
    ['wait.signal', { name: 7 }, { name: '7' }],
    ['wait.signal', { name: null }, { name: '' }],
    ['wait.signal', null, { name: '' }],
    ['wait.run', { run }, { run }],
    ['wait.time', { at: 5 }, { at: 5 }],
    ['wait.time', { at: '2030-01-01T00:00:00Z' }, { at: Date.UTC(2030, 0, 1) }],
    ['wait.time', { at: '9999-12-31T23:59:59.999Z' }, { at: 253_402_300_799_999 }],
    ['core.sleep', { for: '2s' }, { ms: 2_000 }],
    ['core.sleep', { for: 5 }, { ms: 5 }],
    ['core.sleep', { until: 9 }, { at: 9 }],
    ['core.ask', { title: 'Go?' }, { asks: true }],
    ['core.ask', { title: 'Go?', expires: null }, { asks: true }],
    ['wait.approval', ['Go?'], { asks: true }],
  ])('%s of %j', (action, input, wait) => {
    expect(waitOf(action, input, 0)).toEqual({ input, ...wait })
  })

  it('for an answer that expires says when, and for how long', () => {
    const input = { title: 'Go?', expires: '1m' }
    const expiresAt = '1970-01-01T00:01:01.000Z'
    expect(waitOf('core.ask', input, 1_000)).toEqual({ input: { ...input, expiresAt }, asks: true, ms: 60_000 })
  })

  it.each<[string, Json, string]>([
    ['wait.run', { run: 7 }, 'its run must be the id of a run, not 7'],
    ['wait.run', { run: [run] }, `its run must be the id of a run, not ["${run}"]`],
    ['wait.run', { run: `${run}0` }, `its run must be the id of a run, not "${run}0"`],
    ['wait.run', { run: `0${run}` }, `its run must be the id of a run, not "0${run}"`],
    ['wait.run', {}, 'its run must be the id of a run, not null'],
    ['wait.time', { at: 'soon' }, 'its time must be a timestamp like 2030-01-31T08:00:00Z, not "soon"'],
    ['wait.time', { at: ['2030'] }, 'its time must be a timestamp like 2030-01-31T08:00:00Z, not ["2030"]'],
    [
      'wait.time',
      { at: 253_402_300_800_000 },
      'its time must be a timestamp like 2030-01-31T08:00:00Z, not 253402300800000',
    ],
    ['core.sleep', { for: 'long' }, `its duration must be like '30s' or '2d', not "long"`],
    ['core.sleep', 'long', `its duration must be like '30s' or '2d', not null`],
  ])('%s of %j is refused', (action, input, message) => {
    expect(failure(() => waitOf(action, input, 0))).toEqual(['FP_INPUT_INVALID', message])
  })
})

describe('a concurrency', () => {
  it.each([1, 2, limits.gateLimitMax])('may be %j', (value) => {
    expect(concurrencyOf(value)).toBe(value)
  })

  const wanted = `concurrency must be a whole number from 1 to ${limits.gateLimitMax}, not`
  it.each<[Json, string]>([
    [0, 'number 0'],
    [limits.gateLimitMax + 1, `number ${limits.gateLimitMax + 1}`],
    [1.5, 'number 1.5'],
    ['2', 'string "2"'],
    [true, 'boolean true'],
    [null, 'null'],
    [[1], 'an object'],
    ['x'.repeat(90), `string "${'x'.repeat(59)}`],
  ])('may not be %j', (value, described) => {
    expect(failure(() => concurrencyOf(value))).toEqual(['FP_INPUT_INVALID', `${wanted} ${described}`])
  })
})

it.each<[Json, string, string]>([
  [{ message: 'no', code: 'E' }, 'E', 'no'],
  [{ message: { why: 1 }, code: 7 }, '7', '{"why":1}'],
  [{ message: null }, 'FP_CORE_FAIL', 'failed by core.fail'],
  [null, 'FP_CORE_FAIL', 'failed by core.fail'],
])('core.fail with %j fails as %s: %s', (input, code, message) => {
  expect(failure(() => runInline('core.fail', input))).toEqual([code, message])
})

it('only what a workflow is at fault for is told as its trouble; anything else is passed on', () => {
  expect(troubleOf(new ActionFailure('no', 'E'), 'task a')).toEqual({ code: 'E', message: 'no' })
  const failed = new ExpressionError('too much', { source: '1 + 1', offset: 0, length: 1 })
  expect(troubleOf(failed, 'task a')).toEqual({
    code: 'FP_EXPRESSION',
    message: 'task a: too much',
    place: failed.text,
  })
  const bug = new TypeError('a bug')
  expect(() => troubleOf(bug, 'task a')).toThrow(bug)
})
