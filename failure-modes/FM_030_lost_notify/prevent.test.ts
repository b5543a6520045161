import { expect, it } from 'vitest'
import { task } from '../../src/index.js'
import { enqueue } from '../../src/store/enqueue.js'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'
import { FaultProxy } from '../../test/harness/fault-proxy.js'
import { aJob } from '../../test/harness/setup.js'
import { anything, setupWorker } from '../../test/worker/setup.js'

it('FM_030: a worker that no notice reaches finds the job one poll interval later', async () => {
  const { prevent } = await bundleUnderTest('FM_030')

  const played = await prevent()

  expect(noteOf(played, 'dba', 'ends the backend that listens')).toBe('1 backend gone')
  expect(noteOf(played, 'A', 'is asleep or awake')).toBe('no notice, looks: lease 1, finished')
  expect(played.violations).toEqual([])
})

const charge = task('charge', { input: anything, run: () => 'charged' })

async function setupSleeper() {
  const bundle = await setupWorker()
  const troubles: string[] = []
  bundle.fp.on('error', ({ during }) => troubles.push(during))
  return {
    ...bundle,
    troubles,
    asleep: () => expect.poll(() => bundle.sql('select queue from fencepost.sleeper')).toEqual([{ queue: 'default' }]),
  }
}

it('FM_030: a listener that cannot come back costs a poll interval, not the job, and is told', async () => {
  const { fp, client, url, troubles, asleep } = await setupSleeper()
  const proxy = await FaultProxy.start(url)
  await fp.work([charge], { poll: '200ms', listen: proxy.url })
  await asleep()
  await proxy.stop()

  const job = await (await client()).enqueue(charge, null)

  expect(await job.result({ timeout: '20s' })).toBe('charged')
  await expect.poll(() => troubles).toContain('listening')
})

it('FM_030: a listener that has come back makes the worker look, however long its poll interval', async () => {
  const { fp, client, url, troubles, asleep } = await setupSleeper()
  const proxy = await FaultProxy.start(url)
  await fp.work([charge], { poll: '1h', listen: proxy.url })
  await asleep()
  await proxy.stop()
  const job = await (await client()).enqueue(charge, null)
  await expect.poll(() => troubles).toContain('listening')

  await proxy.comeBack()

  expect(await job.result({ timeout: '20s' })).toBe('charged')
})

it('FM_030: a job whose enqueue looked for sleepers before the worker slept, and commits later, is found', async () => {
  const { fp, db, connect, asleep } = await setupSleeper()
  const job = aJob({ task: 'charge' })
  const producer = await connect()
  await producer.query('begin')
  await enqueue(db, [job], producer) // sees no sleeper, so it notifies nobody

  const worker = await fp.work([charge], { poll: '1h' })
  await asleep()
  const turns = worker.turns
  // It goes on looking, though it sleeps: somebody may have missed that.
  await expect.poll(() => worker.turns).toBeGreaterThan(turns + 3)
  await producer.query('commit')

  expect(await fp.result(job.id, { timeout: '20s' })).toBe('charged')
})
