import { expect, it } from 'vitest'
import { timelineOf } from '../../src/cli/job-timeline.js'
import type { Database } from '../../src/store/database.js'
import { cancel, retryEnded } from '../../src/store/control.js'
import { loseExpired } from '../../src/store/lease.js'
import { readJob } from '../../src/store/read.js'
import { fail, finish, release } from '../../src/store/settle.js'
import { gates } from '../harness/gates.js'
import { setup } from '../harness/setup.js'

/** The timeline as text: the place it led to, and what happened, without the times. */
async function timeline(db: Database, id: string): Promise<string[]> {
  const job = await readJob(db, id)
  if (!job) throw new Error(`there is no job ${id}`)
  const entries = timelineOf(job)
  const times = entries.map(({ at }) => at.getTime())
  expect(times).toEqual([...times].sort((a, b) => a - b))
  return entries.map(({ place, what }) =>
    `${place ?? '-'}: ${what}`.replace(/\(lease \d+\)/, '(lease n)').replace(/\d{4}-\S+ \S+Z/, 'then'),
  )
}

it('tells a first-try success from the outcome alone', async () => {
  const { db, add, take } = await setup()
  const id = await add({ delayMs: 0 })
  await finish(db, [{ ...(await take()), resultText: '1' }])

  expect(await timeline(db, id)).toEqual([
    'ready: enqueued in default',
    'leased: attempt 1 started by w1',
    'finished: attempt 1 succeeded',
  ])
})

it('tells a running attempt, and a cancel that was requested of it', async () => {
  const { db, add, take } = await setup()
  const id = await add()
  await take()
  await cancel(db, [id], null)

  expect(await timeline(db, id)).toEqual([
    'ready: enqueued in default',
    'leased: attempt 1 claimed by w1, until then',
    '-: attempt 1 started',
    '-: cancel requested',
  ])
})

it('tells failures, the delay, and the success in the end', async () => {
  const { db, add, take, advance, sql } = await setup()
  const id = await add({ delayMs: 1_000 })
  expect(await timeline(db, id)).toEqual(['delayed: enqueued in default, not before then'])
  await advance(2_000)
  await sql('select * from fencepost.promote()')
  await fail(db, [{ ...(await take()), errorText: '{"message":"no answer"}', delayMs: 1_000, final: false }])
  const sofar = [
    'delayed: enqueued in default, not before then',
    'leased: attempt 1 claimed by w1 (lease n)',
    '-: attempt 1 started',
  ]
  expect(await timeline(db, id)).toEqual([...sofar, 'delayed: attempt 1 failed: no answer'])

  await advance(2_000)
  await sql('select * from fencepost.promote()')
  await finish(db, [{ ...(await take()), resultText: '1' }])
  expect(await timeline(db, id)).toEqual([
    ...sofar,
    '-: attempt 1 failed: no answer',
    'leased: attempt 2 claimed by w1 (lease n)',
    '-: attempt 2 started',
    'finished: attempt 2 succeeded',
  ])
})

it('puts what a stale attempt said where it was said', async () => {
  const { db, add, take, advance } = await setup()
  const id = await add()
  const old = await take({ worker: 'old' })
  await advance(31_000)
  await loseExpired(db)
  const current = await take({ worker: 'new' })
  await finish(db, [{ ...old, resultText: '{"charged":5}' }])
  await finish(db, [{ ...current, resultText: '1' }])

  expect(await timeline(db, id)).toEqual([
    'ready: enqueued in default',
    'leased: attempt 1 claimed by old (lease n)',
    '-: attempt 1 started',
    'ready: attempt 1 lost: lease_ran_out',
    'leased: attempt 2 claimed by new (lease n)',
    '-: attempt 2 started',
    '-: attempt 1 said succeeded ({"charged":5}) too late: kept here, without effect',
    'finished: attempt 2 succeeded',
  ])
})

it('tells an outcome that a retry undid, and one that no lease made', async () => {
  const { db, add, take } = await setup()
  const id = await add({ failuresMax: 0 })
  await fail(db, [{ ...(await take()), errorText: '{"name":"TypeError","message":"x"}', delayMs: 0, final: false }])
  await retryEnded(db, [id])
  await cancel(db, [id], 'not needed')
  await retryEnded(db, [id])
  await release(db, [await take()], 'shutdown')

  expect(await timeline(db, id)).toEqual([
    'ready: enqueued in default',
    'leased: attempt 1 claimed by w1 (lease n)',
    '-: attempt 1 started',
    'finished: attempt 1 failed: failures_exhausted: TypeError: x',
    'ready: retried: the outcome failed was undone',
    'finished: cancelled: not needed',
    'ready: retried: the outcome cancelled was undone',
    'leased: attempt 2 claimed by w1 (lease n)',
    '-: attempt 2 started',
    'ready: attempt 2 released: shutdown',
  ])
})

it('tells what the end of an attempt made of the job where the two differ', async () => {
  const { db, add, take, advance } = await setup()
  const cancelled = await add()
  const lease = await take()
  await cancel(db, [cancelled], null)
  await release(db, [lease], 'cancelled')
  const exhausted = await add({ lossesMax: 0 })
  await take()
  await advance(31_000)
  await loseExpired(db)

  expect((await timeline(db, cancelled)).at(-1)).toBe(
    'finished: attempt 1 released: cancelled; the job cancelled: cancel_requested',
  )
  expect((await timeline(db, exhausted)).at(-1)).toBe(
    'finished: attempt 1 lost: lease_ran_out; the job failed: losses_exhausted',
  )
})

it('tells where a gated job waits; whether its gate was full when it came is not kept', async () => {
  const { db, add, take } = await setup()
  const gatesText = gates({ key: 'gate:k' })
  const first = await add({ gatesText })
  const second = await add({ gatesText })
  expect(await timeline(db, second)).toEqual(['-: enqueued in default', 'waiting: waits at gate:k'])
  await finish(db, [{ ...(await take()), resultText: '1' }])
  expect(await timeline(db, second)).toEqual(['-: enqueued in default'])
  expect(await timeline(db, first)).toEqual([
    '-: enqueued in default',
    'leased: attempt 1 started by w1',
    'finished: attempt 1 succeeded',
  ])
})
