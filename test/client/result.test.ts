import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { z } from 'zod'
import { ResultWaiter } from '../../src/client/result-waiter.js'
import type { OutcomeRow } from '../../src/store/read.js'
import { task } from '../../src/task/task.js'
import { anything, double, hopeless, open, setupClient } from './setup.js'

/** Counts the statements that this process sends and that contain `part`: all of them pass here on their way out. */
function countStatements(part: string): () => number {
  const spy = vi.spyOn(pg.Client.prototype, 'query')
  onTestFinished(() => spy.mockRestore())
  const textOf = (query: unknown) => (typeof query === 'string' ? query : (query as { text?: string } | null)?.text)
  return () => spy.mock.calls.filter(([query]) => textOf(query)?.includes(part)).length
}

const readOfOutcomes = '.finished f on f.job_id = a.id'

describe('result', () => {
  it('is what the handler returned, from any process', async () => {
    const { fp, url } = await setupClient()
    const elsewhere = await open({ database: url, migrate: false })
    const { id, result } = await elsewhere.enqueue(double, { n: 21 })
    const waiting = Promise.all([result(), elsewhere.result(id), fp.result(id.toUpperCase())])
    await fp.work([double], { poll: '20ms' })
    expect(await waiting).toEqual([42, 42, 42])
    expect(await elsewhere.result(id)).toBe(42)
  })

  it('is null if the handler returned nothing', async () => {
    const { fp } = await setupClient()
    const silent = task('silent', { input: z.unknown(), run: () => {} })
    await fp.work([silent], { poll: '20ms' })
    expect(await (await fp.enqueue(silent, null)).result()).toBeNull()
  })

  it('is what the output schema makes of it', async () => {
    const { fp } = await setupClient()
    const checked = task('checked', {
      input: z.unknown(),
      output: z.object({ n: z.number().transform((n) => n * 2) }),
      run: () => ({ n: 4, dropped: true }),
    })
    await fp.work([checked], { poll: '20ms' })
    expect(await (await fp.enqueue(checked, null)).result()).toEqual({ n: 8 })
  })

  it('is an error, with the reason and the handler’s own words, if the job failed', async () => {
    const { fp } = await setupClient()
    await fp.work([hopeless], { poll: '20ms' })
    const { id, result } = await fp.enqueue(hopeless, null)
    await expect(result()).rejects.toThrow(
      expect.objectContaining({
        code: 'FP_JOB_NOT_SUCCEEDED',
        message: expect.stringMatching(new RegExp(`${id} failed .*: no hope$`)),
        cause: expect.objectContaining({ name: 'Error', message: 'no hope' }),
      }),
    )
  })

  it.each<[string, unknown, string]>([
    ['does not fit the output schema', { n: 'x' }, 'FP_INPUT_INVALID'],
    ['is not JSON', { n: 1, at: Number.NaN }, 'FP_INPUT_NOT_JSON'],
    ['contains U+0000', { n: 1, at: '\u0000' }, 'FP_INPUT_NOT_JSON'],
  ])('is an error, and there is no other try, if the result %s', async (_, returned, code) => {
    const { fp } = await setupClient()
    const wrong = task('wrong', {
      input: z.unknown(),
      output: z.looseObject({ n: z.number() }),
      run: () => returned as { n: number },
    })
    await fp.work([wrong], { poll: '20ms' })
    const { id, result } = await fp.enqueue(wrong, null)
    await expect(result()).rejects.toThrow(expect.objectContaining({ cause: expect.objectContaining({ code }) }))
    expect(await fp.job(id)).toMatchObject({ outcome: 'failed', tries: 1 })
  })

  it('gives up after the time given, and the job goes on', async () => {
    const { fp, see } = await setupClient()
    const { id, result } = await fp.enqueue(double, { n: 1 })
    const late = { code: 'FP_RESULT_TIMEOUT', message: expect.stringContaining(`${id} after 30 ms`) }
    await expect(result({ timeout: '30ms' })).rejects.toThrow(expect.objectContaining(late))
    expect(await see(id)).toMatchObject({ place: 'ready' })
    await expect(result({ timeout: '-1s' })).rejects.toThrow(expect.objectContaining({ code: 'FP_DURATION_INVALID' }))
    await expect(result({ timeout: '25d' })).rejects.toThrow(expect.objectContaining({ code: 'FP_DURATION_INVALID' }))
  })

  it('is not told to a waiter who came after the question was asked', async () => {
    const id = randomUUID()
    type Answer = { ended: OutcomeRow[]; missing: string[] }
    const answers: ((answer: Answer) => void)[] = []
    const waiter = new ResultWaiter(() => new Promise<Answer>((resolve) => answers.push(resolve)))
    const asked = () => vi.waitFor(() => expect(answers).toHaveLength(1), { interval: 5 })
    const ended = (outcome: OutcomeRow['outcome']): Answer => ({
      ended: [{ jobId: id, outcome, isRun: false, reason: null, result: null, error: null }],
      missing: [],
    })

    const first = waiter.wait(id, undefined)
    await asked()
    const second = waiter.wait(id, undefined) // after a retry, say
    answers.pop()?.(ended('failed'))
    expect(await first).toMatchObject({ outcome: 'failed' })
    await asked()
    answers.pop()?.(ended('succeeded'))
    expect(await second).toMatchObject({ outcome: 'succeeded' })

    const early = waiter.wait(id, undefined)
    await asked()
    const late = waiter.wait(id, undefined) // the job was stored meanwhile
    answers.pop()?.({ ended: [], missing: [id] })
    await expect(early).rejects.toThrow(expect.objectContaining({ code: 'FP_JOB_UNKNOWN' }))
    await asked()
    answers.pop()?.(ended('succeeded'))
    expect(await late).toMatchObject({ outcome: 'succeeded' })
  })
})

