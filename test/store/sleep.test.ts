import { expect, it } from 'vitest'
import { copiedLeast } from '../../src/store/copied-jobs.js'
import type { Database } from '../../src/store/database.js'
import { enqueue } from '../../src/store/enqueue.js'
import { setLimit } from '../../src/store/gates.js'
import { tellRun } from '../../src/store/runs.js'
import { awake, fallAsleep, oldestTransaction } from '../../src/store/worker.js'
import { setupRunMoves } from '../harness/runs.js'
import { Session } from '../harness/session.js'
import { aJob, setup } from '../harness/setup.js'

async function setupListener<Bundle extends Awaited<ReturnType<typeof setup>>>(bundle: Bundle) {
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
  const { db, add, heard } = await setupListener(await setup())
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
  const { db, heard } = await setupListener(await setup())
  await fallAsleep(db, 'w1', ['default'])
  await enqueue(db, [aJob(), aJob(), aJob({ queue: 'mail' })])
  expect(await heard()).toEqual(['default'])
})

it('notifies once for many jobs that are alike, and not if nobody sleeps at their queue', async () => {
  const { db, heard } = await setupListener(await setup())
  await fallAsleep(db, 'w1', ['default'])
  await enqueue(db, [aJob(), aJob()], undefined, true)
  await enqueue(db, [aJob({ queue: 'mail' }), aJob({ queue: 'mail' })], undefined, true)
  expect(await heard()).toEqual(['default'])
})

it('notifies once for jobs that are copied, by the name of their queue, whatever it looks like', async () => {
  const { db, heard } = await setupListener(await setup())
  await fallAsleep(db, 'w1', ['fencepost.mail'])
  for (const queue of ['default', 'fencepost.mail']) {
    const jobs = Array.from({ length: copiedLeast }, () => aJob({ queue }))
    await enqueue(db, jobs, undefined, true)
  }
  expect(await heard()).toEqual(['fencepost.mail'])
})

const one = (session: Session) => enqueue(session, [aJob()])
const alike = (session: Session) => enqueue(session, [aJob(), aJob()], undefined, true)
const several = (session: Session) => enqueue(session, [aJob(), aJob({ task: 'another' })])
const oldSnapshots = {
  'notifies in a transaction at repeatable read whose snapshot is older than the sleeper': ['repeatable read', one],
  'notifies in a transaction at serializable whose snapshot is older than the sleeper': ['serializable', one],
  'notifies of jobs that are alike, also with a snapshot that is older than the sleeper': ['repeatable read', alike],
  'notifies of several jobs, also with a snapshot that is older than the sleeper': ['repeatable read', several],
} as const
for (const [name, [isolation, add]] of Object.entries(oldSnapshots)) {
  it(name, async () => {
    const { url, connect, db, heard } = await setupListener(await setup())
    const session = await Session.open({ url, connect })
    await session.begin(isolation)
    await session.query('select 1 from fencepost.job')
    await fallAsleep(db, 'w1', ['default'])

    await add(session)
    await session.commit()

    expect(await heard()).toEqual(['default'])
  })
}

it('notifies of a job that comes back, also with a snapshot that is older than the sleeper', async () => {
  const bundle = await setup()
  const { url, connect, db, heard } = await setupListener(bundle)
  await bundle.add()
  const lease = await bundle.take()
  const session = await Session.open({ url, connect })
  await session.begin('repeatable read')
  await session.query('select 1 from fencepost.job')
  await fallAsleep(db, 'w1', ['default']) // the move that asks for notices: a row is written, and nobody waits

  await session.query(`select * from fencepost.release($1, $2, $3, 'shutdown')`, [
    [lease.jobId],
    [lease.leaseId],
    [lease.nonce],
  ])
  await session.commit()

  expect(await heard()).toEqual(['default'])
})

/** What else there is to do for a worker that sleeps, besides new jobs. */
type Call = (db: Database, run: string) => Promise<unknown>
const tell: Call = (db, run) => tellRun(db, run, { kind: 'signal', name: 'go', payloadText: 'null' })
const nudge: Call = (db) => setLimit(db, 'gate:k', 2)
async function setupCalls() {
  const bundle = await setupListener(await setupRunMoves())
  const run = await bundle.start(`
name: waiter
tasks: [{ name: wait, wait_for: { signal: go } }]
`)
  return { ...bundle, run }
}
const calls = {
  'notifies whoever sleeps of a run that was told something': tell,
  'notifies whoever sleeps of a gate that is to be looked at again': nudge,
}
for (const [name, call] of Object.entries(calls)) {
  it(name, async () => {
    const { db, run, heard } = await setupCalls()
    await fallAsleep(db, 'w1', ['default'])

    await call(db, run)

    expect(await heard()).toEqual([''])
  })
}
const oldCalls = {
  'notifies of a run that was told something, also with a snapshot that is older than the sleeper': tell,
  'notifies of a gate that is to be looked at again, also with a snapshot that is older than the sleeper': nudge,
}
for (const [name, call] of Object.entries(oldCalls)) {
  it(name, async () => {
    const bundle = await setupCalls()
    const session = await Session.open(bundle)
    await session.begin('repeatable read')
    await session.query('select 1 from fencepost.job')
    await fallAsleep(bundle.db, 'w1', ['default'])

    await call(session, bundle.run)
    await session.commit()

    expect(await bundle.heard()).toEqual([''])
  })
}

it('does not call a sleeper seen by all while a transaction runs that has not seen it', async () => {
  const { url, connect, db } = await setupListener(await setup())
  const session = await Session.open({ url, connect })
  await session.begin()
  await enqueue(session, [aJob()]) // looked for sleepers, and saw none

  const xid = await fallAsleep(db, 'w1', ['default'])
  expect((await oldestTransaction(db)) >= xid).toBe(false)

  await session.commit()
  // Transactions of other databases of the server count, too.
  await expect.poll(async () => (await oldestTransaction(db)) >= xid, { timeout: 20_000 }).toBe(true)
})
