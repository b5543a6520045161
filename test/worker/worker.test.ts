import { expect, it, onTestFinished, vi } from 'vitest'
import { NonRetryable, RetryAfter, task } from '../../src/index.js'
import { audit } from '../../src/audit/audit.js'
import { Session } from '../harness/session.js'
import { anything, door, next, setupWorker } from './setup.js'

const soon = { poll: '20ms' } as const

it('runs a job and gives back its result', async () => {
  const { fp, db, see } = await setupWorker()
  const double = task('double', { input: anything, run: (n) => (n as number) * 2 })
  await fp.work([double], soon)

  const job = await fp.enqueue(double, 21)

  expect(await job.result({ timeout: '10s' })).toBe(42)
  expect(await see(job.id)).toMatchObject({ outcome: 'succeeded', tries: 1, failures: 0 })
  expect(await audit(db)).toMatchObject({ ok: true, warnings: 0 })
})

it('claims nothing before it is registered', async () => {
  const bundle = await setupWorker()
  const { fp, add, advance } = bundle
  const claimed: string[] = []
  fp.on('claimed', ({ jobId }) => claimed.push(jobId))
  const holder = await Session.open(bundle)
  await holder.begin()
  await holder.query('lock table fencepost.action in access exclusive mode') // the first that it registers
  const working = fp.work([task('test', { input: anything, run: () => null })], soon)

  // Its maintenance is at work, and tells it of each job that becomes ready.
  for (let jobs = 1; jobs <= 10; jobs++) {
    const promoted = next(fp, 'promoted')
    await add({ delayMs: 1 })
    await advance(10)
    await promoted
  }

  expect(claimed).toEqual([])
  const finished = new Promise<void>((resolve) => {
    let jobs = 0
    fp.on('finished', () => ++jobs === 10 && resolve())
  })
  await holder.rollback()
  await working
  await finished
})

it('tries again after a failure, and ends the job when the failures are used up', async () => {
  const { fp, see } = await setupWorker()
  const no = task('no', {
    input: anything,
    retry: { limit: 2, delay: 1 },
    run: () => {
      throw new Error('no')
    },
  })
  await fp.work([no], soon)

  const job = await fp.enqueue(no, null)

  await expect(job.result({ timeout: '10s' })).rejects.toMatchObject({
    code: 'FP_JOB_NOT_SUCCEEDED',
    message: expect.stringContaining('failures_exhausted') as string,
  })
  expect(await see(job.id)).toMatchObject({ outcome: 'failed', tries: 3, failures: 3, reason: 'failures_exhausted' })
})

it('ends a job at once after NonRetryable, and waits as long as RetryAfter says', async () => {
  const { fp, see, sql } = await setupWorker()
  const never = task('never', {
    input: anything,
    run: () => {
      throw new NonRetryable('never')
    },
  })
  const later = task('later', {
    input: anything,
    run: () => {
      throw new RetryAfter('10m')
    },
  })
  await fp.work([never, later], soon)

  const first = await fp.enqueue(never, null)
  await expect(first.result({ timeout: '10s' })).rejects.toMatchObject({ code: 'FP_JOB_NOT_SUCCEEDED' })
  expect(await see(first.id)).toMatchObject({ outcome: 'failed', failures: 1, reason: 'not_retryable' })

  const failed = next(fp, 'failed')
  const second = await fp.enqueue(later, null)
  expect(await failed).toMatchObject({ jobId: second.id, outcome: null })
  expect(await see(second.id)).toMatchObject({ place: 'delayed', failures: 1 })
  const [{ minutes } = { minutes: 0 }] = await sql<{ minutes: number }>(
    'select round(extract(epoch from due_at - fencepost.clock()) / 60)::int as minutes from fencepost.delayed',
  )
  expect(minutes).toBe(10)
})

it('fails a job whose stored input no longer fits, and does not try it again', async () => {
  const { fp, add, see } = await setupWorker()
  const strict = task('strict', {
    input: { '~standard': { version: 1, vendor: 'test', validate: () => ({ issues: [{ message: 'too old' }] }) } },
    run: () => 'never reached',
  })
  const id = await add({ task: 'strict' })
  await fp.work([strict], soon)

  await expect(fp.result(id, { timeout: '10s' })).rejects.toMatchObject({
    message: expect.stringContaining('too old') as string,
  })
  expect(await see(id)).toMatchObject({ outcome: 'failed', failures: 1, reason: 'not_retryable' })
})

