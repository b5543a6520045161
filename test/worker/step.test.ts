import { expect, it } from 'vitest'
import { audit } from '../../src/audit/audit.js'
import { type JobContext, type StepOptions, task } from '../../src/index.js'
import { anything, door, next, setupWorker } from './setup.js'

const soon = { poll: '20ms' } as const

function aTask(run: (job: JobContext) => Promise<unknown>, timeout: '15m' | false = '15m') {
  return task('charge', { input: anything, timeout, retry: { limit: 3, delay: 1 }, run: (_, job) => run(job) })
}

it('does a step once: a later attempt gets its result', async () => {
  const { fp } = await setupWorker()
  const calls: string[] = []
  const charge = aTask(async (job) => {
    const paid = await job.step('pay', ({ key }) => {
      calls.push(key)
      return { receipt: 7, at: new Date(0) }
    })
    if (job.attempt < 3) throw new Error('after the step')
    return paid
  })
  await fp.work([charge], soon)

  const job = await fp.enqueue(charge, null)

  expect(await job.result({ timeout: '10s' })).toEqual({ receipt: 7, at: '1970-01-01T00:00:00.000Z' })
  expect(calls).toHaveLength(1)
})

it('repeats a step that threw, with the same key', async () => {
  const { fp } = await setupWorker()
  const keys: string[] = []
  const charge = aTask((job) =>
    job.step('pay', ({ key }) => {
      keys.push(key)
      if (keys.length < 3) throw new Error('no answer')
      return 'paid'
    }),
  )
  await fp.work([charge], soon)

  const job = await fp.enqueue(charge, null)

  expect(await job.result({ timeout: '10s' })).toBe('paid')
  expect(keys).toHaveLength(3)
  expect(new Set(keys).size).toBe(1)
})

/** A step that an attempt began and never ended, because its worker is gone. */
async function setupAmbiguous(options: StepOptions<string>) {
  const bundle = await setupWorker()
  const calls: string[] = []
  const gate = door()
  const stuck = aTask((job) => job.step('pay', () => gate.pass()))
  const charge = aTask((job) =>
    job.step(
      'pay',
      () => {
        calls.push('pay')
        return 'paid again'
      },
      options,
    ),
  )
  const zombie = await bundle.fp.work([stuck], { ...soon, grace: 0 })
  const running = gate.reached()
  const job = await bundle.fp.enqueue(stuck, null)
  await running
  await bundle.loseAll()
  await zombie.stop()
  return { ...bundle, job, calls, charge, other: await bundle.client() }
}

it('repeats an ambiguous step by default', async () => {
  const { other, charge, job, calls } = await setupAmbiguous({})
  await other.work([charge], soon)

  expect(await other.result(job.id, { timeout: '10s' })).toBe('paid again')
  expect(calls).toEqual(['pay'])
})

it.each([
  [{ happened: true, result: 'paid before' } as const, 'paid before', []],
  [{ happened: false } as const, 'paid again', ['pay']],
])('asks whether an ambiguous step happened, once the old attempt must be over: %o', async (known, result, done) => {
  const asked: string[] = []
  const { other, charge, job, calls, see, advance, db } = await setupAmbiguous({
    onAmbiguous: async ({ key }) => {
      asked.push(key)
      return known
    },
  })
  const parked = next(other, 'parked')
  await other.work([charge], soon)
  await parked
  expect(await see(job.id)).toMatchObject({ place: 'parked' })
  expect(asked).toEqual([])

  await advance(15 * 60_000)

  expect(await other.result(job.id, { timeout: '10s' })).toBe(result)
  expect(asked).toHaveLength(1)
  expect(calls).toEqual(done)
  expect(await audit(db)).toMatchObject({ ok: true })
})

