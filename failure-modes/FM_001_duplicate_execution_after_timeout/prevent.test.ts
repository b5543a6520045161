import { EventEmitter, once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { audit } from '../../src/audit/audit.js'
import { type JobContext, task } from '../../src/index.js'
import { callOutside, installOutsideWorld, outsideCalls } from '../../src/lab/outside-world.js'
import { loseExpired } from '../../src/store/lease.js'
import { finish } from '../../src/store/settle.js'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'
import { setup } from '../../test/harness/setup.js'
import { anything, door, next, setupWorker } from '../../test/worker/setup.js'

it('FM_001: through a transactional finish there is exactly one effect; the late attempt is rolled back', async () => {
  const { prevent } = await bundleUnderTest('FM_001')

  const played = await prevent()

  expect(noteOf(played, 'B', 'commits the effect and the outcome')).toBe('finished')
  expect(noteOf(played, 'A', 'wakes up and commits, too')).toBe('stale, rolled back')
  expect(played.violations).toEqual([])
})

it('FM_001: through a plain finish there is one outcome, and the second success is detected', async () => {
  const { db, add, take, advance, see, sql } = await setup()
  const id = await add()
  const a = await take({ worker: 'A' })
  await advance(31_000)
  await loseExpired(db)
  const b = await take({ worker: 'B' })

  const [first] = await finish(db, [{ ...b, resultText: '"B"' }])
  const [second] = await finish(db, [{ ...a, resultText: '"A"' }])

  expect(first).toMatchObject({ answer: 'finished', duplicate: false })
  expect(second).toMatchObject({ answer: 'stale', outcome: 'succeeded', duplicate: true })
  expect(await see(id)).toMatchObject({ outcome: 'succeeded', losses: 1, failures: 0 })
  expect(await sql('select result from fencepost.finished')).toEqual([{ result: 'B' }])
  expect(await audit(db)).toMatchObject({
    ok: true,
    findings: [{ invariant: 'INV_001', severity: 'warning', jobId: id, problem: '2 attempts reported success' }],
  })
})

/** The first attempt comes to the door, times out there, and goes on only when the second one has finished the job. */
async function timeOut(
  timeout: 'its lease' | 'its task',
  run: (
    job: JobContext,
    wait: () => Promise<void>,
    bundle: Awaited<ReturnType<typeof setupWorker>>,
  ) => Promise<unknown>,
) {
  const bundle = await setupWorker()
  const { fp, client, loseAll, advance, sql, connect } = bundle
  await sql('create table effect (attempt int)')
  const provider = await connect()
  await installOutsideWorld(provider, 'fencepost')
  const gate = door()
  const over = new EventEmitter()
  const aTask = (times: { timeout?: '500ms' }) =>
    task('charge', {
      input: anything,
      ...times,
      retry: { limit: 1, delay: '1h' },
      run: async (_, job) => {
        if (job.attempt > 1) return run(job, async () => {}, bundle)
        const ended = run(job, gate.pass, bundle)
        ended.then(
          () => over.emit('first', 'returned'),
          (error: { code: string }) => over.emit('first', error.code),
        )
        return ended
      },
    })
  const stalls = aTask(timeout === 'its task' ? { timeout: '500ms' } : {})
  const worker = await fp.work([stalls], { poll: '20ms', concurrency: 1 })
  const reached = gate.reached()
  const failed = next(fp, 'failed')
  const stale = next(fp, 'stale')
  const duplicate = next(fp, 'duplicate_success')
  const job = await fp.enqueue(stalls, null)
  await reached
  void worker.stop() // it must not take the job up again
  if (timeout === 'its lease') await loseAll()
  else expect(await failed).toMatchObject({ error: { message: 'timed out after 500 ms' } })
  await advance(2 * 3_600_000) // the retry is due; until now nobody could begin it

  const other = await client()
  await other.work([aTask({})], { poll: '20ms' })
  const result = await other.result(job.id, { timeout: '10s' })
  const firstOver = once(over, 'first') as Promise<[string]>
  gate.open()
  const [first] = await firstOver
  return {
    ...bundle,
    job,
    result,
    /** How the first attempt ended: by returning, or by the code of an error. */
    first,
    stale,
    duplicate,
    effects: async () => (await sql<{ attempt: number }>('select attempt from effect')).map(({ attempt }) => attempt),
    calls: async () => (await outsideCalls(provider, 'fencepost')).map(({ by, charged }) => ({ by, charged })),
    counted: timeout === 'its lease' ? { losses: 1, failures: 0 } : { losses: 0, failures: 1 },
  }
}

describe.each(['its lease', 'its task'] as const)('FM_001: an attempt whose time is up by %s', (timeout) => {
  it('and that returns a value has one outcome, and what it did outside has happened twice, which is told', async () => {
    const { db, job, result, first, stale, duplicate, effects, see, counted } = await timeOut(
      timeout,
      async (j, wait, { sql }) => {
        await wait()
        await sql('insert into effect values ($1)', [j.attempt])
        return j.attempt
      },
    )

    expect(result).toBe(2)
    expect(first).toBe('returned')
    expect(await stale).toMatchObject({ jobId: job.id, said: 'succeeded', outcome: 'succeeded' })
    expect(await see(job.id)).toMatchObject({ outcome: 'succeeded', tries: 2, ...counted })
    // No queue can undo it: that is why there are the two stronger ways.
    expect(await effects()).toEqual([2, 1])
    expect(await duplicate).toMatchObject({ jobId: job.id })
    expect(await audit(db)).toMatchObject({
      ok: true,
      findings: [{ invariant: 'INV_001', severity: 'warning', problem: '2 attempts reported success' }],
    })
  })

  it('and that uses job.commit has exactly one effect: the late one is rolled back', async () => {
    const { db, job, result, first, effects, see, counted } = await timeOut(timeout, (j, wait) =>
      j.commit(async (tx) => {
        await wait()
        await tx.query('insert into effect values ($1)', [j.attempt])
        return j.attempt
      }),
    )

    expect(result).toBe(2)
    expect(first).toBe('FP_LEASE_LOST')
    expect(await effects()).toEqual([2])
    expect(await see(job.id)).toMatchObject({ outcome: 'succeeded', tries: 2, ...counted })
    expect(await audit(db)).toMatchObject({ ok: true })
  })

  it('and that uses job.step has two calls and one effect: they have the same key', async () => {
    const { db, job, result, first, calls, see, counted } = await timeOut(timeout, (j, wait, bundle) =>
      j.step('charge', async ({ key }) => {
        await wait()
        await callOutside(bundle.url, 'fencepost', { jobId: j.id, by: `attempt ${j.attempt}`, key })
        return j.attempt
      }),
    )

    expect(result).toBe(2)
    expect(first).toBe('FP_LEASE_LOST')
    expect(await calls()).toEqual([
      { by: 'attempt 2', charged: true },
      { by: 'attempt 1', charged: false },
    ])
    expect(await see(job.id)).toMatchObject({ outcome: 'succeeded', tries: 2, ...counted })
    expect(await audit(db)).toMatchObject({ ok: true, warnings: 0 })
  })
})
