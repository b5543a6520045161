import { CreateQueueCommand, ReceiveMessageCommand, SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs'
import { fencepost, messageTask } from 'fencepost'
import { z } from 'zod'

const fp = await fencepost()
const server = await fp.serveSqs({ port: 0, unsigned: true })
const sqs = new SQSClient({
  endpoint: server.url,
  region: 'us-east-1',
  credentials: { accessKeyId: 'anything', secretAccessKey: 'anything' },
})
const { QueueUrl } = await sqs.send(new CreateQueueCommand({ QueueName: 'parcels' }))

const parcels = messageTask('parcels', {
  input: z.object({ order: z.string() }),
  run: ({ order }, _job, message) => console.log(`packed ${order}, sent by ${message.sender}`),
})

// A job of ours is a message to any client of SQS …
const { id } = await fp.enqueue(parcels, { order: 'o-1' })
console.log(`enqueued ${id}`)
const { Messages = [] } = await sqs.send(new ReceiveMessageCommand({ QueueUrl, VisibilityTimeout: 0 }))
console.log(`received ${Messages[0]?.Body}`)

// … and a message of theirs is a job to our worker.
await fp.work([parcels])
await fp.result(id)
const sent = await sqs.send(new SendMessageCommand({ QueueUrl, MessageBody: '{"order":"o-2"}' }))
await fp.result(sent.MessageId as string)

sqs.destroy()
await fp.close()
