import { randomUUID } from 'node:crypto'
import { expect, it } from 'vitest'
import { cancelMoveTask, listMoveTasks, moveMessages, startMoveTask } from '../../src/store/sqs-move-tasks.js'
import { deleteQueue } from '../../src/store/sqs-queues.js'
import { Session } from '../harness/session.js'
import { aGrouped, anEntry, setupSqs } from '../harness/sqs.js'

const toDead = (name: string) => ({
  redrivePolicy: { deadLetterTargetArn: `arn:aws:sqs:us-east-1:000000000000:${name}`, maxReceiveCount: 1 },
})

/** A queue `q`, and so many messages of it among the dead letters. */
async function setupDead(n: number, fifo = false) {
  const dead = fifo ? 'dead.fifo' : 'dead'
  const bundle = await setupSqs({ visibilityTimeout: 0, ...toDead(dead) }, fifo ? 'q.fifo' : 'q')
  await bundle.make(dead)
  const die = async () => {
    const entry = fifo ? aGrouped('g') : anEntry()
    await bundle.send(entry)
    await bundle.receive()
    await bundle.receive()
    return entry
  }
  const entries = []
  for (let i = 0; i < n; i++) entries.push(await die())
  const begin = async (given: { destination?: string; perSecond?: number } = {}) => {
    const id = randomUUID()
    const { destination = null, perSecond = null } = given
    expect(await startMoveTask(bundle.db, { id, source: dead, destination, perSecond })).toBe(true)
    return id
  }
  const task = async () => (await listMoveTasks(bundle.db, dead, 1))[0]
  const bodies = (messages: readonly { payload: unknown }[]) => messages.map(({ payload }) => payload)
  return { ...bundle, dead, die, entries, begin, task, bodies }
}

it('brings dead letters back as new messages of the same content, in their order', async () => {
  const { db, entries, begin, task, receive, bodies, see, sound } = await setupDead(3)
  await begin()

  expect(await moveMessages(db)).toBe(true)
  expect(await moveMessages(db)).toBe(true)
  expect(await moveMessages(db)).toBe(false)

  expect(await task()).toMatchObject({ status: 'COMPLETED', moved: 3, toMove: 3 })
  const back = await receive({ visibleMs: 60_000 })
  expect(bodies(back)).toEqual(entries.map(({ payload }) => payload))
  expect(back.map(({ tries, deadFrom }) => ({ tries, deadFrom }))).toEqual(
    entries.map(() => ({ tries: 1, deadFrom: null })),
  )
  for (const { id } of entries) expect(await see(id)).toMatchObject({ outcome: 'discarded', reason: 'moved' })
  await sound()
})

it('keeps the order of a group', async () => {
  const { db, entries, begin, receive, bodies, sound } = await setupDead(3, true)
  await begin()
  while (await moveMessages(db));

  expect(bodies(await receive({ visibleMs: 60_000 }))).toEqual(entries.map(({ payload }) => payload))
  await sound()
})

it('leaves what has come after it began', async () => {
  const { db, die, begin, task, receive, bodies } = await setupDead(1)
  await begin()
  const late = await die()
  while (await moveMessages(db));

  expect(await task()).toMatchObject({ status: 'COMPLETED', moved: 1 })
  expect(bodies(await receive({ queue: 'dead', visibleMs: 60_000 }))).toEqual([late.payload])
})

it('is gone on with by one server at a time, and another one does not wait for it', async () => {
  const bundle = await setupDead(3)
  const [first, second] = [await Session.open(bundle), await Session.open(bundle)]
  await bundle.begin({ perSecond: 1 })
  await first.begin()
  expect(await moveMessages(first)).toBe(true)

  expect(await moveMessages(second)).toBe(false)

  await first.commit()
  expect(await bundle.task()).toMatchObject({ status: 'RUNNING', moved: 1 })
  expect(await moveMessages(second)).toBe(false) // the second is not over
  await bundle.advance(1_001)
  expect(await moveMessages(second)).toBe(true)
  expect(await bundle.task()).toMatchObject({ moved: 2 })
})

it('is not over while somebody else has a message locked, and does not turn in circles meanwhile', async () => {
  const bundle = await setupDead(1)
  const { db, sql, begin, task } = bundle
  const locker = await Session.open(bundle)
  await begin()
  await locker.begin()
  await locker.query('select 1 from fencepost.ready for update')

  expect(await moveMessages(db)).toBe(false)
  expect(await sql('select status, ended_at from fencepost.sqs_move_task')).toEqual([
    { status: 'RUNNING', ended_at: null },
  ])

  await locker.rollback()
  while (await moveMessages(db));
  expect(await task()).toMatchObject({ status: 'COMPLETED', moved: 1 })
})

it('ends when it is cancelled, or when the queue where messages came from is gone', async () => {
  const { db, sql, begin, task, sound } = await setupDead(2)
  const id = await begin()
  expect(await cancelMoveTask(db, id, 'dead')).toBe(0)
  expect(await moveMessages(db)).toBe(true)
  expect(await task()).toMatchObject({ status: 'CANCELLED', moved: 0 })

  await sql("update fencepost.sqs_queue set name = 'other' where name = 'q'")
  await begin()
  expect(await moveMessages(db)).toBe(true)
  expect(await task()).toMatchObject({ status: 'FAILED', moved: 0 })
  expect(await sql('select 1 from fencepost.ready')).toHaveLength(2)
  await sound()
})

it('waits for nobody who has a message locked, and goes on with the next', async () => {
  const bundle = await setupDead(2)
  const [locker, mover] = [await Session.open(bundle), await Session.open(bundle)]
  await bundle.begin()
  await locker.begin()
  await locker.query('select 1 from fencepost.ready where job_id = $1 for update', [bundle.entries[0]?.id])

  expect(await moveMessages(mover)).toBe(true)

  expect(await bundle.task()).toMatchObject({ status: 'RUNNING', moved: 1 })
})

it('moves nothing to a queue that is gone, though that of the message before it, which is locked, is there', async () => {
  const bundle = await setupDead(1)
  const { db, sql, make, sendTo, receive, begin, task } = bundle
  await make('brief', { visibilityTimeout: 0, ...toDead('dead') })
  const orphan = anEntry()
  await sendTo('brief', orphan)
  await receive({ queue: 'brief' })
  await receive({ queue: 'brief' })
  await deleteQueue(db, 'brief')
  const locker = await Session.open(bundle)
  await begin({ perSecond: 1 })
  await locker.begin()
  await locker.query('select 1 from fencepost.ready where job_id = $1 for update', [bundle.entries[0]?.id])

  expect(await moveMessages(db)).toBe(true)

  expect(await task()).toMatchObject({ status: 'FAILED', moved: 0 })
  expect(await sql('select queue from fencepost.ready')).toEqual([{ queue: 'dead' }, { queue: 'dead' }])
})

it('moves nothing to a queue that is just being deleted', async () => {
  const bundle = await setupDead(1)
  const { sql, begin, task } = bundle
  const [deleter, mover] = [await Session.open(bundle), await Session.open(bundle)]
  await begin()
  await deleter.begin()
  await deleteQueue(deleter, 'q')

  expect(await moveMessages(mover)).toBe(false)

  await deleter.commit()
  expect(await moveMessages(mover)).toBe(true)
  expect(await task()).toMatchObject({ status: 'FAILED', moved: 0 })
  expect(await sql('select queue from fencepost.ready')).toEqual([{ queue: 'dead' }])
})
