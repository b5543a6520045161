import { SendMessageBatchCommand } from '@aws-sdk/client-sqs'
import { describe, expect, it } from 'vitest'
import { bodies, refusal, setupQueue, setupServer } from './setup.js'

const inGroup = (MessageGroupId: string, MessageDeduplicationId?: string) => ({
  MessageGroupId,
  ...(MessageDeduplicationId !== undefined && { MessageDeduplicationId }),
})
const byContent = { ContentBasedDeduplication: 'true' }

describe('a message group', () => {
  it('comes in order; the rest of it is hidden while one is in flight, and other groups are not', async () => {
    const { send, receive, remove } = await setupQueue(byContent, 'f.fifo')
    for (const body of ['a1', 'a2', 'a3']) await send(body, inGroup('a'))
    await send('b1', inGroup('b'))
    const [a1] = await receive({ MaxNumberOfMessages: 1 })
    expect(a1).toMatchObject({ Body: 'a1', Attributes: { MessageGroupId: 'a', SequenceNumber: expect.any(String) } })
    expect(bodies(await receive())).toEqual(['b1'])
    await remove(a1!)
    expect(bodies(await receive())).toEqual(['a2', 'a3'])
  })

  it('begins again with the message that came back', async () => {
    const { send, receive, change, advance } = await setupQueue({ ...byContent, VisibilityTimeout: '5' }, 'f.fifo')
    for (const body of ['1', '2', '3']) await send(body, inGroup('g'))
    const [first, second] = await receive({ MaxNumberOfMessages: 2 })
    await change(first!, 0)
    expect(await receive()).toEqual([]) // the second is in flight still
    await change(second!, 0)
    expect(bodies(await receive())).toEqual(['1', '2', '3'])
    await advance(5_001)
    expect(bodies(await receive({ MaxNumberOfMessages: 1 }))).toEqual(['1'])
  })

  it('keeps its order through twenty who send and receive at once', async () => {
    const { send, receive, remove, counts } = await setupQueue(byContent, 'f.fifo')
    const groups = ['a', 'b', 'c', 'd']
    const each = 15
    await Promise.all(
      groups.map(async (group) => {
        for (let n = 0; n < each; n++) await send(`${group}${n}`, inGroup(group))
      }),
    )
    const seen = new Map<string, number[]>(groups.map((group) => [group, []]))
    const consumer = async () => {
      for (let idle = 0; idle < 3; ) {
        const messages = await receive({ MaxNumberOfMessages: 3 })
        if (messages.length === 0) idle++
        for (const message of messages) {
          seen.get(message.Body![0]!)!.push(Number(message.Body!.slice(1)))
          await remove(message)
        }
      }
    }
    while ((await counts()).some((n) => n > 0)) await Promise.all(Array.from({ length: 8 }, consumer))
    const inOrder = Array.from({ length: each }, (_, n) => n)
    expect(Object.fromEntries(seen)).toEqual(Object.fromEntries(groups.map((group) => [group, inOrder])))
  })

  it('is needed, and a delay of its own is not taken', async () => {
    const { send } = await setupQueue(byContent, 'f.fifo')
    expect(await refusal(send('m'))).toEqual(['MissingParameter', 400])
    expect(await refusal(send('m', { ...inGroup('g'), DelaySeconds: 5 }))).toEqual(['InvalidParameterValue', 400])
    await send('m', { ...inGroup('g'), DelaySeconds: 0 })
  })

  it('waits as long as the delay of the queue says', async () => {
    const { send, receive, advance } = await setupQueue({ ...byContent, DelaySeconds: '10' }, 'f.fifo')
    await send('1', inGroup('g'))
    await advance(6_000)
    await send('2', inGroup('g'))
    await advance(4_001)
    expect(bodies(await receive())).toEqual(['1'])
  })
})

describe('sequence numbers', () => {
  it('rise, over groups and batches, and are those of the messages received', async () => {
    const { sqs, QueueUrl, send, receive } = await setupQueue(byContent, 'f.fifo')
    const one = await send('0', inGroup('a'))
    const batch = await sqs.send(
      new SendMessageBatchCommand({
        QueueUrl,
        Entries: ['1', '2', '3'].map((Id) => ({ Id, MessageBody: Id, MessageGroupId: Number(Id) % 2 ? 'a' : 'b' })),
      }),
    )
    const last = await send('4', inGroup('c'))
    const told = [one, ...batch.Successful!, last].map(({ SequenceNumber }) => SequenceNumber!)
    for (const number of told) expect(number).toMatch(/^\d{20}$/)
    expect([...told].sort()).toEqual(told)
    expect(new Set(told).size).toBe(5)
    const received = await receive()
    const byBody = Object.fromEntries(received.map(({ Body, Attributes }) => [Body, Attributes?.['SequenceNumber']]))
    expect(byBody).toEqual({ 0: told[0], 1: told[1], 2: told[2], 3: told[3], 4: told[4] })
  })
})

