import { setTimeout as pause } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { task } from '../../src/index.js'
import type { Execution } from '../../src/worker/executor.js'
import { Lanes } from '../../src/worker/lanes.js'
import { anything, door, next, setupWorker } from './setup.js'

const soon = { poll: '20ms' } as const

/** Handlers that wait at a door each, and how many of them run at the same time. */
function counted(name: string, queue: string) {
  const gate = door()
  const seen = { running: 0, most: 0, began: [] as unknown[] }
  const definition = task(name, {
    input: anything,
    queue,
    async run(n) {
      seen.began.push(n)
      seen.most = Math.max(seen.most, ++seen.running)
      await gate.pass()
      seen.running--
    },
  })
  return { task: definition, gate, seen }
}

it('has a slot for no more than its concurrency, and of a queue for no more than its own', () => {
  const lanes = new Lanes(3, { mail: 1, reports: 3 })
  const enters = (queue: string) => lanes.enter({ lease: { queue } } as Execution)

  expect(['mail', 'mail', 'reports', 'reports', 'reports'].map(enters)).toEqual([true, false, true, true, false])
})

it('runs no more handlers than its concurrency, and of a queue no more than its own', async () => {
  const { fp } = await setupWorker()
  const mail = counted('mail', 'mail')
  const report = counted('report', 'reports')
  const jobs = []
  for (let n = 0; n < 6; n++) jobs.push(await fp.enqueue(mail.task, n), await fp.enqueue(report.task, n))
  const full = new Promise<void>((resolve) => {
    let claimed = 0
    fp.on('claimed', () => ++claimed === 4 && resolve())
  })

  await fp.work([mail.task, report.task], { ...soon, concurrency: 4, queues: { mail: 1 } })
  await full
  mail.gate.open()
  report.gate.open()
  await Promise.all(jobs.map((job) => job.result({ timeout: '10s' })))

  expect(mail.seen.most).toBe(1)
  expect(report.seen.most).toBe(3)
})

it('serves a queue that only `queues` names', async () => {
  const { fp } = await setupWorker()
  const plain = task('plain', { input: anything, run: () => 'done' })
  await fp.work([plain], { ...soon, queues: { special: 2 } })

  const job = await fp.enqueue(plain, null, { queue: 'special' })

  expect(await job.result({ timeout: '10s' })).toBe('done')
})

it('runs the more urgent job first', async () => {
  const { fp } = await setupWorker()
  const { task: one, gate, seen } = counted('one', 'default')
  gate.open()
  const jobs = [
    await fp.enqueue(one, 'late', { priority: 5 }),
    await fp.enqueue(one, 'first', { priority: -5 }),
    await fp.enqueue(one, 'second'),
  ]

  await fp.work([one], { ...soon, concurrency: 1 })
  await Promise.all(jobs.map((job) => job.result({ timeout: '10s' })))

  expect(seen.began).toEqual(['first', 'second', 'late'])
})

it('gives back, at no charge, what it claimed ahead for handlers that then take longer', async () => {
  const { fp, sql } = await setupWorker()
  const gate = door()
  const quick = task('quick', {
    input: anything,
    run: (n) => (n === 'slow' ? gate.pass() : undefined),
  })
  await fp.enqueueMany(
    quick,
    Array.from({ length: 500 }, (_, n) => ({ input: n })),
  )
  await fp.enqueueMany(
    quick,
    Array.from({ length: 500 }, () => ({ input: 'slow' })),
  )
  const released = next(fp, 'released')

  const worker = await fp.work([quick], { ...soon, concurrency: 2, grace: 0 })

  expect(await released).toMatchObject({ reason: 'no_room' })
  // Those that were claimed ahead and have begun since count as begun: if their worker dies now, that is a loss.
  await expect
    .poll(() => sql('select started_at is not null as begun from fencepost.leased'))
    .toEqual([{ begun: true }, { begun: true }])
  await worker.stop()
  const [row] = await sql(
    `select (select count(*)::int from fencepost.leased) as leased,
            (select count(*)::int from fencepost.ready) + (select count(*)::int from fencepost.finished) as "all",
            (select count(*)::int from fencepost.ready where losses + failures > 0) as charged`,
  )
  expect(row).toEqual({ leased: 0, all: 1_000, charged: 0 })
})

it('claims nothing ahead for slow handlers', async () => {
  const { fp, sql } = await setupWorker()
  const { task: slow, gate, seen } = counted('slow', 'default')
  await fp.enqueueMany(
    slow,
    Array.from({ length: 50 }, (_, n) => ({ input: n })),
  )
  await fp.work([slow], { ...soon, concurrency: 3, grace: 0 })
  await expect.poll(() => seen.running).toBe(3)

  expect(await sql('select count(*)::int from fencepost.leased')).toEqual([{ count: 3 }])
  gate.open()
})

it('runs a job whose worker died under it without neighbours', async () => {
  const { fp, loseAll, take, add } = await setupWorker()
  const suspects = [1, 2, 3].map((n) => add({ task: 'work', payloadText: `"suspect ${n}"` }))
  const suspectIds = await Promise.all(suspects)
  for (const _ of suspectIds) await take()
  await loseAll()
  const running = new Set<unknown>()
  const besideSuspect: unknown[] = []
  const isSuspect = (n: unknown) => String(n).startsWith('suspect')
  let steps = 0
  const work = task('work', {
    input: anything,
    async run(n) {
      running.add(n)
      // Long enough for a neighbour to come: several turns of the event loop and of the worker.
      for (let i = 0; i < 20; i++) {
        steps++
        if ([...running].some(isSuspect) && running.size > 1) besideSuspect.push(...running)
        await new Promise((resolve) => setImmediate(resolve))
      }
      running.delete(n)
    },
  })
  const jobs = await fp.enqueueMany(
    work,
    Array.from({ length: 100 }, (_, n) => ({ input: n })),
  )
  await fp.work([work], { ...soon, concurrency: 10 })

  for (const id of suspectIds) await fp.result(id, { timeout: '10s' })
  await Promise.all(jobs.map((job) => job.result({ timeout: '10s' })))

  expect(steps).toBe(103 * 20)
  expect(besideSuspect).toEqual([])
})

it('runs such a job also if there is always something else to do', async () => {
  const { fp, loseAll, take, add } = await setupWorker()
  const id = await add({ task: 'suspect' })
  await take()
  await loseAll()
  let isDone = false
  let begun = () => {}
  const suspect = task('suspect', { input: anything, run: () => void (isDone = true) })
  // Each ends when the next one has begun, so that the worker is never idle by itself; or when that is not claimed.
  const endless = task('endless', {
    input: anything,
    run: async (): Promise<void> => {
      begun()
      if (isDone) return
      const nextBegun = new Promise<void>((resolve) => (begun = resolve))
      await fp.enqueue(endless, null)
      await Promise.race([nextBegun, pause(1_000)])
    },
  })
  await fp.enqueue(endless, null)

  await fp.work([suspect, endless], { ...soon, concurrency: 4 })

  await fp.result(id, { timeout: '8s' })
})
