import { expect, it, onTestFinished, vi } from 'vitest'
import { cancel } from '../../src/store/control.js'
import type { Execution } from '../../src/worker/executor.js'
import { Lanes } from '../../src/worker/lanes.js'
import { Suspect } from '../../src/worker/suspect.js'
import type { Claim } from '../../src/worker/turns.js'
import { setupExecution } from './setup.js'

const claim: Claim = { queues: [], room: 1, suspect: true, news: 0 }

/** A job whose worker died under it, and what becomes of it, in the order in which that was said. */
async function setupSuspect() {
  const bundle = await setupExecution()
  const lanes = new Lanes(2, { default: 2 })
  const said: string[] = []
  const nameOf = (execution: Execution) => (execution === bundle.execution ? 'the first' : 'another')
  const state = { stopping: false }
  let tell: (word: string) => void = () => {}
  const say = (word: string) => {
    said.push(word)
    tell(word)
  }
  const suspect = new Suspect({
    turns: bundle.turns,
    lanes,
    stopping: () => state.stopping,
    run: (execution) => say(`run ${nameOf(execution)}`),
    giveBack: (execution, reason) => say(`give back ${nameOf(execution)}: ${reason}`),
    forget: (execution) => say(`forget ${nameOf(execution)}`),
    look: () => {},
  })
  const next = () =>
    new Promise<string>((resolve) => {
      tell = resolve
    })
  return { ...bundle, lanes, suspect, said, state, next }
}

it('keeps one, and gives a second back', async () => {
  const { suspect, execution, another, said } = await setupSuspect()

  suspect.accept(execution)
  suspect.accept(await another())

  expect(said).toEqual(['give back another: no_room'])
  suspect.stop()
})

it('is not wanted while one may be on its way', async () => {
  const { suspect } = await setupSuspect()
  expect(suspect.isWanted).toBe(true)

  suspect.asked(claim)
  suspect.lookNowAndThen()
  expect(suspect.isWanted).toBe(false)

  suspect.answered(claim)
  expect(suspect.isWanted).toBe(true)
})

it('begins, once, when nothing else runs', async () => {
  const { suspect, execution, another, lanes, said, next, turns } = await setupSuspect()
  lanes.enter(await another())
  suspect.accept(execution)

  suspect.runWhenAlone()
  await turns.rest()
  expect(said).toEqual([])

  lanes.leave('default')
  const first = next()
  suspect.runWhenAlone()
  suspect.runWhenAlone()
  await first
  await turns.rest()
  expect(said).toEqual(['run the first'])
})

it('does not run without its lease', async () => {
  const { suspect, execution, lose, next } = await setupSuspect()
  suspect.accept(execution)
  await lose()

  const first = next()
  suspect.runWhenAlone()

  expect(await first).toBe('forget the first')
  expect(suspect.isHere).toBe(false)
})

it('does not run if it was asked to stop', async () => {
  const { suspect, execution, db, id, next } = await setupSuspect()
  suspect.accept(execution)
  await cancel(db, [id], null)

  const first = next()
  suspect.runWhenAlone()

  expect(await first).toBe('give back the first: cancelled')
})

it('does not run if the worker stops meanwhile', async () => {
  const { suspect, execution, state, next } = await setupSuspect()
  suspect.accept(execution)

  const first = next()
  suspect.runWhenAlone()
  state.stopping = true

  expect(await first).toBe('give back the first: shutdown')
})

it('is put off twice if its neighbours do not end, and then waited for', async () => {
  const { suspect, execution, another, lanes, said } = await setupSuspect()
  lanes.enter(await another())
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())

  for (const times of [1, 2]) {
    suspect.accept(execution)
    vi.advanceTimersByTime(10_000)
    expect(said).toHaveLength(times)
    expect(suspect.isHere).toBe(false)
    suspect.lookNowAndThen()
    expect(suspect.isWanted).toBe(false) // others may have room for it
    vi.advanceTimersByTime(10_000)
    expect(suspect.isWanted).toBe(true)
  }
  suspect.accept(execution)
  vi.advanceTimersByTime(60_000)

  expect(said).toEqual(['give back the first: no_room', 'give back the first: no_room'])
  expect(suspect.isHere).toBe(true)
})
