import {
  ChangeMessageVisibilityCommand,
  CreateQueueCommand,
  DeleteMessageCommand,
  GetQueueAttributesCommand,
  type Message,
  type QueueAttributeName,
  ReceiveMessageCommand,
  type ReceiveMessageCommandInput,
  SendMessageCommand,
  type SendMessageCommandInput,
  SetQueueAttributesCommand,
  SQSClient,
  type SQSClientConfig,
  type SQSServiceException,
} from '@aws-sdk/client-sqs'
import { onTestFinished } from 'vitest'
import { Events } from '../../../src/events.js'
import { checkedSqsOptions, type SqsOptions } from '../../../src/sqs/sqs-options.js'
import { type SqsServer, startSqsServer } from '../../../src/sqs/sqs-server.js'
import type { Database } from '../../../src/store/database.js'
import { setup } from '../../harness/setup.js'

export const credentials = { accessKeyId: 'AKIATEST', secretAccessKey: 'secret' }

/** A server that speaks SQS on a database of the test's own, and the real client of it. */
export async function setupServer(options: SqsOptions = {}) {
  const bundle = await setup()
  const events = new Events()
  const errors: unknown[] = []
  events.on('error', ({ error }) => errors.push(error))
  const serve = async (given: SqsOptions = {}, db: Database = bundle.db): Promise<SqsServer> => {
    const server = await startSqsServer(
      db,
      events,
      checkedSqsOptions(
        { port: 0, keys: { [credentials.accessKeyId]: { secret: credentials.secretAccessKey } }, ...given },
        'the test',
      ),
    )
    onTestFinished(() => server.close())
    return server
  }
  /** With a token, each request of this client is another try of one and the same. */
  const client = (url: string, config: SQSClientConfig = {}, token?: string): SQSClient => {
    const made = new SQSClient({ region: 'us-east-1', endpoint: url, credentials, maxAttempts: 1, ...config })
    if (token !== undefined) {
      made.middlewareStack.add(
        (next) => (args) => {
          const { headers } = args.request as { headers: Record<string, string> }
          headers['x-fencepost-idempotency-key'] = token
          return next(args)
        },
        { step: 'build' },
      )
    }
    onTestFinished(() => made.destroy())
    return made
  }
  const server = await serve(options)
  const sqs = client(server.url)
  return {
    ...bundle,
    events,
    errors,
    serve,
    client,
    server,
    sqs,
    /** Makes a queue, and answers short words for what is done with its messages. */
    queue: async (name: string, attributes: Attributes = {}) => {
      const Attributes = name.endsWith('.fifo') ? { FifoQueue: 'true', ...attributes } : attributes
      const { QueueUrl } = await sqs.send(new CreateQueueCommand({ QueueName: name, Attributes }))
      return queueWords(sqs, QueueUrl as string)
    },
  }
}

export type Attributes = Partial<Record<QueueAttributeName, string>>

/** A server, and one queue. */
export async function setupQueue(attributes: Attributes = {}, name = 'orders', options: SqsOptions = {}) {
  const bundle = await setupServer(options)
  return { ...bundle, ...(await bundle.queue(name, attributes)) }
}

export function queueWords(sqs: SQSClient, QueueUrl: string) {
  const attributes = async (...AttributeNames: QueueAttributeName[]) =>
    (await sqs.send(new GetQueueAttributesCommand({ QueueUrl, AttributeNames }))).Attributes ?? {}
  return {
    QueueUrl,
    arn: arnOf(QueueUrl.split('/').at(-1) as string),
    attributes,
    set: (Attributes: Attributes) => sqs.send(new SetQueueAttributesCommand({ QueueUrl, Attributes })),
    send: (MessageBody: string, more: Partial<SendMessageCommandInput> = {}) =>
      sqs.send(new SendMessageCommand({ QueueUrl, MessageBody, ...more })),
    receive: async (more: Partial<ReceiveMessageCommandInput> = {}) => {
      const { Messages } = await sqs.send(
        new ReceiveMessageCommand({
          QueueUrl,
          MaxNumberOfMessages: 10,
          MessageSystemAttributeNames: ['All'],
          MessageAttributeNames: ['All'],
          ...more,
        }),
      )
      return Messages ?? []
    },
    remove: ({ ReceiptHandle }: Message) => sqs.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle })),
    change: ({ ReceiptHandle }: Message, VisibilityTimeout: number) =>
      sqs.send(new ChangeMessageVisibilityCommand({ QueueUrl, ReceiptHandle, VisibilityTimeout })),
    /** Visible, in flight, delayed. */
    counts: async () => {
      const told = await attributes(
        'ApproximateNumberOfMessages',
        'ApproximateNumberOfMessagesNotVisible',
        'ApproximateNumberOfMessagesDelayed',
      )
      return [
        told.ApproximateNumberOfMessages,
        told.ApproximateNumberOfMessagesNotVisible,
        told.ApproximateNumberOfMessagesDelayed,
      ].map(Number)
    },
  }
}

export function arnOf(name: string): string {
  return `arn:aws:sqs:us-east-1:000000000000:${name}`
}

export function bodies(messages: readonly Message[]): (string | undefined)[] {
  return messages.map(({ Body }) => Body)
}

/** By what name, and with what status, a call is refused. */
export async function refusal(call: Promise<unknown>): Promise<[name: string, status: number | undefined]> {
  try {
    await call
  } catch (error) {
    const { name, $metadata } = error as SQSServiceException
    return [name, $metadata?.httpStatusCode]
  }
  return ['nothing was refused', undefined]
}
