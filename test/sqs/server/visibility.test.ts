import {
  ChangeMessageVisibilityBatchCommand,
  DeleteMessageBatchCommand,
  SendMessageBatchCommand,
} from '@aws-sdk/client-sqs'
import { describe, expect, it } from 'vitest'
import { sweepMessages } from '../../../src/store/sqs-messages.js'
import { bodies, refusal, setupQueue, setupServer } from './setup.js'

describe('a delay', () => {
  it('holds for its message, otherwise that of the queue does', async () => {
    const { send, receive, advance, counts } = await setupQueue({ DelaySeconds: '30', VisibilityTimeout: '900' })
    await send('now', { DelaySeconds: 0 })
    await send('soon', { DelaySeconds: 10 })
    await send('as the queue says')
    expect(bodies(await receive())).toEqual(['now'])
    expect(await counts()).toEqual([0, 1, 2])
    await advance(10_001)
    expect(bodies(await receive())).toEqual(['soon'])
    await advance(20_000)
    expect(bodies(await receive())).toEqual(['as the queue says'])
    expect(await refusal(send('x', { DelaySeconds: 901 }))).toEqual(['InvalidParameterValue', 400])
  })
})

describe('the visibility timeout', () => {
  it('is that of the receive, otherwise that of the queue; 0 hides nothing', async () => {
    const { send, receive, advance } = await setupQueue({ VisibilityTimeout: '30' })
    await send('m')
    expect(bodies(await receive({ VisibilityTimeout: 0 }))).toEqual(['m'])
    expect(bodies(await receive({ VisibilityTimeout: 5 }))).toEqual(['m'])
    expect(await receive()).toEqual([])
    await advance(5_001)
    expect(bodies(await receive())).toEqual(['m'])
    await advance(29_000)
    expect(await receive()).toEqual([])
    await advance(1_001)
    expect(await receive()).toMatchObject([{ Attributes: { ApproximateReceiveCount: '4' } }])
  })

  it('lasts twelve hours at most, from the receive on', async () => {
    const { send, receive, change, advance } = await setupQueue()
    await send('m')
    expect(await refusal(receive({ VisibilityTimeout: 43_201 }))).toEqual(['InvalidParameterValue', 400])
    const [message] = await receive({ VisibilityTimeout: 43_200 })
    await advance(3_600_000)
    expect(await refusal(change(message!, 43_200))).toEqual(['InvalidParameterValue', 400])
    await change(message!, 39_500)
    await advance(39_400_000)
    expect(await receive()).toEqual([])
    await advance(101_000)
    expect(bodies(await receive())).toEqual(['m'])
  })

  it('is changed to 0: the message is there at once, and the first receipt changes nothing more', async () => {
    const { send, receive, change } = await setupQueue()
    await send('m')
    const [message] = await receive()
    await change(message!, 0)
    const [again] = await receive()
    expect(again).toMatchObject({ Body: 'm', Attributes: { ApproximateReceiveCount: '2' } })
    expect(again!.ReceiptHandle).not.toBe(message!.ReceiptHandle)
    expect(await refusal(change(message!, 10))).toEqual(['MessageNotInflight', 400])
  })

  it('is changed in a batch, entry by entry', async () => {
    const { sqs, QueueUrl, send, receive, remove } = await setupQueue()
    await send('a')
    await send('b')
    const [a, b] = await receive()
    await remove(b!)
    const { Successful, Failed } = await sqs.send(
      new ChangeMessageVisibilityBatchCommand({
        QueueUrl,
        Entries: [
          { Id: 'forged', ReceiptHandle: 'x', VisibilityTimeout: 1 },
          { Id: 'good', ReceiptHandle: a!.ReceiptHandle, VisibilityTimeout: 0 },
          { Id: 'gone', ReceiptHandle: b!.ReceiptHandle, VisibilityTimeout: 1 },
          { Id: 'long', ReceiptHandle: a!.ReceiptHandle, VisibilityTimeout: 50_000 },
        ],
      }),
    )
    expect(Successful).toEqual([{ Id: 'good' }])
    expect(Object.fromEntries(Failed!.map(({ Id, Code }) => [Id, Code]))).toEqual({
      forged: 'ReceiptHandleIsInvalid',
      gone: 'AWS.SimpleQueueService.MessageNotInflight',
      long: 'InvalidParameterValue',
    })
    expect(bodies(await receive())).toEqual(['a'])
  })
})

describe('a receipt that has run out', () => {
  it('deletes from a standard queue what nobody has received again, and nothing else', async () => {
    const { send, receive, remove, advance, counts } = await setupQueue({ VisibilityTimeout: '5' })
    await send('m')
    const [first] = await receive()
    await advance(5_001)
    const [second] = await receive()
    await remove(first!) // says nothing, as at AWS
    expect(await counts()).toEqual([0, 1, 0])
    await advance(5_001)
    await remove(second!)
    expect(await counts()).toEqual([0, 0, 0])
  })

  it('is an error in a FIFO queue', async () => {
    const { send, receive, remove, advance } = await setupQueue({ VisibilityTimeout: '5' }, 'f.fifo')
    await send('m', { MessageGroupId: 'g', MessageDeduplicationId: 'd' })
    const [first] = await receive()
    await advance(5_001)
    expect(await refusal(remove(first!))).toEqual(['InvalidParameterValue', 400])
    const [second] = await receive()
    expect(await refusal(remove(first!))).toEqual(['InvalidParameterValue', 400])
    await remove(second!)
    expect(await receive()).toEqual([])
  })
})

