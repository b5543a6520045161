import {
  ChangeMessageVisibilityCommand,
  DeleteMessageCommand,
  ReceiveMessageCommand,
  SendMessageBatchCommand,
  SendMessageCommand,
} from '@aws-sdk/client-sqs'
import { expect, it } from 'vitest'
import { setupQueue } from './setup.js'

it('sends, receives and deletes with the real client, which checks the digests', async () => {
  const { sqs, server, QueueUrl } = await setupQueue()
  expect(QueueUrl).toBe(`${server.url}/000000000000/orders`)
  const sent = await sqs.send(
    new SendMessageCommand({
      QueueUrl,
      MessageBody: 'grüße 🎉\n<&>',
      MessageAttributes: {
        n: { DataType: 'Number', StringValue: '5' },
        raw: { DataType: 'Binary', BinaryValue: Uint8Array.of(1, 0, 255) },
      },
    }),
  )
  const { Messages: [message] = [] } = await sqs.send(
    new ReceiveMessageCommand({ QueueUrl, AttributeNames: ['All'], MessageAttributeNames: ['All'] }),
  )
  expect(message).toMatchObject({
    MessageId: sent.MessageId,
    Body: 'grüße 🎉\n<&>',
    MD5OfMessageAttributes: sent.MD5OfMessageAttributes,
    Attributes: { ApproximateReceiveCount: '1', SenderId: 'AKIATEST' },
    MessageAttributes: { n: { StringValue: '5' }, raw: { BinaryValue: Uint8Array.of(1, 0, 255) } },
  })
  expect((await sqs.send(new ReceiveMessageCommand({ QueueUrl }))).Messages).toBeUndefined()
  await sqs.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle: message!.ReceiptHandle }))
  await sqs.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle: message!.ReceiptHandle }))
})

it('answers a batch entry by entry', async () => {
  const { sqs, QueueUrl } = await setupQueue({ MaximumMessageSize: '1024' })
  const { Successful, Failed } = await sqs.send(
    new SendMessageBatchCommand({
      QueueUrl,
      Entries: [
        { Id: 'a', MessageBody: 'a' },
        { Id: 'b', MessageBody: 'x'.repeat(1_025) },
        { Id: 'c', MessageBody: '\u0001' },
      ],
    }),
  )
  expect(Successful).toMatchObject([{ Id: 'a' }])
  expect(Failed).toMatchObject([
    { Id: 'c', Code: 'InvalidMessageContents', SenderFault: true },
    { Id: 'b', Code: 'InvalidParameterValue', SenderFault: true },
  ])
})

it('wakes a receiver that waits at once: on a send, on a delay and on a visibility that runs out, on a change', async () => {
  const { sqs, QueueUrl } = await setupQueue()
  const receive = async (VisibilityTimeout?: number) => {
    const begunAtMs = performance.now()
    const { Messages: [message] = [] } = await sqs.send(
      new ReceiveMessageCommand({ QueueUrl, WaitTimeSeconds: 20, AttributeNames: ['All'], VisibilityTimeout }),
    )
    return { message: message!, tookMs: performance.now() - begunAtMs }
  }
  const first = receive(1)
  await sqs.send(new SendMessageCommand({ QueueUrl, MessageBody: 'now' }))
  expect((await first).message.Body).toBe('now')

  const again = await receive()
  expect(again.message).toMatchObject({ Body: 'now', Attributes: { ApproximateReceiveCount: '2' } })
  expect(again.tookMs).toBeLessThan(15_000) // not at the end of the wait

  const changed = receive()
  await sqs.send(
    new ChangeMessageVisibilityCommand({ QueueUrl, ReceiptHandle: again.message.ReceiptHandle, VisibilityTimeout: 0 }),
  )
  const { message } = await changed
  await sqs.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle: message.ReceiptHandle }))

  const delayed = receive()
  await sqs.send(new SendMessageCommand({ QueueUrl, MessageBody: 'later', DelaySeconds: 1 }))
  expect((await delayed).message.Body).toBe('later')
  expect((await delayed).tookMs).toBeLessThan(15_000)
})

it('answers nothing when the wait is over, and when the server stops', async () => {
  const { sqs, server, QueueUrl } = await setupQueue()
  expect(await sqs.send(new ReceiveMessageCommand({ QueueUrl, WaitTimeSeconds: 1 }))).not.toHaveProperty('Messages')
  const waits = sqs.send(new ReceiveMessageCommand({ QueueUrl, WaitTimeSeconds: 20 }))
  await sqs.send(new ReceiveMessageCommand({ QueueUrl })) // the other one is on its way
  await server.close()
  expect(await waits).not.toHaveProperty('Messages')
})
