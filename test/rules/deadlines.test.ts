import { expect, it, onTestFinished, vi } from 'vitest'
import { Deadlines, type Timed } from '../../src/worker/deadlines.js'

function setup() {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const all: Timed[] = []
  const told: string[] = []
  const deadlines = new Deadlines(() => all)
  /** Begins something that may take so long. */
  function begin(name: string, ms: number | undefined, { hasBegun = true, isOver = false } = {}) {
    const timed = {
      hasBegun,
      isOver,
      deadlineMs: ms === undefined ? undefined : performance.now() + ms,
      abort() {
        timed.isOver = true
        told.push(name)
      },
    }
    all.push(timed)
    deadlines.begun(timed)
  }
  return { deadlines, told, begin }
}

it('tells who is to stop first, whoever began first', () => {
  const { told, begin } = setup()
  begin('long', 60_000)
  begin('short', 50)

  vi.advanceTimersByTime(49)
  expect(told).toEqual([])
  vi.advanceTimersByTime(1)

  expect(told).toEqual(['short'])
})

it('goes on to the next deadline', () => {
  const { told, begin } = setup()
  begin('last', 400)
  begin('first', 50)
  begin('second', 200)

  vi.advanceTimersByTime(200)
  expect(told).toEqual(['first', 'second'])
  vi.advanceTimersByTime(200)

  expect(told).toEqual(['first', 'second', 'last'])
  expect(vi.getTimerCount()).toBe(0)
})

it('tells nobody who has ended, has not begun, or has no deadline', () => {
  const { told, begin } = setup()
  begin('ended', 50, { isOver: true })
  begin('waiting', 50, { hasBegun: false })
  begin('patient', undefined)
  begin('running', 60)

  vi.advanceTimersByTime(1_000)

  expect(told).toEqual(['running'])
})

it('tells nobody after it was stopped', () => {
  const { deadlines, told, begin } = setup()
  begin('before', 50)

  deadlines.stop()
  begin('after', 50)
  vi.advanceTimersByTime(1_000)

  expect(told).toEqual([])
  expect(vi.getTimerCount()).toBe(0)
})
