import { PurgeQueueCommand, SendMessageBatchCommand } from '@aws-sdk/client-sqs'
import { describe, expect, it } from 'vitest'
import { setupQueue } from './setup.js'

async function setupNoise(count: number) {
  const bundle = await setupQueue()
  const noise = async (n: number) => {
    for (let sent = 0; sent < n; sent += 10) {
      const Entries = Array.from({ length: 10 }, (_, i) => ({
        Id: `${i}`,
        MessageBody: `noisy ${sent + i}`,
        MessageGroupId: 'noisy',
      }))
      await bundle.sqs.send(new SendMessageBatchCommand({ QueueUrl: bundle.QueueUrl, Entries }))
    }
  }
  await noise(count)
  return { ...bundle, noise }
}

describe('groups of a standard queue', () => {
  it('take turns: a thousand messages of one do not delay the first of another', async () => {
    const { send, receive } = await setupNoise(1_000)
    await send('quiet', { MessageGroupId: 'quiet' })
    const messages = await receive()
    expect(messages.map(({ Body }) => Body)).toContain('quiet')
    expect(messages.find(({ Body }) => Body === 'quiet')).toMatchObject({ Attributes: { MessageGroupId: 'quiet' } })
  })

  it('take turns though one of them has begun with a whole batch', async () => {
    const { send, receive } = await setupNoise(10)
    await send('quiet', { MessageGroupId: 'quiet' })
    expect((await receive()).slice(0, 3).map(({ Body }) => Body)).toEqual(['noisy 0', 'noisy 1', 'quiet'])
  })

  it('take turns whoever was the noisy one before the queue was empty', async () => {
    const { sqs, QueueUrl, send, receive } = await setupNoise(100)
    await sqs.send(new PurgeQueueCommand({ QueueUrl }))
    for (let n = 0; n < 30; n++) await send(`other ${n}`, { MessageGroupId: 'other' })
    await send('not noisy any more', { MessageGroupId: 'noisy' })
    expect((await receive()).map(({ Body }) => Body)).toContain('not noisy any more')
  })

  it('take turns while the queue goes on, and nothing is in the way of the noisy one', async () => {
    const { send, receive, remove, noise } = await setupNoise(100)
    for (let round = 0; round < 5; round++) {
      for (const message of await receive()) await remove(message)
      await noise(20)
      await send(`quiet ${round}`, { MessageGroupId: 'quiet' })
      const taken = await receive()
      expect(taken.filter(({ Body }) => Body === `quiet ${round}`)).toHaveLength(1)
      expect(taken.length).toBe(10)
      for (const message of taken) await remove(message)
    }
  })

  it('do not hide each other: many of one group are in flight at once', async () => {
    const { receive, counts } = await setupNoise(20)
    expect(await receive()).toHaveLength(10)
    expect(await receive()).toHaveLength(10)
    expect(await counts()).toEqual([0, 20, 0])
  })

  it('do not wait for all messages without a group that come later', async () => {
    const { send, receive, remove } = await setupNoise(50)
    for (let n = 0; n < 2; n++) for (const message of await receive()) await remove(message)
    // The queue has come to the twentieth of the noisy group: who comes now comes beside that one, not before it.
    for (let n = 0; n < 15; n++) await send(`plain ${n}`)
    expect((await receive()).some(({ Body }) => Body?.startsWith('noisy'))).toBe(true)
  })
})
