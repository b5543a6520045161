import { expect, it } from 'vitest'
import { task } from '../../src/index.js'
import { backoffMs, retryPolicy } from '../../src/task/retry-policy.js'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'
import { anything, setupWorker } from '../../test/worker/setup.js'

it('FM_043: a share of each delay is drawn at random, and delays grow: the calls come one by one', async () => {
  const { prevent } = await bundleUnderTest('FM_043')

  const played = await prevent()

  expect(noteOf(played, 'A', 'runs them all: the API is down')).toBe('6 failed, 1 due within a second')
  expect(noteOf(played, 'A', 'runs them again: it is still down')).toBe('6 failed, 1 due within a second')
  expect(noteOf(played, 'B', 'runs them: the API is back')).toBe('6 done')
  expect(played.violations).toEqual([])
})

it('FM_043: who says nothing about retries gets delays that grow, are drawn, and have an end', () => {
  const policy = retryPolicy()
  const delays = Array.from({ length: 30 }, (_, n) => [
    backoffMs(policy, n + 1, 0),
    backoffMs(policy, n + 1, 0.999_999),
  ])

  for (const [n, [longest = 0, shortest = 0]] of delays.entries()) {
    expect(shortest).toBeLessThan(longest)
    expect(longest).toBeLessThanOrEqual(policy.delayMsMax)
    expect(longest).toBeGreaterThanOrEqual(delays[n - 1]?.[0] ?? 0)
  }
})

it('FM_043: a real worker draws for each job: 50 that fail together are not due together', async () => {
  const { fp, sql } = await setupWorker()
  const call = task('call', {
    input: anything,
    retry: { delay: '1h' },
    run: () => Promise.reject(new Error('the API is down')),
  })
  const all = new Promise<void>((resolve) => {
    let failed = 0
    fp.on('failed', () => ++failed === 50 && resolve())
  })
  await fp.enqueueMany(
    call,
    Array.from({ length: 50 }, (_, input) => ({ input })),
  )

  await fp.work([call], { poll: '20ms', concurrency: 50 })
  await all

  const [due] = await sql<{ seconds: number; n: number }>(
    `select extract(epoch from max(due_at) - min(due_at))::integer as seconds, count(*)::integer as n from fencepost.delayed`,
  )
  // Of twelve minutes: that 50 draws fall into a half of them has a chance of 50 in 2^49.
  expect(due?.n).toBe(50)
  expect(due?.seconds).toBeGreaterThan(360)
})

it('FM_043: however many are due, a worker runs no more at a time than it has handlers', async () => {
  const { fp } = await setupWorker()
  let running = 0
  let most = 0
  const call = task('call', {
    input: anything,
    run: async () => {
      most = Math.max(most, ++running)
      await new Promise(setImmediate)
      running--
    },
  })
  const jobs = await fp.enqueueMany(
    call,
    Array.from({ length: 100 }, (_, input) => ({ input })),
  )

  await fp.work([call], { poll: '20ms', concurrency: 3 })

  for (const job of jobs) await job.result({ timeout: '20s' })
  expect(most).toBeLessThanOrEqual(3)
})
