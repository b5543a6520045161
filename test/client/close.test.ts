import { randomUUID } from 'node:crypto'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { fencepost } from '../../src/client/fencepost.js'
import { task } from '../../src/task/task.js'
import { double, setupClient } from './setup.js'

const closed = expect.objectContaining({ code: 'FP_CLOSED' })

it('a closed client refuses everything', async () => {
  const { fp } = await setupClient()
  await fp.enqueue(double, { n: 1 })
  await fp.close()

  await expect(fp.enqueue(double, { n: 1 })).rejects.toThrow(closed)
  await expect(fp.enqueueMany(double, [{ input: { n: 1 } }])).rejects.toThrow(closed)
  await expect(fp.job(randomUUID())).rejects.toThrow(closed)
  await expect(fp.result(randomUUID())).rejects.toThrow(closed)
  await expect(fp.cancel(randomUUID())).rejects.toThrow(closed)
  await expect(fp.retry(randomUUID())).rejects.toThrow(closed)
  await expect(fp.signal(randomUUID(), 'x')).rejects.toThrow(closed)
  await expect(fp.transaction(async () => {})).rejects.toThrow(closed)
  await expect(fp.work([double])).rejects.toThrow(closed)
})

it('closing twice, or twice at once, is closing', async () => {
  const { fp } = await setupClient()
  await Promise.all([fp.close(), fp.close()])
  await fp.close()
})

it('closing tells those who wait for results', async () => {
  const { fp } = await setupClient()
  const { result } = await fp.enqueue(double, { n: 1 })
  const waiting = expect(result()).rejects.toThrow(closed)
  await fp.close()
  await waiting
})

it('closing waits for running handlers and stores their results', async () => {
  const { fp, see } = await setupClient()
  let running = () => {}
  let go = () => {}
  const started = new Promise<void>((resolve) => {
    running = resolve
  })
  const finish = new Promise<void>((resolve) => {
    go = resolve
  })
  const slow = task('slow', {
    input: z.unknown(),
    run: async () => {
      running()
      await finish
    },
  })
  await fp.work([slow], { poll: '20ms' })
  const { id } = await fp.enqueue(slow, null)
  await started
  const closing = fp.close()
  go()
  await closing
  expect(await see(id)).toMatchObject({ place: 'finished', outcome: 'succeeded' })
})

it('closing gives a job back at no charge when its handler does not end within the grace, even if it throws then', async () => {
  const { fp, see } = await setupClient()
  let running = () => {}
  const started = new Promise<void>((resolve) => {
    running = resolve
  })
  const endless = task('endless', {
    input: z.unknown(),
    run: (_, job) =>
      new Promise((_resolve, reject) => {
        running()
        job.signal.addEventListener('abort', () => reject(new Error('aborted')))
      }),
  })
  await fp.work([endless], { poll: '20ms', grace: 0 })
  const { id } = await fp.enqueue(endless, null)
  await started
  await fp.close()
  expect(await see(id)).toMatchObject({ place: 'ready', failures: 0, releases: 1 })
})

it('a client closes itself at the end of its block', async () => {
  const { url } = await setupClient()
  const fp = await fencepost({ database: url, migrate: false })
  await fp[Symbol.asyncDispose]()
  await expect(fp.job(randomUUID())).rejects.toThrow(closed)
})
