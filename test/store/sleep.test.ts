import { expect, it } from 'vitest'
import { enqueue } from '../../src/store/enqueue.js'
import { awake, fallAsleep, oldestTransaction } from '../../src/store/worker.js'
import { Session } from '../harness/session.js'
import { aJob, setup } from '../harness/setup.js'

async function setupListener() {
  const bundle = await setup()
  const listener = await bundle.connect()
  const heard: string[] = []
  listener.on('notification', ({ payload }) => heard.push(payload as string))
  await listener.query('listen """fencepost"".ready"')
  return {
    ...bundle,
    /** What was notified so far: a notice of our own comes after all that were sent before. */
    async heard() {
      const ended = new Promise<void>((resolve) => {
        listener.on('notification', ({ payload }) => payload === 'end' && resolve())
      })
      await bundle.sql(`select pg_notify('"fencepost".ready', 'end')`)
      await ended
      return heard.splice(0).slice(0, -1)
    },
  }
}

it('notifies whoever sleeps at the queue, and nobody if nobody does', async () => {
  const { db, add, heard } = await setupListener()
  await add()
  expect(await heard()).toEqual([])

  await fallAsleep(db, 'w1', ['default', 'mail'])
  await add()
  await add({ queue: 'mail' })
  await add({ queue: 'reports' })
  expect(await heard()).toEqual(['default', 'mail'])

  await awake(db, 'w1', ['default'])
  await add()
  expect(await heard()).toEqual([])
})

it('notifies once for many jobs of one queue', async () => {
  const { db, heard } = await setupListener()
  await fallAsleep(db, 'w1', ['default'])
  await enqueue(db, [aJob(), aJob(), aJob({ queue: 'mail' })])
  expect(await heard()).toEqual(['default'])
})

const oldSnapshots = {
  'notifies in a transaction at repeatable read whose snapshot is older than the sleeper': 'repeatable read',
  'notifies in a transaction at serializable whose snapshot is older than the sleeper': 'serializable',
} as const
for (const [name, isolation] of Object.entries(oldSnapshots)) {
  it(name, async () => {
    const { url, connect, db, heard } = await setupListener()
    const session = await Session.open({ url, connect })
    await session.begin(isolation)
    await session.query('select 1 from fencepost.job')
    await fallAsleep(db, 'w1', ['default'])

    await enqueue(session, [aJob()])
    await session.commit()

    expect(await heard()).toEqual(['default'])
  })
}

it('does not call a sleeper seen by all while a transaction runs that has not seen it', async () => {
  const { url, connect, db } = await setupListener()
  const session = await Session.open({ url, connect })
  await session.begin()
  await enqueue(session, [aJob()]) // looked for sleepers, and saw none

  const xid = await fallAsleep(db, 'w1', ['default'])
  expect((await oldestTransaction(db)) >= xid).toBe(false)

  await session.commit()
  // Transactions of other databases of the server count, too.
  await expect.poll(async () => (await oldestTransaction(db)) >= xid, { timeout: 20_000 }).toBe(true)
})
