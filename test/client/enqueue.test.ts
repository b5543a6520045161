import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { FencepostEvents } from '../../src/events.js'
import { defaults, limits } from '../../src/limits.js'
import { untilBlockedBy } from '../harness/blocked.js'
import { Session } from '../harness/session.js'
import { task } from '../../src/task/task.js'
import { anything, double, open, rowCounts, setupClient } from './setup.js'

describe('enqueue', () => {
  it('takes the items as they are when it is called, whatever the caller does with the array meanwhile', async () => {
    const { fp } = await setupClient()
    const batch = [{ input: 1, id: randomUUID() }]
    const flush = () => {
      const items = [...batch]
      const enqueued = fp.enqueueMany(anything, items)
      items.length = 0
      return enqueued
    }

    expect(await flush()).toMatchObject([{ id: batch[0]?.id, answer: 'enqueued' }])
    expect(await flush()).toMatchObject([{ id: batch[0]?.id, answer: 'existing' }])
  })

  it('stores a job with the policies of its task', async () => {
    const { fp, sql, placesOf } = await setupClient()
    const charge = task('charge', {
      input: z.object({ orderId: z.string() }),
      queue: 'money',
      priority: -3,
      losses: 7,
      retry: { limit: 9 },
      lease: '12s',
      run: () => {},
    })

    const { id, answer } = await fp.enqueue(charge, { orderId: 'o-1' })

    expect(answer).toBe('enqueued')
    expect(await placesOf(id)).toEqual(['ready'])
    expect(
      await sql('select task, queue, priority, failures_max, losses_max, lease_ms, payload from fencepost.job'),
    ).toEqual([
      {
        task: 'charge',
        queue: 'money',
        priority: -3,
        failures_max: 9,
        losses_max: 7,
        lease_ms: 12_000,
        payload: { orderId: 'o-1' },
      },
    ])
  })

  it('takes the options of one job before those of its task', async () => {
    const { fp, add } = await setupClient()
    await add()
    const id = randomUUID().toUpperCase()
    const enqueued = await fp.enqueue(double, { n: 1 }, { id, queue: 'other', priority: 100, delay: '1h' })

    const job = await fp.job(id)

    expect(enqueued.id).toBe(id.toLowerCase())
    expect(job).toMatchObject({
      id: id.toLowerCase(),
      queue: 'other',
      priority: 100,
      place: 'delayed',
      payload: { n: 1 },
    })
    expect(Number(job.dueAt) - Number(job.createdAt)).toBeCloseTo(3_600_000, -2)
  })

  it('answers existing to the same job again, wherever it is, and touches nothing', async () => {
    const { fp, sql } = await setupClient()
    const id = randomUUID()
    await fp.enqueue(double, { n: 1 }, { id })
    const before = await sql('select * from fencepost.ready')

    expect(await fp.enqueue(double, { n: 1 }, { id, priority: 5, queue: 'other' })).toMatchObject({
      id,
      answer: 'existing',
    })
    expect(await sql('select * from fencepost.ready')).toEqual(before)

    await fp.cancel(id)
    expect(await fp.enqueue(double, { n: 1 }, { id })).toMatchObject({ id, answer: 'existing' })
    expect(await fp.job(id)).toMatchObject({ place: 'finished', outcome: 'cancelled' })
  })

  it('stores what the caller gave, not what the schema makes of it', async () => {
    const { fp } = await setupClient()
    const parsed = task('parsed', { input: z.object({ n: z.coerce.number().default(7) }), run: ({ n }) => n })

    const { id, result } = await fp.enqueue(parsed, {})
    await fp.work([parsed], { poll: '20ms' })

    expect(await result()).toBe(7)
    expect(await fp.job(id)).toMatchObject({ payload: {} })
  })

  it('announces tasks and queues once', async () => {
    const { fp, sql } = await setupClient()
    await Promise.all([fp.enqueue(double, { n: 1 }), fp.enqueue(double, { n: 2 }, { queue: 'other' })])
    await fp.enqueue(double, { n: 3 })
    expect(await sql('select name, queue from fencepost.task order by queue')).toEqual([
      { name: 'double', queue: 'default' },
      { name: 'double', queue: 'other' },
    ])
  })

  it('announces a task again whose announcement failed, though a call meanwhile took it for known', async () => {
    const bundle = await setupClient()
    const { fp, sql } = bundle
    const holder = await Session.open(bundle)
    await holder.begin()
    await holder.client.query('lock table fencepost.task in share mode')
    const refused = fp.enqueue(double, { n: 1 }).catch((error: unknown) => error)
    const pid = await untilBlockedBy(sql, holder)
    await fp.enqueue(double, { n: 2 })
    await sql('select pg_cancel_backend($1)', [pid])
    expect(await refused).toMatchObject({ cause: { code: '57014' } })
    await holder.commit()

    await fp.enqueue(double, { n: 3 })

    expect(await sql('select name from fencepost.task')).toEqual([{ name: 'double' }])
  })

  it('keeps to its own schema', async () => {
    const { fp, url, sql } = await setupClient()
    const other = await open({ database: url, schema: 'user' })

    const { id } = await other.enqueue(double, { n: 1 })

    expect(await sql('select 1 from fencepost.job')).toEqual([])
    expect(await sql('select id from "user".job')).toEqual([{ id }])
    await expect(fp.job(id)).rejects.toThrow(expect.objectContaining({ code: 'FP_JOB_UNKNOWN' }))
  })
})