it('parks an ambiguous step for a person, who says whether it happened', async () => {
  const { other, charge, job, calls, see, advance } = await setupAmbiguous({ onAmbiguous: 'park' })
  const first = next(other, 'parked')
  await other.work([charge], soon)
  await first
  const second = next(other, 'parked')
  await advance(15 * 60_000)
  await second
  expect(await see(job.id)).toMatchObject({ place: 'parked' })

  expect(await other.signal(job.id, 'step:pay', { happened: true, result: 'paid before' })).toBe('woken')

  expect(await other.result(job.id, { timeout: '10s' })).toBe('paid before')
  expect(calls).toEqual([])
})

it('does not let an attempt that lost its lease begin or end a step', async () => {
  const { fp, loseAll, sql } = await setupWorker()
  const [before, inside] = [door(), door()]
  let began = false
  const charge = aTask(async (job) => {
    await before.pass()
    return job.step('pay', async () => {
      began = true
      await inside.pass()
    })
  })
  const zombie = await fp.work([charge], { ...soon, concurrency: 2 })
  const reached = before.reached()
  await fp.enqueue(charge, null)
  await reached
  const stale = next(fp, 'stale')
  await loseAll()
  void zombie.stop()
  before.open()
  expect(await stale).toMatchObject({ said: 'failed' })
  expect(began).toBe(false)
  expect(await sql('select * from fencepost.step')).toEqual([])
  inside.open()
})

it('sleeps without holding a worker, and goes on after the time has passed', async () => {
  const { fp, see, advance } = await setupWorker()
  const nap = aTask(async (job) => {
    await job.sleep('a while', '3d')
    return `awake at attempt ${job.attempt}`
  })
  await fp.work([nap], soon)
  const parked = next(fp, 'parked')
  const job = await fp.enqueue(nap, null)
  await parked
  expect(await see(job.id)).toMatchObject({ place: 'parked', failures: 0, losses: 0, releases: 0 })

  await advance(3 * 86_400_000)

  expect(await job.result({ timeout: '10s' })).toBe('awake at attempt 2')
  expect(await see(job.id)).toMatchObject({ outcome: 'succeeded', tries: 2, failures: 0, losses: 0, releases: 0 })
})

it('waits for a signal, and keeps one that came before', async () => {
  const { fp, add } = await setupWorker()
  const asks = aTask(async (job) => ({ first: await job.waitFor('first'), second: await job.waitFor('second') }))
  const id = await add({ task: 'charge' })
  expect(await fp.signal(id, 'second', 2)).toBe('kept')
  const parked = next(fp, 'parked')
  await fp.work([asks], soon)
  await parked

  expect(await fp.signal(id, 'first', 1)).toBe('woken')

  expect(await fp.result(id, { timeout: '10s' })).toEqual({ first: 1, second: 2 })
})

it('tells a handler that its signal did not come in time', async () => {
  const { fp, advance } = await setupWorker()
  const asks = aTask((job) =>
    job.waitFor('approval', { timeout: '1h' }).catch((error: { code: string }) => {
      if (error.code !== 'FP_SIGNAL_TIMEOUT') throw error
      return 'without approval'
    }),
  )
  await fp.work([asks], soon)
  const parked = next(fp, 'parked')
  const job = await fp.enqueue(asks, null)
  await parked

  await advance(3_600_000)

  expect(await job.result({ timeout: '10s' })).toBe('without approval')
})

it('refuses a name that would be too long to wait for, before the step has begun', async () => {
  const { fp, sql } = await setupWorker()
  const charge = task('charge', {
    input: anything,
    retry: { limit: 0 },
    run: (length, job) => job.step('x'.repeat(length as number), () => 'paid', { onAmbiguous: 'park' }),
  })
  await fp.work([charge], soon)
  const [right, wrong] = await fp.enqueueMany(charge, [{ input: 195 }, { input: 196 }])
  expect(await right?.result({ timeout: '10s' })).toBe('paid')
  await expect(wrong?.result({ timeout: '10s' })).rejects.toThrow('the step’s name is longer than 195 characters')
  expect(await sql('select count(*)::int as n from fencepost.step where job_id = $1', [wrong?.id])).toEqual([{ n: 0 }])
})
