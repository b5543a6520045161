import type { Message } from '@aws-sdk/client-sqs'
import { Consumer, type ConsumerOptions } from 'sqs-consumer'
import { Producer } from 'sqs-producer'
import { describe, expect, it, onTestFinished } from 'vitest'
import { setupQueue } from './setup.js'

const patience = { timeout: 20_000, interval: 10 }

/** A consumer that is stopped when the test is over, and what went wrong in it. */
function start(options: ConsumerOptions) {
  const consumer = Consumer.create({ waitTimeSeconds: 20, ...options })
  const faults: string[] = []
  consumer.on('error', (error) => faults.push(error.message))
  consumer.on('processing_error', (error) => faults.push(error.message))
  consumer.start()
  onTestFinished(() => consumer.stop({ abort: true }))
  return { consumer, faults }
}

describe('sqs-consumer', () => {
  it('handles messages one by one, and deletes them', async () => {
    const { sqs, QueueUrl, send, counts } = await setupQueue()
    const handled: (string | undefined)[] = []
    const { faults } = start({
      queueUrl: QueueUrl,
      sqs,
      handleMessage: async (message) => {
        handled.push(message.Body)
        return message
      },
    })
    for (const body of ['a', 'b', 'c']) await send(body)
    await expect.poll(() => new Set(handled), patience).toEqual(new Set(['a', 'b', 'c']))
    await expect.poll(counts, patience).toEqual([0, 0, 0])
    expect(handled).toHaveLength(3)
    expect(faults).toEqual([])
  })

  it('handles a batch, and deletes those of it that it acknowledges', async () => {
    const { sqs, QueueUrl, send, counts } = await setupQueue()
    for (let n = 0; n < 10; n++) await send(`${n}`)
    const batches: number[] = []
    start({
      queueUrl: QueueUrl,
      sqs,
      batchSize: 10,
      handleMessageBatch: async (messages) => {
        batches.push(messages.length)
        return messages.filter(({ Body }) => Number(Body) % 2 === 0)
      },
    })
    await expect.poll(counts, patience).toEqual([0, 5, 0])
    expect(batches).toEqual([10])
  })

  it('leaves a message whose handler throws, and gets it again when its time is over', async () => {
    const { sqs, QueueUrl, send, counts, advance } = await setupQueue({ VisibilityTimeout: '600' })
    const tries: string[] = []
    const { faults } = start({
      queueUrl: QueueUrl,
      sqs,
      messageSystemAttributeNames: ['ApproximateReceiveCount'],
      handleMessage: async (message) => {
        tries.push(message.Attributes!['ApproximateReceiveCount'] as string)
        if (tries.length === 1) {
          await advance(600_001)
          throw new Error('not today')
        }
        return message
      },
    })
    await send('m')
    await expect.poll(counts, patience).toEqual([0, 0, 0])
    await expect.poll(() => tries, patience).toEqual(['1', '2'])
    expect(faults).toEqual([expect.stringContaining('not today')])
  })

  it('gives a message back at once if told so', async () => {
    const { sqs, QueueUrl, send, counts } = await setupQueue({ VisibilityTimeout: '900' })
    let tries = 0
    start({
      queueUrl: QueueUrl,
      sqs,
      terminateVisibilityTimeout: true,
      handleMessage: async (message) => {
        if (++tries < 3) throw new Error('again')
        return message
      },
    })
    await send('m')
    await expect.poll(() => tries, patience).toBe(3)
    await expect.poll(counts, patience).toEqual([0, 0, 0])
  })

  it('keeps a message longer than its time by heartbeats', async () => {
    const { sqs, QueueUrl, send, receive, counts, sql } = await setupQueue()
    const held: Message[] = []
    let letGo = () => {}
    const released = new Promise<void>((resolve) => (letGo = resolve))
    const { faults } = start({
      queueUrl: QueueUrl,
      sqs,
      visibilityTimeout: 2,
      heartbeatInterval: 1,
      handleMessage: async (message) => {
        held.push(message)
        await released
        return message
      },
    })
    await send('long')
    await expect.poll(() => held.length, patience).toBe(1)
    const endsAt = async () =>
      (await sql<{ at: Date }>('select visible_at as at from fencepost.leased'))[0]?.at.getTime() ?? 0
    const first = await endsAt()
    await expect.poll(endsAt, patience).toBeGreaterThan(first + 1_500) // two heartbeats
    expect(await receive()).toEqual([])
    letGo()
    await expect.poll(counts, patience).toEqual([0, 0, 0])
    expect(held).toHaveLength(1)
    expect(faults).toEqual([])
  })

  it('stops in the middle of a wait, and what is sent then is for others', async () => {
    const { sqs, QueueUrl, send, receive, sql } = await setupQueue()
    const { consumer } = start({ queueUrl: QueueUrl, sqs, handleMessage: async (message) => message })
    await expect.poll(() => sql('select 1 from fencepost.sleeper'), patience).not.toEqual([])
    const stopped = new Promise((resolve) => consumer.once('stopped', () => resolve(true)))
    consumer.stop({ abort: true })
    expect(await stopped).toBe(true)
    await send('m')
    await expect.poll(() => receive({ WaitTimeSeconds: 1 }), patience).toMatchObject([{ Body: 'm' }])
  })

  it('takes the groups of a FIFO queue in order', async () => {
    const { sqs, QueueUrl, send, counts } = await setupQueue({ ContentBasedDeduplication: 'true' }, 'f.fifo')
    const handled: string[] = []
    for (const body of ['a1', 'b1', 'a2', 'b2', 'a3']) await send(body, { MessageGroupId: body[0] })
    for (let n = 0; n < 3; n++) {
      start({
        queueUrl: QueueUrl,
        sqs,
        suppressFifoWarning: true,
        handleMessage: async (message) => {
          handled.push(message.Body as string)
          return message
        },
      })
    }
    await expect.poll(counts, patience).toEqual([0, 0, 0])
    expect(handled.filter((body) => body.startsWith('a'))).toEqual(['a1', 'a2', 'a3'])
    expect(handled.filter((body) => body.startsWith('b'))).toEqual(['b1', 'b2'])
  })
})