describe('many waiters', () => {
  it('cost one statement a tick, and ever fewer ticks while nothing happens', async () => {
    const { fp } = await setupClient()
    const jobs = await fp.enqueueMany(
      anything,
      Array.from({ length: 1_000 }, (_, i) => ({ input: i })),
    )
    const count = countStatements(readOfOutcomes)

    const all = jobs.flatMap(({ id }) => [fp.result(id, { timeout: '1500ms' }), fp.result(id, { timeout: '1500ms' })])
    const ended = await Promise.allSettled(all)

    expect(ended.map(({ status }) => status)).toEqual(all.map(() => 'rejected'))
    // At 0, 25, 75, 175, 375, 775 and 1575 ms.
    expect(count()).toBeGreaterThanOrEqual(2)
    expect(count()).toBeLessThanOrEqual(8)
  })

  it('who come one by one while jobs end one by one cost no more than a statement every 25 ms', async () => {
    const { fp } = await setupClient()
    const count = countStatements(readOfOutcomes)
    await fp.work([anything], { poll: '20ms', concurrency: 5 })
    const startedAt = performance.now()

    const results = await Promise.all(
      Array.from({ length: 300 }, async (_, i) => {
        for (let turn = 0; turn < i; turn++) await new Promise((resolve) => setImmediate(resolve))
        return (await fp.enqueue(anything, i)).result()
      }),
    )

    expect(results).toEqual(Array.from({ length: 300 }, (_, i) => i))
    expect(count()).toBeLessThanOrEqual((performance.now() - startedAt) / 25 + 2)
  })

  it('leave no timer behind them', async () => {
    vi.useFakeTimers()
    onTestFinished(() => void vi.useRealTimers())
    const read = vi.fn(async () => ({ ended: [], missing: [] }))
    const waiter = new ResultWaiter(read)

    const waiting = [waiter.wait(randomUUID(), 40), waiter.wait(randomUUID(), 3_000)]
    const ended = Promise.allSettled(waiting)
    await vi.advanceTimersByTimeAsync(2_999)
    expect(vi.getTimerCount()).toBeGreaterThan(0)
    await vi.advanceTimersByTimeAsync(1)

    expect((await ended).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    expect(vi.getTimerCount()).toBe(0)
    // At 0, 25, 75, 175, 375, 775, 1575 and 2575 ms.
    expect(read).toHaveBeenCalledTimes(8)
  })
})
