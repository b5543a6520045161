import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { audit } from '../../src/audit/audit.js'
import { type AnyTask, type Fencepost, task } from '../../src/index.js'
import { claim } from '../../src/store/lease.js'
import { fail, finish, release } from '../../src/store/settle.js'
import { gates } from '../harness/gates.js'
import { anything, door, next, setupWorker } from './setup.js'

const soon = { poll: '20ms' } as const

interface Keyed {
  readonly key: string
  readonly n: number
}

/** How many handlers run at the same time, by key, as they see it themselves. */
class Crowd {
  readonly most = new Map<string, number>()
  readonly order = new Map<string, number[]>()
  readonly #now = new Map<string, number>()

  async pass({ key, n }: Keyed, work: () => Promise<unknown>): Promise<void> {
    const now = (this.#now.get(key) ?? 0) + 1
    this.#now.set(key, now)
    this.most.set(key, Math.max(now, this.most.get(key) ?? 0))
    this.order.set(key, [...(this.order.get(key) ?? []), n])
    await work()
    this.#now.set(key, (this.#now.get(key) as number) - 1)
  }
}

const results = (jobs: readonly { result(options: object): Promise<unknown> }[]) =>
  Promise.all(jobs.map((job) => job.result({ timeout: '50s' })))

async function counters(fp: Fencepost, ids: readonly string[]) {
  const jobs = await Promise.all(ids.map((id) => fp.job(id)))
  const sum = (of: (job: (typeof jobs)[number]) => number) => jobs.reduce((total, job) => total + of(job), 0)
  return {
    failures: sum((job) => job.failures),
    losses: sum((job) => job.losses),
    releases: sum((job) => job.releases),
  }
}

it('runs no more jobs of a key than its limit, whatever the worker, and leaves nothing behind', async () => {
  const { db, fp, client, sql } = await setupWorker()
  const crowd = new Crowd()
  const limits = { one: 1, two: 2, five: 5, ten: 10 }
  const tasks = Object.entries(limits).map(([key, limit]) =>
    task(key, {
      input: anything,
      gate: { key, limit },
      run: (n) => crowd.pass({ key, n: n as number }, () => pause(1)),
    }),
  )
  const jobs = []
  for (const one of tasks) {
    jobs.push(
      ...(await fp.enqueueMany(
        one,
        Array.from({ length: 60 }, (_, n) => ({ input: n })),
      )),
    )
  }
  // Four workers with twenty handlers each: eighty that would like to run.
  for (let i = 0; i < 4; i++) await (await client()).work(tasks, { ...soon, concurrency: 20 })
  await results(jobs)

  for (const [key, limit] of Object.entries(limits)) expect(crowd.most.get(key), key).toBeLessThanOrEqual(limit)
  expect(crowd.most.get('ten')).toBeGreaterThan(1)
  expect(
    await counters(
      fp,
      jobs.map(({ id }) => id),
    ),
  ).toEqual({ failures: 0, losses: 0, releases: 0 })
  expect((await audit(db)).findings).toEqual([])
  await expect.poll(() => sql('select key from fencepost.gate')).toEqual([])
})

it('a strict gate runs them one at a time in the order of their enqueueing, whatever fails', async () => {
  const { fp } = await setupWorker()
  const crowd = new Crowd()
  const ledger = task('ledger', {
    input: anything,
    retry: { limit: 2, delay: 5, jitter: 0 },
    gate: { key: (input) => (input as Keyed).key, strict: true },
    run: (input, job) =>
      crowd.pass(input as Keyed, async () => {
        if ((input as Keyed).n % 5 === 3 && job.failures === 0) throw new Error('once')
      }),
  })
  const inputs = Array.from({ length: 40 }, (_, i) => ({ key: i % 2 ? 'a' : 'b', n: i >> 1 }))
  const jobs = await fp.enqueueMany(
    ledger,
    inputs.map((input) => ({ input })),
  )
  await fp.work([ledger], { ...soon, concurrency: 10 })
  await results(jobs)

  const expected = Array.from({ length: 20 }, (_, n) => (n % 5 === 3 ? [n, n] : [n])).flat()
  expect(crowd.order.get('a')).toEqual(expected)
  expect(crowd.order.get('b')).toEqual(expected)
})

describe('a group with a limit per process', () => {
  const tenants = (run: AnyTask['run'], retries = 5) =>
    task('tenants', {
      input: anything,
      retry: { limit: retries },
      group: { id: (input) => (input as Keyed).key, perProcess: 1 },
      run,
    })

  it('never fetches a job that it has no room for', async () => {
    const { fp, sql } = await setupWorker()
    const crowd = new Crowd()
    const one = tenants((input) => crowd.pass(input as Keyed, () => pause(1)), 0)
    const jobs = await fp.enqueueMany(one, [{ input: { key: 'a', n: 1 } }, { input: { key: 'a', n: 2 } }])
    await fp.work([one], { ...soon, concurrency: 2 })
    await results(jobs)

    expect(crowd.most.get('a')).toBe(1)
    expect(
      await counters(
        fp,
        jobs.map(({ id }) => id),
      ),
    ).toEqual({ failures: 0, losses: 0, releases: 0 })
    expect(await sql('select * from fencepost.attempt')).toEqual([])
  })

  for (const busy of [0, 1]) {
    it(`keeps a busy group from the others’ way, ${busy ? 'with handlers that take time' : 'with quick handlers'}`, async () => {
      const { db, fp, sql } = await setupWorker()
      const crowd = new Crowd()
      const one = tenants((input) => crowd.pass(input as Keyed, () => pause(busy * 2)), 0)
      const inputs = [
        ...Array.from({ length: 200 }, (_, n) => ({ key: 'busy', n })),
        ...Array.from({ length: 100 }, (_, n) => ({ key: `tenant ${n % 20}`, n })),
      ]
      const jobs = await fp.enqueueMany(
        one,
        inputs.map((input) => ({ input })),
      )
      await fp.work([one], { ...soon, concurrency: 20 })
      await results(jobs)

      expect(Math.max(...crowd.most.values())).toBe(1)
      expect(
        await counters(
          fp,
          jobs.map(({ id }) => id),
        ),
      ).toEqual({ failures: 0, losses: 0, releases: 0 })
      expect(await sql('select * from fencepost.attempt')).toEqual([])
      expect((await audit(db)).findings).toEqual([])
    })
  }

  it('lets each process run its own', async () => {
    const { fp, client } = await setupWorker()
    const open = door()
    let running = 0
    const both = new Promise<void>((resolve) => {
      const one = tenants(async () => {
        if (++running === 2) resolve()
        await open.pass()
      })
      void (async () => {
        await fp.enqueueMany(one, [{ input: { key: 'a', n: 1 } }, { input: { key: 'a', n: 2 } }])
        await fp.work([one], soon)
        await (await client()).work([one], soon)
      })()
    })
    await both
    open.open()
    expect(running).toBe(2)
  })
})

it('limits a group by its tier', async () => {
  const { fp } = await setupWorker()
  const crowd = new Crowd()
  const report = task('report', {
    input: anything,
    group: {
      id: (input) => (input as Keyed).key,
      tier: (input) => ((input as Keyed).key === 'rich' ? 'pro' : undefined),
      limit: { default: 1, pro: 3 },
    },
    run: (input) => crowd.pass(input as Keyed, () => pause(2)),
  })
  const inputs = Array.from({ length: 60 }, (_, n) => ({ key: n % 2 ? 'rich' : 'poor', n }))
  const jobs = await fp.enqueueMany(
    report,
    inputs.map((input) => ({ input })),
  )
  await fp.work([report], { ...soon, concurrency: 20 })
  await results(jobs)
  expect(crowd.most.get('poor')).toBe(1)
  expect(crowd.most.get('rich')).toBe(3)
})

describe('counters', () => {
  const one = { gatesText: gates({ key: 'group:a', local: 1 }) }

  it('a job with no failures to spare survives any number of give-backs', async () => {
    const { db, add, see } = await setupWorker()
    const id = await add({ ...one, failuresMax: 0, lossesMax: 0 })
    for (let n = 0; n < 50; n++) {
      const [lease] = await claim(db, { queue: 'default', limit: 1, worker: 'w' })
      await release(db, [lease as NonNullable<typeof lease>], 'no_room')
    }
    const [lease] = await claim(db, { queue: 'default', limit: 1, worker: 'w' })
    await finish(db, [{ ...(lease as NonNullable<typeof lease>), resultText: '{}' }])
    expect(await see(id)).toMatchObject({ outcome: 'succeeded', failures: 0, losses: 0, releases: 50 })
  })

  it('a job that failed once, was claimed, given back and claimed again has failed once and was given back once', async () => {
    const { db, add, see, take } = await setupWorker()
    const id = await add(one)
    await fail(db, [{ ...(await take()), errorText: '{}', delayMs: 0, final: false }])
    await release(db, [await take()], 'no_room')
    await finish(db, [{ ...(await take()), resultText: '{}' }])
    expect(await see(id)).toMatchObject({ outcome: 'succeeded', failures: 1, losses: 0, releases: 1 })
  })
})

it('admits a job that another transaction enqueued, as soon as it commits', async () => {
  const { fp } = await setupWorker()
  const plain = task('plain', { input: anything, gate: { key: 'k' }, run: (n) => n })
  await fp.work([plain], { poll: '30s' }) // polling would be too late
  await (await fp.enqueue(plain, 0)).result({ timeout: '10s' })

  const job = await fp.transaction((tx) => fp.enqueue(plain, 1, { tx }))
  expect(await job.result({ timeout: '10s' })).toBe(1)
})

it('passes the slot on when a handler commits in a transaction of its own', async () => {
  const { fp } = await setupWorker()
  const paid = task('paid', {
    input: anything,
    gate: { key: 'k' },
    run: (n, job) => job.commit(async (tx) => (await tx.query('select $1::int as n', [n])).rows[0]),
  })
  await fp.work([paid], { poll: '30s' })
  const jobs = await fp.enqueueMany(
    paid,
    Array.from({ length: 20 }, (_, n) => ({ input: n })),
  )
  expect(await results(jobs)).toEqual(Array.from({ length: 20 }, (_, n) => ({ n })))
})

it('no longer counts a holder that overruns, and its end frees nothing twice', async () => {
  const { db, fp, advance } = await setupWorker()
  const crowd = new Crowd()
  const [late, held] = [door(), door()]
  const slow = task('slow', {
    input: anything,
    lease: '1h',
    gate: { key: 'k', overrun: { after: '5m', then: 'admit' } },
    run: (n) =>
      crowd.pass({ key: 'k', n: n as number }, async () => (n === 0 ? late : n === 1 ? held : undefined)?.pass()),
  })
  await fp.work([slow], { ...soon, concurrency: 5 })
  const [lateIsIn, heldIsIn, overrun] = [late.reached(), held.reached(), next(fp, 'overrun')]
  const first = await fp.enqueue(slow, 0)
  await lateIsIn
  const rest = await fp.enqueueMany(slow, [{ input: 1 }, { input: 2 }])
  await advance(6 * 60_000)
  expect(await overrun).toMatchObject({ jobId: first.id, key: 'gate:k' })
  await heldIsIn // beside the late one

  late.open()
  await first.result({ timeout: '20s' })
  expect(await fp.job(rest[1]?.id as string)).toMatchObject({ place: 'waiting' }) // its end admitted nobody
  held.open()
  await results(rest)

  expect(crowd.most.get('k')).toBe(2)
  expect((await audit(db)).findings).toEqual([])
})