it('counts the time of a handler from its begin, also of what it does before it first waits', async () => {
  const { fp } = await setupWorker()
  const timers = vi.spyOn(globalThis, 'setTimeout')
  const timed = task('timed', {
    input: anything,
    timeout: 123_457,
    run: () => timers.mock.calls.some(([, ms = 0]) => Math.abs(ms - 123_457) <= 1),
  })
  await fp.work([timed], soon)

  const job = await fp.enqueue(timed, null)

  expect(await job.result({ timeout: '10s' })).toBe(true)
  timers.mockRestore()
})

it('counts a timeout as a failure, tells the handler, and keeps what the handler says later', async () => {
  const { fp, see, sql } = await setupWorker()
  const gate = door()
  let told = false
  const slow = task('slow', {
    input: anything,
    timeout: '50ms',
    retry: { limit: 0 },
    async run(_, job) {
      job.signal.addEventListener('abort', () => {
        told = true
      })
      await gate.pass()
      return 'too late'
    },
  })
  await fp.work([slow], soon)
  const stale = next(fp, 'stale')

  const job = await fp.enqueue(slow, null)
  await expect(job.result({ timeout: '10s' })).rejects.toMatchObject({
    message: expect.stringContaining('timed out after 50 ms') as string,
  })
  gate.open()

  expect(await stale).toMatchObject({
    jobId: job.id,
    task: 'slow',
    queue: 'default',
    said: 'succeeded',
    outcome: 'failed',
  })
  expect(told).toBe(true)
  expect(await see(job.id)).toMatchObject({ outcome: 'failed', failures: 1 })
  expect(await sql('select ending, late_ending, late from fencepost.attempt')).toEqual([
    { ending: 'failed', late_ending: 'succeeded', late: 'too late' },
  ])
})

it('tells a running handler that its job was cancelled, and ends the job', async () => {
  const { fp, see } = await setupWorker()
  const gate = door()
  const patient = task('patient', {
    input: anything,
    async run(_, job) {
      await Promise.all([gate.pass(), new Promise((_resolve, reject) => job.signal.addEventListener('abort', reject))])
    },
  })
  await fp.work([patient], soon)
  const running = gate.reached()
  const job = await fp.enqueue(patient, null)
  await running

  expect(await fp.cancel(job.id)).toMatchObject({ answer: 'requested' })

  await expect(job.result({ timeout: '10s' })).rejects.toMatchObject({ code: 'FP_JOB_NOT_SUCCEEDED' })
  expect(await see(job.id)).toMatchObject({ outcome: 'cancelled', failures: 0, releases: 1 })
})

it('gives a running job back at no charge when the worker stops before it has ended', async () => {
  const { fp, see } = await setupWorker()
  const gate = door()
  onTestFinished(gate.open)
  const endless = task('endless', { input: anything, run: () => gate.pass() })
  const worker = await fp.work([endless], { ...soon, grace: 0 })
  const running = gate.reached()
  const job = await fp.enqueue(endless, null)
  await running

  await worker.stop()

  expect(await see(job.id)).toMatchObject({ place: 'ready', failures: 0, losses: 0, releases: 1 })
})

it('does not take jobs of tasks that it does not know', async () => {
  const { fp, add, see } = await setupWorker()
  const known = task('known', { input: anything, run: () => 'done' })
  const unknown = await add({ task: 'unknown' })
  await fp.work([known], soon)

  const job = await fp.enqueue(known, null)
  await job.result({ timeout: '10s' })

  expect(await see(unknown)).toMatchObject({ place: 'ready', tries: 0 })
})

it('reports duplicate_success when a worker that lost its lease succeeds after all', async () => {
  const { fp, client, see, loseAll } = await setupWorker()
  const other = await client()
  const gate = door()
  const first = task('charge', { input: anything, run: () => gate.pass().then(() => 'first') })
  const second = task('charge', { input: anything, run: () => 'second' })
  const zombie = await fp.work([first], soon)
  const running = gate.reached()
  const job = await fp.enqueue(first, null)
  await running
  const duplicate = next(fp, 'duplicate_success')

  await loseAll()
  void zombie.stop() // it must not take the job up again
  await other.work([second], soon)
  expect(await other.result(job.id, { timeout: '10s' })).toBe('second')
  gate.open()

  expect(await duplicate).toMatchObject({ jobId: job.id })
  expect(await see(job.id)).toMatchObject({ outcome: 'succeeded', losses: 1 })
})