describe('enqueueMany', () => {
  it('stores all, in the order given', async () => {
    const { fp, sql } = await setupClient()
    const events: FencepostEvents['enqueued'][] = []
    fp.on('enqueued', (event) => events.push(event))

    const enqueued = await fp.enqueueMany(double, [
      { input: { n: 1 } },
      { input: { n: 2 }, priority: -1 },
      { input: { n: 3 }, delay: '1h' },
    ])

    const ids = enqueued.map(({ id }) => id)
    expect(enqueued.map(({ answer }) => answer)).toEqual(['enqueued', 'enqueued', 'enqueued'])
    expect(await sql(`select id, (payload->>'n')::int as n from fencepost.job order by seq`)).toEqual(
      ids.map((id, i) => ({ id, n: i + 1 })),
    )
    expect(events).toEqual(ids.map((jobId) => ({ jobId, task: 'double', queue: 'default' })))
  })

  it('does nothing with nothing', async () => {
    const { fp, sql } = await setupClient()
    expect(await fp.enqueueMany(double, [])).toEqual([])
    expect(await rowCounts(sql)).toMatchObject({ job: 0 })
  })

  it('takes ten thousand jobs and no more', async () => {
    const { fp, sql } = await setupClient()
    const jobs = Array.from({ length: limits.enqueueManyMax }, (_, n) => ({ input: { n } }))
    expect(await fp.enqueueMany(double, jobs)).toHaveLength(limits.enqueueManyMax)
    expect(await rowCounts(sql)).toMatchObject({ job: limits.enqueueManyMax, ready: limits.enqueueManyMax })

    await expect(fp.enqueueMany(double, [...jobs, { input: { n: 0 } }])).rejects.toThrow(
      expect.objectContaining({
        code: 'FP_OPTION_INVALID',
        message: expect.stringContaining('enqueueMany takes at most 10000 jobs, not 10001'),
      }),
    )
    expect(await rowCounts(sql)).toMatchObject({ job: limits.enqueueManyMax })
  })

  it('tells which were there already', async () => {
    const { fp, sql } = await setupClient()
    const { id } = await fp.enqueue(double, { n: 1 })
    const again = await fp.enqueueMany(double, [{ input: { n: 1 }, id }, { input: { n: 2 } }])
    expect(again.map(({ answer }) => answer)).toEqual(['existing', 'enqueued'])
    expect(await rowCounts(sql)).toMatchObject({ job: 2, ready: 2 })
  })

  it('makes one job of an id that is given twice', async () => {
    const { fp, sql } = await setupClient()
    const events: string[] = []
    fp.on('enqueued', ({ jobId }) => events.push(jobId))
    const id = randomUUID()

    const enqueued = await fp.enqueueMany(double, [
      { input: { n: 1 }, id },
      { input: { n: 1 }, id },
    ])

    expect(enqueued.map(({ answer }) => answer)).toEqual(['enqueued', 'existing'])
    expect(events).toEqual([id])
    expect(await rowCounts(sql)).toMatchObject({ job: 1, ready: 1 })
  })

  it('stores none if one of them is bad', async () => {
    const { fp, sql } = await setupClient()
    const good = { input: { n: 1 } }
    await expect(fp.enqueueMany(double, [good, { input: { n: 'x' } as never }])).rejects.toThrow(
      expect.objectContaining({ code: 'FP_INPUT_INVALID' }),
    )
    await expect(fp.enqueueMany(double, [good, { input: { n: 1 }, delay: '-1s' }])).rejects.toThrow(
      expect.objectContaining({ code: 'FP_DURATION_INVALID' }),
    )
    await expect(fp.enqueueMany(double, [good, null as never])).rejects.toThrow(
      expect.objectContaining({ code: 'FP_OPTION_INVALID' }),
    )
    await expect(fp.enqueueMany(double, good as never)).rejects.toThrow(
      expect.objectContaining({ code: 'FP_OPTION_INVALID' }),
    )
    expect(await rowCounts(sql)).toMatchObject({ job: 0 })
  })

  it('refuses a batch that is too large as a whole, before it costs the memory', async () => {
    const { fp, sql } = await setupClient()
    let read = 0
    const jobs = Array.from({ length: 10_000 }, () => ({
      get input() {
        read++
        return 'x'.repeat(1_000_000)
      },
    }))
    await expect(fp.enqueueMany(anything, jobs)).rejects.toThrow(
      expect.objectContaining({ code: 'FP_INPUT_TOO_LARGE', hint: 'Enqueue fewer jobs per call.' }),
    )
    expect(read).toBeLessThan(200)
    expect(await rowCounts(sql)).toMatchObject({ job: 0 })
  })
})

it('the defaults of a job enqueued from psql are those of the client', async () => {
  const { fp, sql } = await setupClient()
  await fp.enqueue(task('same', { input: z.unknown(), run: () => {} }), {})
  await sql(`select * from fencepost.enqueue('same')`)
  const [fromClient, fromPsql] = await sql(
    'select task, payload, queue, priority, failures_max, losses_max, lease_ms, due_at from fencepost.job order by seq',
  )
  expect(fromPsql).toEqual(fromClient)
  expect(fromClient).toMatchObject({ lease_ms: defaults.leaseMs, failures_max: defaults.retryLimit })
})
