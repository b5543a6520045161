import {
  ChangeMessageVisibilityCommand,
  CreateQueueCommand,
  DeleteMessageCommand,
  DeleteQueueCommand,
  GetQueueAttributesCommand,
  GetQueueUrlCommand,
  ListMessageMoveTasksCommand,
  ListQueuesCommand,
  PurgeQueueCommand,
  ReceiveMessageCommand,
  SendMessageBatchCommand,
  SendMessageCommand,
  SetQueueAttributesCommand,
  type SQSClient,
  StartMessageMoveTaskCommand,
} from '@aws-sdk/client-sqs'
import { request } from 'node:http'
import { describe, expect, it } from 'vitest'
import { checkedSqsOptions } from '../../../src/sqs/sqs-options.js'
import { arnOf, credentials, queueWords, refusal, setupServer } from './setup.js'

describe('a key', () => {
  const restricted = {
    SENDER: { secret: 's', queues: { 'mail-*': ['send'] } },
    RECEIVER: { secret: 'r', queues: { 'mail-*': ['receive'] } },
    MANAGER: { secret: 'm', queues: { 'mail-*': ['manage'] } },
  } as const
  const keys = { ...restricted, [credentials.accessKeyId]: { secret: credentials.secretAccessKey } }
  const QueueUrl = 'http://anywhere/000000000000/mail-in'
  const Entries = [{ Id: 'a', MessageBody: 'x' }]
  const calls = {
    SendMessage: (sqs) => sqs.send(new SendMessageCommand({ QueueUrl, MessageBody: 'x' })),
    SendMessageBatch: (sqs) => sqs.send(new SendMessageBatchCommand({ QueueUrl, Entries })),
    ReceiveMessage: (sqs) => sqs.send(new ReceiveMessageCommand({ QueueUrl })),
    DeleteMessage: (sqs) => sqs.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle: 'x' })),
    ChangeMessageVisibility: (sqs) =>
      sqs.send(new ChangeMessageVisibilityCommand({ QueueUrl, ReceiptHandle: 'x', VisibilityTimeout: 1 })),
    GetQueueUrl: (sqs) => sqs.send(new GetQueueUrlCommand({ QueueName: 'mail-in' })),
    GetQueueAttributes: (sqs) => sqs.send(new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ['All'] })),
    SetQueueAttributes: (sqs) => sqs.send(new SetQueueAttributesCommand({ QueueUrl, Attributes: {} })),
    CreateQueue: (sqs) => sqs.send(new CreateQueueCommand({ QueueName: 'mail-in' })),
    ListQueues: (sqs) => sqs.send(new ListQueuesCommand({})),
    ListMessageMoveTasks: (sqs) => sqs.send(new ListMessageMoveTasksCommand({ SourceArn: arnOf('mail-in') })),
    PurgeQueue: (sqs) => sqs.send(new PurgeQueueCommand({ QueueUrl })),
    DeleteQueue: (sqs) => sqs.send(new DeleteQueueCommand({ QueueUrl })),
  } satisfies Record<string, (sqs: SQSClient) => Promise<unknown>>

  async function setupKeys() {
    const bundle = await setupServer({ keys })
    const as = (id: keyof typeof restricted) =>
      bundle.client(bundle.server.url, {
        credentials: { accessKeyId: id, secretAccessKey: restricted[id].secret },
      })
    await bundle.queue('mail-in')
    return { ...bundle, as }
  }

  it.each([
    ['SENDER', ['SendMessage', 'SendMessageBatch', 'GetQueueUrl', 'GetQueueAttributes']],
    ['RECEIVER', ['ReceiveMessage', 'DeleteMessage', 'ChangeMessageVisibility', 'GetQueueUrl', 'GetQueueAttributes']],
    [
      'MANAGER',
      [
        'GetQueueUrl',
        'GetQueueAttributes',
        'SetQueueAttributes',
        'CreateQueue',
        'ListQueues',
        'ListMessageMoveTasks',
        'PurgeQueue',
        'DeleteQueue',
      ],
    ],
  ] as const)('of a %s may do this and nothing else: %j', async (id, allowed) => {
    const { as } = await setupKeys()
    const sqs = as(id)
    const letIn: string[] = []
    for (const [action, call] of Object.entries(calls)) {
      const [name, status] = await refusal(call(sqs))
      if (name === 'AccessDenied') expect(status).toBe(403)
      else letIn.push(action)
    }
    expect(letIn).toEqual(Object.keys(calls).filter((action) => (allowed as readonly string[]).includes(action)))
  })

  it('is for the queues it names, and sees no other in a list', async () => {
    const { as, queue } = await setupKeys()
    const other = await queue('other')
    const words = queueWords(as('SENDER'), other.QueueUrl)
    expect(await refusal(words.send('x'))).toEqual(['AccessDenied', 403])
    expect(await refusal(queueWords(as('MANAGER'), other.QueueUrl).attributes('All'))).toEqual(['AccessDenied', 403])
    const { QueueUrls } = await as('MANAGER').send(new ListQueuesCommand({}))
    expect(QueueUrls?.map((url) => url.split('/').at(-1))).toEqual(['mail-in'])
  })

  it('that manages a dead-letter queue cannot bring its messages into a queue of others', async () => {
    const { as, queue } = await setupKeys()
    await queue('other')
    await queue('mail-source', {
      RedrivePolicy: JSON.stringify({ deadLetterTargetArn: arnOf('mail-in'), maxReceiveCount: 1 }),
    })
    const move = (DestinationArn: string) =>
      as('MANAGER').send(new StartMessageMoveTaskCommand({ SourceArn: arnOf('mail-in'), DestinationArn }))
    expect(await refusal(move(arnOf('other')))).toEqual(['AccessDenied', 403])
    await move(arnOf('mail-source'))
  })

  it('that manages a queue cannot let its dead letters go into a queue of others', async () => {
    const { as, queue } = await setupKeys()
    await queue('other')
    const Attributes = { RedrivePolicy: JSON.stringify({ deadLetterTargetArn: arnOf('other'), maxReceiveCount: 1 }) }
    expect(await refusal(as('MANAGER').send(new SetQueueAttributesCommand({ QueueUrl, Attributes })))).toEqual([
      'AccessDenied',
      403,
    ])
  })
})

