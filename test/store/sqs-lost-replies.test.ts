import { randomUUID } from 'node:crypto'
import { expect, it, onTestFinished } from 'vitest'
import { Database } from '../../src/store/database.js'
import { receiveMessages } from '../../src/store/sqs-messages.js'
import { cancelMoveTask, moveMessages, startMoveTask } from '../../src/store/sqs-move-tasks.js'
import { deleteQueue, purgeQueue, readQueue, setTags } from '../../src/store/sqs-queues.js'
import { FaultProxy } from '../harness/fault-proxy.js'
import { anEntry, setupSqs } from '../harness/sqs.js'

/** A second way to the database that loses what it is told to lose. */
async function throughProxy() {
  const bundle = await setupSqs()
  const proxy = await FaultProxy.start(bundle.url)
  const lossy = new Database({ url: proxy.url })
  onTestFinished(() => lossy.close())
  return { ...bundle, proxy, lossy }
}

const ask = { queue: 'q', max: 1, visibleMs: null, receiver: 'r1', attempt: null, inFlightMax: null }

it('a receive is answered with what its own first try took', async () => {
  const { send, lossy, proxy, sql } = await throughProxy()
  const [first, second] = [anEntry(), anEntry()]
  await send(first, second, anEntry())
  expect(await receiveMessages(lossy, ask)).toMatchObject([{ jobId: first.id }])
  const lost = proxy.loseReplyTo('sqs_receive')

  expect(await receiveMessages(lossy, ask)).toMatchObject([{ jobId: second.id, tries: 1 }])

  await lost
  expect(await sql('select count(*)::int as n from fencepost.leased')).toEqual([{ n: 2 }])
})

it('a purge is not refused for having come too soon after itself', async () => {
  const { lossy, proxy } = await throughProxy()
  const lost = proxy.loseReplyTo('sqs_purge')

  expect(await purgeQueue(lossy, 'q', 60_000)).toBe('purged')

  await lost
  expect(await purgeQueue(lossy, 'q', 60_000)).toBe('too_soon')
})

it('a delete of a queue is not told that there is none', async () => {
  const { lossy, proxy } = await throughProxy()
  const lost = proxy.loseReplyTo('sqs_delete_queue')

  expect(await deleteQueue(lossy, 'q')).toBe(true)

  await lost
  expect(await deleteQueue(lossy, 'q')).toBe(false)
})

it('tags are set, and not over a change that was made since they were read', async () => {
  const { lossy, proxy } = await throughProxy()
  const lost = proxy.loseReplyTo('sqs_queue set tags')

  expect(await setTags(lossy, 'q', {}, { a: '1' })).toBe(true)

  await lost
  expect(await setTags(lossy, 'q', {}, { b: '2' })).toBe(false)
  expect(await readQueue(lossy, 'q')).toMatchObject({ tags: { a: '1' } })
})

it('a task that moves messages is started, one at a time, and cancelled until it has ended', async () => {
  const { lossy, proxy, send } = await throughProxy()
  await send(anEntry())
  const task = { id: randomUUID(), source: 'q', destination: null, perSecond: null }
  const lost = proxy.loseReplyTo('sqs_move_task')

  expect(await startMoveTask(lossy, task)).toBe(true)

  await lost
  expect(await startMoveTask(lossy, { ...task, id: randomUUID() })).toBe(false)
  expect(await cancelMoveTask(lossy, task.id, 'q')).toBe(0)
  while (await moveMessages(lossy));
  expect(await cancelMoveTask(lossy, task.id, 'q')).toBeUndefined()
})
