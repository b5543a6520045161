import { EventEmitter, once } from 'node:events'
import { expect, it, onTestFinished, vi } from 'vitest'
import { Events } from '../../src/events.js'
import { Lookout } from '../../src/worker/lookout.js'
import { setup } from '../harness/setup.js'
import { waitersSql } from '../harness/blocked.js'

const patience = { timeout: 10_000 }
const hourMs = 3_600_000

/** A lookout whose looks bring a job as long as it is `busy`, and which hears what the test notifies; its time stands still. */
async function setupLookout() {
  vi.useFakeTimers({ toFake: ['performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const bundle = await setup()
  const timers = vi.spyOn(globalThis, 'setTimeout')
  onTestFinished(() => timers.mockRestore())
  const events = new Events()
  const signals = new EventEmitter()
  const seen = { errors: 0 }
  events.on('error', () => seen.errors++)
  const state: { busy: boolean; notice?: (queue: string) => void } = { busy: false }
  const lookout: Lookout = new Lookout({
    db: bundle.db,
    events,
    worker: () => 'w1',
    queues: ['default'],
    pollMs: hourMs,
    listen: (onNotice) => {
      state.notice = onNotice
      return { close: async () => {} }
    },
    look: () => {
      signals.emit('look')
      lookout.nothing(state.busy, false)
    },
  })
  onTestFinished(() => lookout.stop())
  return {
    ...bundle,
    seen,
    lookout,
    /** In how many milliseconds it was about to look, each time since this was asked last. */
    delaysMs: () => timers.mock.calls.splice(0).map(([, ms]) => ms),
    sleepers: () => bundle.sql('select worker from fencepost.sleeper'),
    /** Jobs begin to come. */
    getBusy: () => {
      state.busy = true
    },
    notify: () => state.notice?.('default'),
    /** How long a turn takes is not known here, so 20 at a time are all that it bears. */
    notifyTooOften: () => {
      for (let n = 0; n < 21; n++) state.notice?.('default')
    },
    /** Waits for so many more: a signal, since what polls lets the time go on. */
    looks: async (count: number) => {
      while (count-- > 0) await once(signals, 'look')
    },
  }
}

/** And it sleeps, for so long that what it is notified of now is no load. */
async function setupSleeper() {
  const bundle = await setupLookout()
  bundle.lookout.nothing(false, false)
  await expect.poll(bundle.sleepers, patience).toEqual([{ worker: 'w1' }])
  vi.advanceTimersByTime(5_000)
  return bundle
}

it('asks again to be notified though jobs keep coming, a second after it was notified too often', async () => {
  const { getBusy, notifyTooOften, looks, sleepers } = await setupSleeper()
  getBusy()
  notifyTooOften()
  await looks(5)
  vi.advanceTimersByTime(999)
  await looks(5)
  expect(await sleepers()).toEqual([])

  vi.advanceTimersByTime(1)

  await expect.poll(sleepers, patience).toEqual([{ worker: 'w1' }])
})

it('tries once a second to ask again, if that cannot be said', async () => {
  const { seen, getBusy, notifyTooOften, looks, sleepers, sql } = await setupSleeper()
  getBusy()
  notifyTooOften()
  await sql(`create function refuse() returns trigger language plpgsql as $$ begin raise exception 'not now'; end $$;
    create trigger refuse before insert on fencepost.sleeper for each row execute function refuse()`)
  for (const failed of [1, 2]) {
    vi.advanceTimersByTime(1_000)
    await looks(5)
    expect(seen.errors).toBe(failed)
  }
  await sql('drop trigger refuse on fencepost.sleeper')

  vi.advanceTimersByTime(1_000)

  await expect.poll(sleepers, patience).toEqual([{ worker: 'w1' }])
})

it('does not look for more jobs by itself as long as it is notified of them', async () => {
  const { delaysMs, getBusy, notify } = await setupSleeper()
  await expect.poll(delaysMs, patience).toContain(hourMs) // everyone has seen that it sleeps
  getBusy()

  notify()

  expect(delaysMs()).toEqual([hourMs])
})

/** It was about to ask to be notified, was notified too often meanwhile, and has now said both. */
async function setupRisen({ busy }: { busy: boolean }) {
  const bundle = await setupLookout()
  const { lookout, delaysMs, getBusy, notifyTooOften, sleepers, connect, sql } = bundle
  await sql(`create function wait() returns trigger language plpgsql as $$ begin
      perform pg_advisory_xact_lock(1); return new; end $$;
    create trigger wait before insert on fencepost.sleeper for each row execute function wait()`)
  const holder = await connect()
  await holder.query('select pg_advisory_lock(1)')
  lookout.nothing(false, false)
  const waiters = () => sql(waitersSql('advisory'))
  await expect.poll(waiters, patience).toHaveLength(1)
  await Promise.all(Array.from({ length: 5 }, sleepers)) // connections are there, and nothing has to wait for one

  if (busy) getBusy()
  delaysMs()
  notifyTooOften()
  for (let n = 0; n < 20; n++) expect(await sleepers()).toEqual([]) // what does not wait for its turn has been said by now
  await holder.query('select pg_advisory_unlock(1)')
  await expect.poll(waiters, patience).toEqual([])
  return bundle
}

it('is not notified any more if that was too often while it was about to ask', async () => {
  const { lookout, sleepers } = await setupRisen({ busy: true }) // with nothing to do it would ask again

  await lookout.stop()

  expect(await sleepers()).toEqual([])
})

it('goes on looking if it was notified too often while it was about to ask, and asks again when nothing comes', async () => {
  const { delaysMs, sleepers } = await setupRisen({ busy: false })
  const delays: unknown[] = []

  await expect.poll(() => delays.push(...delaysMs()) > 0 && delays, patience).toContain(hourMs)

  expect(delays).toEqual(expect.arrayContaining([10, 20, 40])) // it has not heard of anything, and looked
  expect(await sleepers()).toEqual([{ worker: 'w1' }])
})
