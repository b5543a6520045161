import { randomUUID } from 'node:crypto'
import {
  CreateQueueCommand,
  SendMessageBatchCommand,
  SendMessageCommand,
  SetQueueAttributesCommand,
} from '@aws-sdk/client-sqs'
import { expect, it } from 'vitest'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'
import { setupServer } from '../../test/sqs/server/setup.js'

it('FM_025: looked up first, what is stored is told as stored, what never was is refused, what is in flight is waited for', async () => {
  const { prevent } = await bundleUnderTest('FM_025')

  const played = await prevent()

  expect(noteOf(played, 'server 4', 'is sent the first again')).toBe('recorded #1')
  expect(noteOf(played, 'server 4', 'is sent the second again')).toBe('too_large')
  expect(noteOf(played, 'server 4', 'is sent the third again')).toBe('is held up in the middle')
  expect(noteOf(played, 'server 4', 'answers for the third')).toBe('recorded #3')
  expect(played.violations).toEqual([])
})

/** A queue for 8 KiB, and two servers. */
async function twoServers(attributes: Record<string, string> = {}, name = 'orders') {
  const bundle = await setupServer()
  const servers = [bundle.server.url, (await bundle.serve()).url]
  const create = new CreateQueueCommand({ QueueName: name, Attributes: { MaximumMessageSize: '8192', ...attributes } })
  const { QueueUrl } = await bundle.sqs.send(create)
  const set = (Attributes: Record<string, string>) =>
    bundle.sqs.send(new SetQueueAttributesCommand({ QueueUrl, Attributes }))
  /** A try of the request of this token, through one of the servers. */
  const through = (n: number, token: string) => bundle.client(servers[n] as string, {}, token)
  const jobs = () => bundle.sql<{ id: string }>('select id from fencepost.job order by seq')
  return { ...bundle, through, QueueUrl, set, jobs }
}
const large = 'x'.repeat(5_000)

it('FM_025: a send that comes again through another server is successful with its first id, though the limit was lowered', async () => {
  const { through, QueueUrl, set, jobs } = await twoServers()
  const token = randomUUID()
  const send = (n: number, key = token) =>
    through(n, key).send(new SendMessageCommand({ QueueUrl, MessageBody: large }))
  const first = await send(0)
  await set({ MaximumMessageSize: '1024' })

  expect(await send(1)).toMatchObject({ MessageId: first.MessageId, MD5OfMessageBody: first.MD5OfMessageBody })
  await expect(send(1, randomUUID())).rejects.toMatchObject({ name: 'InvalidParameterValue' })

  expect(await jobs()).toEqual([{ id: first.MessageId }])
})

it('FM_025: of a batch, each entry is told what became of it', async () => {
  const { through, QueueUrl, set, jobs } = await twoServers()
  const token = randomUUID()
  const send = (n: number) =>
    through(n, token).send(
      new SendMessageBatchCommand({
        QueueUrl,
        Entries: [
          { Id: 'small', MessageBody: 'small' },
          { Id: 'large', MessageBody: large },
          { Id: 'larger', MessageBody: large + large },
        ],
      }),
    )
  const first = await send(0)
  expect(first.Successful?.map(({ Id }) => Id)).toEqual(['small', 'large'])
  expect(first.Failed?.map(({ Id }) => Id)).toEqual(['larger'])

  await set({ MaximumMessageSize: '1024' })
  const second = await send(1)
  expect(second.Successful).toEqual(first.Successful)
  expect(second.Failed?.map(({ Id }) => Id)).toEqual(['larger'])

  await set({ MaximumMessageSize: '20000' }) // a refusal is not an answer for ever
  const third = await send(0)
  expect(third.Successful?.slice(0, 2)).toEqual(first.Successful)
  expect(third.Successful?.map(({ Id }) => Id)).toEqual(['small', 'large', 'larger'])
  expect(await jobs()).toEqual(third.Successful?.map(({ MessageId }) => ({ id: MessageId })))
})

it('FM_025: a send without a deduplication id is successful again after the queue has come to need one', async () => {
  const fifo = { FifoQueue: 'true', ContentBasedDeduplication: 'true' }
  const { through, QueueUrl, set, jobs } = await twoServers(fifo, 'orders.fifo')
  const token = randomUUID()
  const send = (n: number, key = token) =>
    through(n, key).send(new SendMessageCommand({ QueueUrl, MessageBody: 'm', MessageGroupId: 'g' }))
  const first = await send(0)
  await set({ ContentBasedDeduplication: 'false' })

  expect(await send(1)).toMatchObject({ MessageId: first.MessageId, SequenceNumber: first.SequenceNumber })
  await expect(send(1, randomUUID())).rejects.toMatchObject({ name: 'InvalidParameterValue' })

  expect(await jobs()).toEqual([{ id: first.MessageId }])
})