describe('sqs-producer', () => {
  it('sends twenty-five messages in batches, and tells the size of the queue', async () => {
    const { sqs, QueueUrl } = await setupQueue()
    const producer = Producer.create({ queueUrl: QueueUrl, sqs })
    const sent = await producer.send(Array.from({ length: 25 }, (_, n) => ({ id: `id${n}`, body: `m${n}` })))
    expect(sent.map(({ Id }) => Id)).toEqual(Array.from({ length: 25 }, (_, n) => `id${n}`))
    expect(await producer.queueSize()).toBe(25)
    await producer.send('and-one')
    expect(await producer.queueSize()).toBe(26)
  })

  it('sends to a FIFO queue, each message once', async () => {
    const { sqs, QueueUrl, receive } = await setupQueue({}, 'f.fifo')
    const producer = Producer.create({ queueUrl: QueueUrl, sqs })
    const messages = ['1', '2', '3'].map((n) => ({ id: n, body: n, groupId: 'g', deduplicationId: `d${n}` }))
    await producer.send(messages)
    await producer.send(messages)
    expect((await receive()).map(({ Body }) => Body)).toEqual(['1', '2', '3'])
  })

  it('is told which messages of a batch were not taken', async () => {
    const { sqs, QueueUrl, counts } = await setupQueue({ MaximumMessageSize: '1024' })
    const producer = Producer.create({ queueUrl: QueueUrl, sqs })
    const send = producer.send([
      { id: 'good', body: 'x' },
      { id: 'large', body: 'x'.repeat(2_000) },
    ])
    await expect(send).rejects.toThrow('Failed to send messages: large')
    expect(await counts()).toEqual([1, 0, 0])
  })
})