describe('deduplication', () => {
  it('by id answers the first message for five minutes, whatever the second one says', async () => {
    const { send, receive, remove, advance } = await setupQueue({}, 'f.fifo')
    const first = await send('first', inGroup('g', 'd'))
    expect(await send('other body', inGroup('h', 'd'))).toMatchObject({
      MessageId: first.MessageId,
      SequenceNumber: first.SequenceNumber,
    })
    const messages = await receive()
    expect(messages).toMatchObject([{ Body: 'first', Attributes: { MessageDeduplicationId: 'd' } }])
    await remove(messages[0]!)
    expect((await send('again', inGroup('g', 'd'))).MessageId).toBe(first.MessageId)
    await advance(300_001)
    expect((await send('late', inGroup('g', 'd'))).MessageId).not.toBe(first.MessageId)
    expect(bodies(await receive())).toEqual(['late'])
  })

  it('by content looks at the body alone, and yields to an id that is given', async () => {
    const { send, receive } = await setupQueue(byContent, 'f.fifo')
    const attribute = (StringValue: string) => ({ a: { DataType: 'String', StringValue } })
    const first = await send('same', { ...inGroup('g'), MessageAttributes: attribute('1') })
    const second = await send('same', { ...inGroup('g'), MessageAttributes: attribute('2') })
    expect(second.MessageId).toBe(first.MessageId)
    await send('same', inGroup('g', 'mine'))
    expect(bodies(await receive())).toEqual(['same', 'same'])
  })

  it('of a queue with neither is refused, alone and in a batch', async () => {
    const { sqs, QueueUrl, send, receive } = await setupQueue({}, 'f.fifo')
    expect(await refusal(send('m', inGroup('g')))).toEqual(['InvalidParameterValue', 400])
    const { Successful, Failed } = await sqs.send(
      new SendMessageBatchCommand({
        QueueUrl,
        Entries: [
          { Id: 'a', MessageBody: 'a', MessageGroupId: 'g' },
          { Id: 'b', MessageBody: 'b', MessageGroupId: 'g', MessageDeduplicationId: 'b' },
        ],
      }),
    )
    expect(Successful).toMatchObject([{ Id: 'b' }])
    expect(Failed).toMatchObject([{ Id: 'a', Code: 'InvalidParameterValue', SenderFault: true }])
    expect(bodies(await receive())).toEqual(['b'])
  })

  it('counts per queue, or per message group if the queue says so', async () => {
    const { queue } = await setupServer()
    const whole = await queue('whole.fifo')
    const grouped = await queue('grouped.fifo', { DeduplicationScope: 'messageGroup' })
    for (const { send } of [whole, grouped]) {
      await send('1', inGroup('a', 'd'))
      await send('2', inGroup('b', 'd'))
      await send('3', inGroup('a', 'd'))
    }
    expect(bodies(await whole.receive())).toEqual(['1'])
    expect(bodies(await grouped.receive())).toEqual(['1', '2'])
  })
})

describe('ReceiveRequestAttemptId', () => {
  it('repeated, answers the same messages with the same receipts, hidden anew', async () => {
    const { send, receive, advance } = await setupQueue({ ...byContent, VisibilityTimeout: '10' }, 'f.fifo')
    for (const body of ['1', '2']) await send(body, inGroup('g'))
    const first = await receive({ ReceiveRequestAttemptId: 'x' })
    expect(bodies(first)).toEqual(['1', '2'])
    await advance(8_000)
    const again = await receive({ ReceiveRequestAttemptId: 'x' })
    expect(again.map(({ ReceiptHandle }) => ReceiptHandle)).toEqual(first.map(({ ReceiptHandle }) => ReceiptHandle))
    await advance(8_000)
    expect(await receive({ ReceiveRequestAttemptId: 'y' })).toEqual([])
  })

  it('answers nothing of what was deleted meanwhile', async () => {
    const { send, receive, remove } = await setupQueue(byContent, 'f.fifo')
    await send('1', inGroup('g'))
    const [first] = await receive({ ReceiveRequestAttemptId: 'x' })
    await remove(first!)
    expect(await receive({ ReceiveRequestAttemptId: 'x' })).toEqual([])
  })

  it('is not for standard queues', async () => {
    const { receive } = await setupQueue()
    expect(await refusal(receive({ ReceiveRequestAttemptId: 'x' }))).toEqual(['InvalidParameterValue', 400])
  })
})
