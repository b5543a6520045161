import { expect, it, onTestFinished } from 'vitest'
import { Database, type Queryable } from '../../src/store/database.js'
import { enqueue } from '../../src/store/enqueue.js'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'
import { FaultProxy } from '../../test/harness/fault-proxy.js'
import { aJob, setup } from '../../test/harness/setup.js'

it('FM_026: the application is told that nothing was stored, and the job that it then sends again runs', async () => {
  const { prevent } = await bundleUnderTest('FM_026')

  const played = await prevent()

  expect(noteOf(played, 'application', 'enqueues, swallows an error, commits')).toBe(
    'told FP_TRANSACTION_ROLLED_BACK; sends it again: enqueued',
  )
  expect(noteOf(played, 'rescuer', 'takes up what is left')).toBe('lease 1, finished')
  expect(played.violations).toEqual([])
})

/** An application whose connection runs through a proxy; `send` enqueues a job in a transaction. */
async function anApplication() {
  const bundle = await setup()
  const proxy = await FaultProxy.start(bundle.url)
  const db = new Database({ url: proxy.url })
  onTestFinished(() => db.close())
  const job = aJob()
  const send = (more: (tx: Queryable) => Promise<void> = async () => {}) =>
    db.transaction(async (tx) => {
      const answers = await enqueue(db, [job], tx)
      await more(tx)
      return answers.get(job.id)
    })
  return { ...bundle, proxy, job, send }
}

async function swallowAnError(tx: Queryable): Promise<void> {
  await tx.query('select 1/0').catch(() => {})
}

const rolledBack = { code: 'FP_TRANSACTION_ROLLED_BACK' }

it('FM_026: the question before COMMIT alone finds the aborted transaction, so that no lost reply can hide it', async () => {
  const { proxy, job, send, see } = await anApplication()
  void proxy.loseReplyTo('commit')

  await expect(send(swallowAnError)).rejects.toMatchObject(rolledBack)

  expect(await see(job.id)).toBeUndefined()
})

it('FM_026: the answer to COMMIT alone finds it, too', async () => {
  const { job, send, see } = await anApplication()

  const told = send(async (tx) => {
    const asked = await tx.query(`select null as xid, current_setting('fencepost.transaction') as mark`)
    await swallowAnError(tx)
    const query = tx.query.bind(tx)
    tx.query = (text, values) => (text.includes('xact_id') ? Promise.resolve(asked) : query(text, values))
  })

  await expect(told).rejects.toMatchObject(rolledBack)
  expect(await see(job.id)).toBeUndefined()
})

it('FM_026: the connection takes no harm, and the same transaction without the error is stored', async () => {
  const { job, send, placesOf } = await anApplication()
  await expect(send(swallowAnError)).rejects.toMatchObject(rolledBack)

  expect(await send()).toBe('enqueued')

  expect(await placesOf(job.id)).toEqual(['ready'])
})

it('FM_026: where COMMIT has no answer, the server is asked what became of it: committed', async () => {
  const { proxy, job, send, placesOf } = await anApplication()
  const struck = proxy.loseReplyTo('commit')

  expect(await send()).toBe('enqueued')

  await struck
  expect(await placesOf(job.id)).toEqual(['ready'])
})

it('FM_026: where COMMIT never reached the server, it is asked, too: rolled back', async () => {
  const { proxy, job, send, see } = await anApplication()
  const struck = proxy.loseRequest('commit')

  await expect(send()).rejects.toMatchObject({
    code: 'FP_DATABASE_UNREACHABLE',
    message: expect.stringContaining('the transaction was rolled back') as string,
  })

  await struck
  expect(await see(job.id)).toBeUndefined()
})
