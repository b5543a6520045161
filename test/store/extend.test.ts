import { expect, it } from 'vitest'
import { cancel } from '../../src/store/control.js'
import { claim, extend, loseExpired } from '../../src/store/lease.js'
import { finish } from '../../src/store/settle.js'
import { byJob, ofAnotherJob, ofAnotherLease } from '../harness/answers.js'
import { untilBlocked } from '../harness/blocked.js'
import { pauseScansOfLeased } from '../harness/scan-pause.js'
import { Session } from '../harness/session.js'
import { forged, setup } from '../harness/setup.js'

const left = `select round(extract(epoch from expires_at - fencepost.clock()))::int as s from fencepost.leased order by lease_id`

it('extends each lease by its own length from now', async () => {
  const { db, add, advance, sql } = await setup()
  await add({ leaseMs: 10_000 })
  await add({ leaseMs: 60_000 })
  const leases = await claim(db, { queue: 'default', limit: 2, worker: 'w1' })
  await advance(9_000)

  const answers = await extend(db, leases)

  expect(answers.map(({ answer, cancelRequested }) => [answer, cancelRequested])).toEqual([
    ['extended', false],
    ['extended', false],
  ])
  expect(await sql(left)).toEqual([{ s: 10 }, { s: 60 }])
})

it('never shortens a lease, even when the clock was set back', async () => {
  const { db, add, take, advance, sql } = await setup()
  await add()
  const lease = await take()
  await advance(-20_000)

  expect(await extend(db, [lease])).toMatchObject([{ answer: 'extended' }])
  expect(await sql(left)).toEqual([{ s: 50 }])
})

it('revives a lease that has run out and was not yet lost', async () => {
  const { db, add, take, advance } = await setup()
  await add()
  const lease = await take()
  await advance(40_000)

  expect(await extend(db, [lease])).toMatchObject([{ answer: 'extended' }])
  expect(await loseExpired(db)).toEqual([])
})

it('answers gone for a lease that was lost or settled', async () => {
  const { db, add, take, advance } = await setup()
  const [lost, settled] = [await add(), await add()]
  const [a, b] = [await take(), await take()]
  await finish(db, [{ ...b, resultText: '1' }])
  await advance(31_000)
  await loseExpired(db)
  await take({ worker: 'w2' })

  expect(byJob(await extend(db, [a, b]))).toEqual({ [lost]: 'gone', [settled]: 'gone' })
})

it('refuses a fence with another nonce', async () => {
  const { db, add, take, advance, sql } = await setup()
  await add()
  const lease = await take()
  await advance(10_000)

  expect(await extend(db, [forged(lease)])).toMatchObject([{ answer: 'gone' }])
  expect(await sql(left)).toEqual([{ s: 20 }])
})

it('refuses a fence with another lease', async () => {
  const { db, add, take, advance, sql } = await setup()
  await add()
  const lease = await take()
  await advance(10_000)

  expect(await extend(db, [ofAnotherLease(lease)])).toMatchObject([{ answer: 'gone' }])
  expect(await sql(left)).toEqual([{ s: 20 }])
})

it('refuses a fence with another job', async () => {
  const { db, add, take, advance, sql } = await setup()
  await add()
  const lease = await take()
  await advance(10_000)

  expect(await extend(db, [ofAnotherJob(lease, await add())])).toMatchObject([{ answer: 'gone' }])
  expect(await sql(left)).toEqual([{ s: 20 }])
})

it('tells two fences apart that differ only in the nonce, within one batch', async () => {
  const { db, add, take } = await setup()
  await add()
  const lease = await take()

  const answers = await extend(db, [forged(lease), lease])

  expect(answers.map(({ answer }) => answer).sort()).toEqual(['extended', 'gone'])
})

it('tells of a cancel that was requested', async () => {
  const { db, add, take } = await setup()
  const id = await add()
  const lease = await take()
  await cancel(db, [id], null)

  expect(await extend(db, [lease])).toMatchObject([{ answer: 'extended', cancelRequested: true }])
})

it('does not let one busy lease hold up the others', async () => {
  const bundle = await setup()
  const [busy, free] = [await bundle.add(), await bundle.add()]
  const leases = await claim(bundle.db, { queue: 'default', limit: 2, worker: 'w1' })
  const [settler, heart] = [await Session.open(bundle), await Session.open(bundle)]
  await bundle.advance(10_000)
  await settler.begin()
  await finish(
    settler,
    leases.slice(0, 1).map((lease) => ({ ...lease, resultText: '1' })),
  )

  expect(byJob(await extend(heart, leases))).toEqual({ [busy]: 'busy', [free]: 'extended' })
  await settler.commit()

  expect(byJob(await extend(heart, leases))).toEqual({ [busy]: 'gone', [free]: 'extended' })
})

it('is not held up by a step that keeps its lease from going away', async () => {
  const bundle = await setup()
  await bundle.add()
  const lease = await bundle.take()
  const [step, heart] = [await Session.open(bundle), await Session.open(bundle)]
  await step.begin()
  await step.query('select 1 from fencepost.leased for key share')

  expect(await extend(heart, [lease])).toMatchObject([{ answer: 'extended' }])
  await step.rollback()
})

it('answers gone for a lease that was settled after the scan had begun', async () => {
  const bundle = await setup()
  const [first, second] = [await bundle.add(), await bundle.add()]
  const leases = await claim(bundle.db, { queue: 'default', limit: 2, worker: 'w1' })
  const [gate, heart] = [await Session.open(bundle), await Session.open(bundle)]
  const pause = await pauseScansOfLeased(gate, heart)

  const answers = extend(heart, leases)
  await untilBlocked(bundle.sql, heart.pid, answers)
  await finish(
    bundle.db,
    leases.slice(1).map((lease) => ({ ...lease, resultText: '1' })),
  )
  await pause.resume()

  expect(byJob(await answers)).toEqual({ [first]: 'extended', [second]: 'gone' })
})

it('extends a lease that was flagged after the scan had begun, and tells of the flag', async () => {
  const bundle = await setup()
  const id = await bundle.add()
  const lease = await bundle.take()
  const [gate, heart] = [await Session.open(bundle), await Session.open(bundle)]
  await bundle.advance(10_000)
  const pause = await pauseScansOfLeased(gate, heart)

  const answers = extend(heart, [lease])
  await untilBlocked(bundle.sql, heart.pid, answers)
  await cancel(bundle.db, [id], null)
  await pause.resume()

  expect(await answers).toMatchObject([{ answer: 'extended', cancelRequested: true }])
  expect(await bundle.sql(left)).toEqual([{ s: 30 }])
})
