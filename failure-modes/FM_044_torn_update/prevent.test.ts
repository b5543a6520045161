import { expect, it } from 'vitest'
import { audit } from '../../src/audit/audit.js'
import { type JobContext, task } from '../../src/index.js'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'
import { anything, door, setupWorker } from '../../test/worker/setup.js'

it('FM_044: in one transaction there is no between, and a step is remembered after it was done', async () => {
  const { prevent } = await bundleUnderTest('FM_044')

  const played = await prevent()

  expect(noteOf(played, 'A', 'pays, is killed')).toBe('committed, then killed before the reply')
  expect(noteOf(played, 'C', 'takes leases back')).toBe('lease 2 lost')
  expect(noteOf(played, 'C', 'goes on with it')).toBe('ambiguous, written before, finished')
  expect(played.violations).toEqual([])
})

/** A table of orders that were paid, by their key, and a task that runs the given handler. */
async function setupOrders() {
  const bundle = await setupWorker()
  await bundle.sql('create table paid (key text primary key, attempt int)')
  return {
    ...bundle,
    aTask: (run: (job: JobContext) => Promise<unknown>) =>
      task('pay', { input: anything, retry: { limit: 2, delay: 1 }, run: (_, job) => run(job) }),
    paid: async () => (await bundle.sql<{ attempt: number }>('select attempt from paid')).map(({ attempt }) => attempt),
    /** Which steps have a result. */
    remembered: () => bundle.sql('select name, result from fencepost.step where done_at is not null'),
  }
}

const soon = { poll: '20ms' } as const

it('FM_044: a connection that breaks between the write of job.commit and its outcome leaves neither', async () => {
  const { fp, db, sql, aTask, paid, see } = await setupOrders()
  const gate = door()
  let [pid, runs] = [0, 0]
  const pay = aTask((job) =>
    job.commit(async (tx) => {
      await tx.query(`insert into paid values ('o-1', $1)`, [++runs])
      if (runs === 1) {
        pid = ((await tx.query('select pg_backend_pid() as pid')).rows[0] as { pid: number }).pid
        await gate.pass()
      }
      return runs
    }),
  )
  await fp.work([pay], soon)
  const written = gate.reached()
  const job = await fp.enqueue(pay, null)
  await written

  await sql('select pg_terminate_backend($1, 5000)', [pid])
  expect(await paid()).toEqual([])
  expect(await see(job.id)).toMatchObject({ place: 'leased', outcome: null })
  gate.open()

  expect(await job.result({ timeout: '10s' })).toBe(2)
  expect(await paid()).toEqual([2])
  // The same attempt, in a transaction of its own: nobody is charged for a connection.
  expect(await see(job.id)).toMatchObject({ outcome: 'succeeded', tries: 1, failures: 0 })
  expect(await audit(db)).toMatchObject({ ok: true })
})

it('FM_044: a worker that is gone between the write of a step and its result has left no result to believe', async () => {
  const { fp, client, sql, aTask, paid, remembered, loseAll } = await setupOrders()
  const gate = door()
  const pay = aTask((job) =>
    job.step('pay', async ({ key }) => {
      await sql('insert into paid values ($1, $2) on conflict do nothing', [key, job.attempt])
      if (job.attempt === 1) await gate.pass()
      return job.attempt
    }),
  )
  const doomed = await fp.work([pay], { ...soon, concurrency: 1 })
  const written = gate.reached()
  const job = await fp.enqueue(pay, null)
  await written
  void doomed.stop() // it must not take the job up again
  await loseAll()
  expect(await paid()).toEqual([1])
  expect(await remembered()).toEqual([])

  const other = await client()
  await other.work([pay], soon)

  expect(await other.result(job.id, { timeout: '10s' })).toBe(2)
  expect(await paid()).toEqual([1])
  expect(await remembered()).toEqual([{ name: 'pay', result: 2 }])
})

it('FM_044: a step whose write fails has no result, and the next attempt writes', async () => {
  const { fp, sql, aTask, paid, remembered } = await setupOrders()
  const before: unknown[] = []
  const pay = aTask((job) =>
    job.step('pay', async ({ key }) => {
      before.push(await remembered())
      await sql('insert into paid values ($1, $2)', [job.attempt === 1 ? null : key, job.attempt])
      return 'paid'
    }),
  )
  await fp.work([pay], soon)

  const job = await fp.enqueue(pay, null)

  expect(await job.result({ timeout: '10s' })).toBe('paid')
  expect(before).toEqual([[], []])
  expect(await paid()).toEqual([2])
  expect(await remembered()).toEqual([{ name: 'pay', result: 'paid' }])
})
