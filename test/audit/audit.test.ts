import { expect, it } from 'vitest'
import { audit } from '../../src/audit/audit.js'
import { cancel, retryEnded, wake } from '../../src/store/control.js'
import { loseExpired } from '../../src/store/lease.js'
import { fail, finish, park, release } from '../../src/store/settle.js'
import { setup } from '../harness/setup.js'

const failure = { errorText: '{}', delayMs: 0, final: false }

it('is clean after every kind of ending, retries and stale words included', async () => {
  const { db, add, take, advance } = await setup()
  await add() // stays ready
  for (let i = 0; i < 9; i++) await add({ failuresMax: 1, lossesMax: 1 })
  await finish(db, [{ ...(await take()), resultText: '1' }])
  await fail(db, [{ ...(await take()), ...failure }])
  await release(db, [await take()], 'shutdown')
  const parked = await take()
  await park(db, parked, 'approval', null)
  await wake(db, parked.jobId, 'approval', 'true')
  const ended = await take()
  await fail(db, [{ ...ended, ...failure, final: true }])
  await retryEnded(db, [ended.jobId])
  const running = await take()
  await cancel(db, [running.jobId], null)
  await fail(db, [{ ...running, ...failure }])
  await retryEnded(db, [running.jobId])
  const waiting = await take()
  await release(db, [waiting], 'shutdown')
  await cancel(db, [waiting.jobId], null)
  await retryEnded(db, [waiting.jobId])
  const zombies = [await take(), await take({ started: false }), await take()]
  await advance(31_000)
  await loseExpired(db)
  for (const zombie of zombies) await finish(db, [{ ...zombie, resultText: '1' }])
  await take()

  expect(await audit(db)).toMatchObject({ ok: true, violations: 0, findings: [] })
})

it('warns of a job for which two attempts reported success', async () => {
  const { db, add, take, advance } = await setup()
  const id = await add()
  const zombie = await take()
  await advance(31_000)
  await loseExpired(db)
  await finish(db, [{ ...(await take()), resultText: '1' }])
  await finish(db, [{ ...zombie, resultText: '1' }])

  expect(await audit(db)).toMatchObject({
    ok: true,
    warnings: 1,
    findings: [{ invariant: 'INV_001', severity: 'warning', jobId: id, problem: '2 attempts reported success' }],
  })
})

it.each([
  ['INV_006', 'in no place', 'delete from fencepost.ready'],
  [
    'INV_006',
    'in 2 places: delayed, ready',
    'insert into fencepost.delayed select job_id, now(), seq, tries, releases, priority, failures, losses, failures_max, losses_max, queue, task from fencepost.ready',
  ],
  ['INV_006', 'a row in ready, but no such job', 'delete from fencepost.job'],
  [
    'INV_008',
    'tries 0, failures 1, losses 0, releases 0; the log says 0, 0, 0, 0',
    'update fencepost.ready set failures = 1',
  ],
  [
    'INV_008',
    'tries 0, failures 0, losses 1, releases 0; the log says 0, 0, 0, 0',
    'update fencepost.ready set losses = 1',
  ],
  [
    'INV_008',
    'tries 0, failures 0, losses 0, releases 1; the log says 0, 0, 0, 0',
    'update fencepost.ready set releases = 1',
  ],
  [
    'INV_008',
    'tries 1, failures 0, losses 0, releases 0; the log says 0, 0, 0, 0',
    'update fencepost.ready set tries = 1',
  ],
])('finds %s: %s', async (invariant, problem, damage) => {
  const { db, add, sql } = await setup()
  const id = await add()
  await sql(damage)

  expect(await audit(db)).toMatchObject({
    ok: false,
    violations: 1,
    findings: [{ invariant, severity: 'violation', jobId: id, problem }],
  })
})

it.each([
  [
    'succeeded, but the log says that the lease which ended it lost',
    `insert into fencepost.attempt (job_id, lease_id, nonce, ended_at, claimed_at, ending) select job_id, lease_id, nonce, now(), now(), 'lost' from fencepost.finished`,
  ],
  [
    'a success was undone by a retry',
    `insert into fencepost.attempt (job_id, lease_id, nonce, ended_at, ending, outcome, retried_at) select job_id, 99, 0, now(), 'unknown', 'succeeded', now() from fencepost.finished`,
  ],
  [
    'an attempt ended in success, but the job is not finished as succeeded by it',
    `insert into fencepost.attempt (job_id, lease_id, nonce, ended_at, ending) select job_id, 99, 0, now(), 'succeeded' from fencepost.finished`,
  ],
  [
    'ended as failed for failures_exhausted, but that budget is not used up',
    `update fencepost.finished set outcome = 'failed', reason = 'failures_exhausted', tries = 0`,
  ],
])('finds INV_003: %s', async (problem, damage) => {
  const { db, add, take, sql } = await setup()
  const id = await add()
  await finish(db, [{ ...(await take()), resultText: '1' }])
  await sql(damage)

  const { findings } = await audit(db)
  expect(findings).toContainEqual(
    expect.objectContaining({ invariant: 'INV_003', severity: 'violation', jobId: id, problem }),
  )
})

it('neither waits for a transaction that holds rows, nor holds up one that wants them', async () => {
  const { db, add, take, connect, placesOf } = await setup()
  const id = await add()
  const lease = await take()
  const other = await connect()
  await other.query('begin')
  await finish(db, [{ ...lease, resultText: '1' }], other)

  expect(await audit(db)).toMatchObject({ ok: true })

  await other.query('commit')
  expect(await placesOf(id)).toEqual(['finished'])
})

it('shows at most as many findings per check as asked, and says that there are more', async () => {
  const { db, add, sql } = await setup()
  for (let i = 0; i < 3; i++) await add()
  await sql('delete from fencepost.ready')

  const report = await audit(db, 2)

  expect(report.findings).toHaveLength(2)
  expect(report.truncated).toBe(true)
})