describe('a signature', () => {
  it('by a wrong secret, by a key that nobody has, or with a clock that is off is refused', async () => {
    const { client, server } = await setupServer({ clockSkew: '5m' })
    const list = (config: object) => refusal(client(server.url, config).send(new ListQueuesCommand({})))
    const { accessKeyId } = credentials
    expect(await list({ credentials: { accessKeyId, secretAccessKey: 'guess' } })).toEqual([
      'SignatureDoesNotMatch',
      403,
    ])
    expect(await list({ credentials: { accessKeyId: 'NOBODY', secretAccessKey: 'x' } })).toEqual([
      'InvalidClientTokenId',
      403,
    ])
    expect(await list({ systemClockOffset: -360_000 })).toEqual(['RequestExpired', 403])
    expect(await list({ systemClockOffset: 360_000 })).toEqual(['RequestExpired', 403])
    expect(await list({ systemClockOffset: 240_000 })).toEqual(['nothing was refused', undefined])
  })

  it('is for the region that the server is told, and for any otherwise', async () => {
    const { client, server, serve } = await setupServer()
    const list = (url: string) => refusal(client(url, { region: 'eu-west-1' }).send(new ListQueuesCommand({})))
    expect(await list(server.url)).toEqual(['nothing was refused', undefined])
    expect(await list((await serve({ region: 'us-east-1' })).url)).toEqual(['SignatureDoesNotMatch', 403])
  })

  it('must be there', async () => {
    const { server } = await setupServer()
    const answer = await fetch(`${server.url}/?Action=ListQueues`)
    expect(answer.status).toBe(403)
    expect(await answer.text()).toContain('<Code>MissingAuthenticationToken</Code>')
  })
})

describe('without signatures', () => {
  const list = '/?Action=ListQueues&Version=2012-11-05'

  it('everyone on this machine is let in, whatever they sign with', async () => {
    const { client, server } = await setupServer({ unsigned: true, keys: {} })
    expect((await fetch(`${server.url}${list}`)).status).toBe(200)
    const sqs = client(server.url, { credentials: { accessKeyId: 'any', secretAccessKey: 'thing' } })
    await sqs.send(new CreateQueueCommand({ QueueName: 'q' }))
  })

  it.each([
    ['with an Origin', { origin: 'https://evil.example' }],
    ['of a browser', { 'sec-fetch-site': 'cross-site' }],
    // A name that is made to resolve to 127.0.0.1: then the browser takes page and server for one, and sends no Origin.
    ['of a page under a name of its own', { host: 'evil.example:9324' }],
  ])('no web page is: a request %s', async (_what, headers) => {
    const { server } = await setupServer({ unsigned: true, keys: {} })
    expect(await statusOf(server.port, list, headers)).toBe(403)
  })

  it.each(['localhost:1', '127.0.0.1:1', '127.0.0.1', '[::1]:1', 'sqs.localhost:1'])(
    'it answers under the name %s of this machine',
    async (host) => {
      const { server } = await setupServer({ unsigned: true, keys: {} })
      expect(await statusOf(server.port, list, { host })).toBe(200)
    },
  )

  it.each(['0.0.0.0', '::', '192.168.0.1', 'example.com', '127.0.0.1.example.com'])(
    'it does not listen on %s',
    (host) => {
      expect(() => checkedSqsOptions({ unsigned: true, host }, 'the test')).toThrow(
        expect.objectContaining({ code: 'FP_SQS_UNSIGNED' }),
      )
    },
  )
})

/** By hand: fetch() lets nobody choose these headers. */
function statusOf(port: number, path: string, headers: Record<string, string>): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    request({ host: '127.0.0.1', port, path, headers }, (response) => {
      response.resume()
      resolve(response.statusCode)
    })
      .on('error', reject)
      .end()
  })
}
