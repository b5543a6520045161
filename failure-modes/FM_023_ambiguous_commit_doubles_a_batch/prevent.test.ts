import { expect, it, onTestFinished } from 'vitest'
import { audit } from '../../src/audit/audit.js'
import { Database } from '../../src/store/database.js'
import { enqueue } from '../../src/store/enqueue.js'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'
import { FaultProxy } from '../../test/harness/fault-proxy.js'
import { aJob, setup } from '../../test/harness/setup.js'

it('FM_023: with ids made by the producer, every repetition finds the batch and touches nothing', async () => {
  const { prevent } = await bundleUnderTest('FM_023')

  const played = await prevent()

  expect(noteOf(played, 'producer', 'enqueues three charges; the reply is lost')).toBe('existing')
  expect(noteOf(played, 'A', 'commits the effect and the outcome')).toBe('finished')
  expect(noteOf(played, 'producer 2', 'takes over from the producer and sends the same batch')).toBe('existing')
  expect(noteOf(played, 'server 1', 'stores two messages of a client of SQS; the reply is lost')).toMatch(
    /^recorded #\d+, #\d+$/,
  )
  expect(noteOf(played, 'server 2', 'is sent the same two: the client has heard nothing')).toBe(
    noteOf(played, 'server 1', 'stores two messages of a client of SQS; the reply is lost'),
  )
  expect(played.violations).toEqual([])
})

/** A producer whose connection runs through a proxy. */
async function aProducer() {
  const bundle = await setup()
  const proxy = await FaultProxy.start(bundle.url)
  const producer = new Database({ url: proxy.url })
  onTestFinished(() => producer.close())
  return { ...bundle, proxy, producer }
}

it('FM_023: through a lost reply the producer is told existing, and there is one copy of each job', async () => {
  const { db, producer, proxy, sql } = await aProducer()
  const jobs = [aJob(), aJob(), aJob()]
  const struck = proxy.loseReplyTo('enqueue_many')

  const answers = await enqueue(producer, jobs)

  await struck
  expect(answers).toEqual(new Map(jobs.map(({ id }) => [id, 'existing'])))
  expect(await sql('select job_id from fencepost.ready order by seq')).toEqual(jobs.map(({ id }) => ({ job_id: id })))
  expect(await sql('select count(*)::int as jobs from fencepost.job')).toEqual([{ jobs: 3 }])
  expect(await audit(db)).toMatchObject({ ok: true, warnings: 0 })
})

it('FM_023: through a lost request it is told enqueued, and there is one copy of each job', async () => {
  const { producer, proxy, sql } = await aProducer()
  const jobs = [aJob(), aJob(), aJob()]
  const struck = proxy.loseRequest('enqueue_many')

  const answers = await enqueue(producer, jobs)

  await struck
  expect(answers).toEqual(new Map(jobs.map(({ id }) => [id, 'enqueued'])))
  expect(await sql('select job_id from fencepost.ready order by seq')).toEqual(jobs.map(({ id }) => ({ job_id: id })))
})

it('FM_023: in a transaction nothing is repeated behind the caller’s back; the whole of it is, under the same ids', async () => {
  const { producer, proxy, sql } = await aProducer()
  const jobs = [aJob(), aJob()]
  const send = () => producer.transaction((tx) => enqueue(producer, jobs, tx))
  const struck = proxy.loseReplyTo('enqueue_many')

  await expect(send()).rejects.toMatchObject({ code: 'FP_DATABASE_UNREACHABLE' })
  await struck
  expect(await sql('select * from fencepost.job')).toEqual([])

  expect([...(await send()).values()]).toEqual(['enqueued', 'enqueued'])
  expect([...(await send()).values()]).toEqual(['existing', 'existing'])
  expect(await sql('select count(*)::int as jobs from fencepost.ready')).toEqual([{ jobs: 2 }])
})
