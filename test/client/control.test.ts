import { randomUUID } from 'node:crypto'
import { describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import { park } from '../../src/store/settle.js'
import { task } from '../../src/task/task.js'
import { double, hopeless, setupClient } from './setup.js'

const unknown = expect.objectContaining({ code: 'FP_JOB_UNKNOWN' })

describe('job', () => {
  it('shows a job with its payload, its result and its history', async () => {
    const { fp } = await setupClient()
    const flaky = task('flaky', {
      input: z.object({ n: z.number() }),
      retry: { delay: 0 },
      run: ({ n }, job) => {
        if (job.attempt === 1) throw Object.assign(new Error('first'), { code: 'E_FIRST' })
        return { n, attempt: job.attempt, failures: job.failures }
      },
    })
    const { id, result } = await fp.enqueue(flaky, { n: 1 })
    await fp.work([flaky], { poll: '20ms' })
    await result()

    expect(await fp.job(id)).toMatchObject({
      id,
      task: 'flaky',
      queue: 'default',
      place: 'finished',
      outcome: 'succeeded',
      tries: 2,
      failures: 1,
      losses: 0,
      releases: 0,
      payload: { n: 1 },
      result: { n: 1, attempt: 2, failures: 1 },
      error: null,
      createdAt: expect.any(Date),
      finishedAt: expect.any(Date),
      attempts: [
        { ending: 'failed', error: { name: 'Error', message: 'first', code: 'E_FIRST' }, endedAt: expect.any(Date) },
        { ending: 'succeeded' },
      ],
    })
  })
})

describe('cancel', () => {
  it('ends a job that does not run, with the reason', async () => {
    const { fp } = await setupClient()
    const events: unknown[] = []
    fp.on('cancelled', (event) => events.push(event))
    const { id } = await fp.enqueue(double, { n: 1 })

    expect(await fp.cancel(id.toUpperCase(), { reason: 'not wanted' })).toEqual({
      answer: 'cancelled',
      outcome: 'cancelled',
    })
    expect(await fp.job(id)).toMatchObject({ place: 'finished', outcome: 'cancelled', reason: 'not wanted' })
    expect(await fp.cancel(id)).toEqual({ answer: 'finished', outcome: 'cancelled' })
    expect(events).toEqual([{ jobId: id, task: 'double', queue: 'default' }])
  })

  it('asks a running job to stop', async () => {
    const { fp } = await setupClient()
    const events: string[] = []
    fp.on('cancel_requested', () => events.push('cancel_requested'))
    const cancelled = new Promise<void>((resolve) => {
      fp.on('cancelled', () => {
        events.push('cancelled')
        resolve()
      })
    })
    let running = () => {}
    const started = new Promise<void>((resolve) => {
      running = resolve
    })
    const patient = task('patient', {
      input: z.unknown(),
      run: (_, job) =>
        new Promise((_resolve, reject) => {
          running()
          job.signal.addEventListener('abort', () => reject(job.signal.reason as Error))
        }),
    })
    const { id, result } = await fp.enqueue(patient, null)
    await fp.work([patient], { poll: '20ms' })
    await started

    expect(await fp.cancel(id)).toEqual({ answer: 'requested', outcome: null })
    await expect(result()).rejects.toThrow(
      expect.objectContaining({ code: 'FP_JOB_NOT_SUCCEEDED', message: expect.stringContaining('cancelled') }),
    )
    await cancelled
    expect(events).toEqual(['cancel_requested', 'cancelled'])
  })

  it('happens if and only if the caller’s transaction commits', async () => {
    const { fp, see } = await setupClient()
    const { id } = await fp.enqueue(double, { n: 1 })
    await expect(
      fp.transaction(async (tx) => {
        expect(await fp.cancel(id, { tx })).toMatchObject({ answer: 'cancelled' })
        throw new Error('changed my mind')
      }),
    ).rejects.toThrow('changed my mind')
    expect(await see(id)).toMatchObject({ place: 'ready' })
    await fp.transaction((tx) => fp.cancel(id, { tx }))
    expect(await see(id)).toMatchObject({ outcome: 'cancelled' })
  })
})

describe('retry', () => {
  it('undoes an ending other than success', async () => {
    const { fp, see, sql } = await setupClient()
    const events: string[] = []
    fp.on('retried', ({ jobId }) => events.push(jobId))
    const { id, result } = await fp.enqueue(hopeless, { any: 1 })
    const worker = await fp.work([hopeless], { poll: '20ms' })
    await expect(result()).rejects.toThrow('no hope')
    await worker.stop()

    expect(await fp.retry(id.toUpperCase())).toEqual({ answer: 'retried' })
    expect(await see(id)).toMatchObject({ place: 'ready', outcome: null, failures: 1 })
    expect(await sql('select ending, outcome from fencepost.attempt')).toEqual([
      { ending: 'failed', outcome: 'failed' },
    ])
    expect(await fp.retry(id)).toEqual({ answer: 'unfinished' })
    expect(events).toEqual([id])
  })

  it('leaves a success alone', async () => {
    const { fp } = await setupClient()
    const { id, result } = await fp.enqueue(double, { n: 1 })
    await fp.work([double], { poll: '20ms' })
    expect(await result()).toBe(2)
    expect(await fp.retry(id)).toEqual({ answer: 'succeeded' })
    expect(await fp.job(id)).toMatchObject({ outcome: 'succeeded', result: 2 })
  })

  it('gives a waiter the new ending, not the old one', async () => {
    const { fp } = await setupClient()
    const { id, result } = await fp.enqueue(double, { n: 21 })
    await fp.cancel(id)
    await expect(result()).rejects.toThrow('cancelled')
    await fp.retry(id)
    const second = result()
    await fp.work([double], { poll: '20ms' })
    expect(await second).toBe(42)
  })
})

describe('signal', () => {
  it('wakes a job that waits for it', async () => {
    const { fp, db, add, take, see } = await setupClient()
    const id = await add()
    await park(db, await take(), 'approved', null)

    expect(await fp.signal(id, 'rejected', { by: 'me' })).toBe('kept')
    expect(await see(id)).toMatchObject({ place: 'parked' })
    expect(await fp.signal(id, 'approved', { by: 'me' })).toBe('woken')
    expect(await see(id)).toMatchObject({ place: 'ready' })
    expect(await fp.signal(id, 'approved', { by: 'you' })).toBe('existing')
  })

  it('is kept for a job that does not wait yet', async () => {
    const { fp, db, add, take } = await setupClient()
    const id = await add()
    expect(await fp.signal(id, 'approved', { by: 'me' })).toBe('kept')
    expect(await park(db, await take(), 'approved', null)).toMatchObject({ answer: 'signalled', payload: { by: 'me' } })
  })

  it('is nothing to a job that has ended', async () => {
    const { fp, add } = await setupClient()
    const id = await add()
    await fp.cancel(id)
    expect(await fp.signal(id, 'approved')).toBe('finished')
  })
})

it('a job id that does not exist is told as such by everything', async () => {
  const { fp } = await setupClient()
  const id = randomUUID()
  await expect(fp.job(id)).rejects.toThrow(unknown)
  await expect(fp.result(id)).rejects.toThrow(unknown)
  await expect(fp.cancel(id)).rejects.toThrow(unknown)
  await expect(fp.retry(id)).rejects.toThrow(unknown)
  await expect(fp.signal(id, 'approved')).rejects.toThrow(unknown)
})

describe('on', () => {
  it('tells the life of a job, until it is told to stop', async () => {
    const { fp } = await setupClient()
    const heard: string[] = []
    const names = ['enqueued', 'claimed', 'failed', 'promoted', 'finished'] as const
    const stops = names.map((name) => fp.on(name, () => heard.push(name)))
    const flaky = task('flaky', {
      input: z.unknown(),
      retry: { delay: 1, jitter: 0 },
      run: (_, job) => {
        if (job.attempt === 1) throw new Error('first')
      },
    })
    await fp.work([flaky], { poll: '20ms' })
    await (await fp.enqueue(flaky, null)).result()
    // The promotion is told by another connection than the rest: when, is open.
    await vi.waitUntil(() => heard.includes('promoted'))
    expect(heard.filter((name) => name !== 'promoted')).toEqual([
      'enqueued',
      'claimed',
      'failed',
      'claimed',
      'finished',
    ])

    for (const stop of stops) stop()
    await (await fp.enqueue(flaky, null)).result()
    expect(heard).toHaveLength(6)
  })

  it('survives a listener that throws', async () => {
    const { fp } = await setupClient()
    const errors: unknown[] = []
    fp.on('error', ({ during }) => errors.push(during))
    fp.on('enqueued', () => {
      throw new Error('mine')
    })
    expect(await fp.enqueue(double, { n: 1 })).toMatchObject({ answer: 'enqueued' })
    expect(errors).toEqual(['a listener of enqueued'])
  })
})