describe('a message that is kept long', () => {
  it('expires when nobody has received it, and not while it is in flight', async () => {
    const { db, send, receive, remove, advance, counts } = await setupQueue({ MessageRetentionPeriod: '60' })
    await send('held')
    const [held] = await receive({ VisibilityTimeout: 600 })
    await send('left')
    await advance(61_000)
    await send('young')
    expect(await sweepMessages(db, 0)).toBe(1)
    expect(await counts()).toEqual([1, 1, 0])
    expect(bodies(await receive())).toEqual(['young'])
    await remove(held!)
    expect(await counts()).toEqual([0, 1, 0])
  })

  it('expires by what the queue says now, in every queue by its own', async () => {
    const { db, queue, advance } = await setupServer()
    const [short, long] = [await queue('short'), await queue('long')]
    await short.send('m')
    await long.send('m')
    await advance(100_000)
    expect(await sweepMessages(db, 0)).toBe(0)
    await short.set({ MessageRetentionPeriod: '60' })
    expect(await sweepMessages(db, 0)).toBe(1)
    expect(await short.counts()).toEqual([0, 0, 0])
    expect(await long.counts()).toEqual([1, 0, 0])
  })
})

describe('a batch', () => {
  it('deletes entry by entry, in any order and twice', async () => {
    const { sqs, QueueUrl, send, receive, counts } = await setupQueue()
    for (const body of ['a', 'b', 'c']) await send(body)
    const [a, b, c] = await receive()
    const remove = () =>
      sqs.send(
        new DeleteMessageBatchCommand({
          QueueUrl,
          Entries: [
            { Id: 'c', ReceiptHandle: c!.ReceiptHandle },
            { Id: 'x', ReceiptHandle: 'AAAA' },
            { Id: 'a', ReceiptHandle: a!.ReceiptHandle },
            { Id: 'a2', ReceiptHandle: a!.ReceiptHandle },
          ],
        }),
      )
    const first = await remove()
    expect(first.Successful).toEqual([{ Id: 'c' }, { Id: 'a' }, { Id: 'a2' }])
    expect(first.Failed).toMatchObject([{ Id: 'x', SenderFault: true, Code: 'ReceiptHandleIsInvalid' }])
    expect((await remove()).Successful).toEqual(first.Successful)
    expect(await counts()).toEqual([0, 1, 0])
    expect(b!.Body).toBe('b')
  })

  it('may have a delay, attributes and a group in each entry', async () => {
    const { sqs, QueueUrl, receive, counts } = await setupQueue()
    const sent = await sqs.send(
      new SendMessageBatchCommand({
        QueueUrl,
        Entries: [
          {
            Id: '1',
            MessageBody: 'x',
            MessageAttributes: { kind: { DataType: 'String.note', StringValue: 'ü' } },
            MessageSystemAttributes: { AWSTraceHeader: { DataType: 'String', StringValue: 'Root=1-5' } },
          },
          { Id: '2', MessageBody: 'y', DelaySeconds: 100 },
        ],
      }),
    )
    expect(sent.Failed).toEqual([])
    expect(sent.Successful?.map(({ Id }) => Id)).toEqual(['1', '2'])
    expect(await counts()).toEqual([1, 0, 1])
    expect(await receive()).toMatchObject([
      {
        MessageId: sent.Successful?.[0]?.MessageId,
        MessageAttributes: { kind: { DataType: 'String.note', StringValue: 'ü' } },
        Attributes: { AWSTraceHeader: 'Root=1-5' },
      },
    ])
  })

  it.each([
    ['no entry', [], 'EmptyBatchRequest'],
    [
      'eleven entries',
      Array.from({ length: 11 }, (_, n) => ({ Id: `${n}`, MessageBody: 'x' })),
      'TooManyEntriesInBatchRequest',
    ],
    ['an id twice', ['a', 'a'].map((Id) => ({ Id, MessageBody: 'x' })), 'BatchEntryIdsNotDistinct'],
    ['an id with a dot', [{ Id: 'a.b', MessageBody: 'x' }], 'InvalidBatchEntryId'],
    ['more than 1 MiB', ['a', 'b'].map((Id) => ({ Id, MessageBody: 'x'.repeat(600_000) })), 'BatchRequestTooLong'],
  ])('with %s is refused as a whole', async (_what, Entries, name) => {
    const { sqs, QueueUrl, counts } = await setupQueue()
    expect(await refusal(sqs.send(new SendMessageBatchCommand({ QueueUrl, Entries })))).toEqual([name, 400])
    expect(await counts()).toEqual([0, 0, 0])
  })
})

it('takes a message of 1 MiB, and gives it back to the byte', async () => {
  const { send, receive } = await setupQueue()
  const body = '𝄞é\n'.repeat(149_796)
  expect(Buffer.byteLength(body)).toBeLessThanOrEqual(1_048_576)
  await send(body)
  const [message] = await receive()
  expect(message!.Body === body).toBe(true)
  expect(await refusal(send('x'.repeat(1_048_577)))).toEqual(['InvalidParameterValue', 400])
})

it('answers only the attributes that are asked for', async () => {
  const { send, receive } = await setupQueue({ VisibilityTimeout: '0' })
  const text = (StringValue: string) => ({ DataType: 'String', StringValue })
  await send('m', { MessageAttributes: { 'a.x': text('1'), 'a.y': text('2'), b: text('3') } })
  const asked = async (MessageAttributeNames: string[]) => {
    const [message] = await receive({ MessageAttributeNames, MessageSystemAttributeNames: ['SentTimestamp'] })
    expect(Object.keys(message!.Attributes ?? {})).toEqual(['SentTimestamp'])
    return Object.keys(message!.MessageAttributes ?? {}).sort()
  }
  expect(await asked(['b', 'none'])).toEqual(['b'])
  expect(await asked(['a.*'])).toEqual(['a.x', 'a.y'])
  expect(await asked(['All'])).toEqual(['a.x', 'a.y', 'b'])
  expect(await asked([])).toEqual([])
})
