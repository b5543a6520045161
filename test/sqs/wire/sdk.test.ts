import type { SQSServiceException } from '@aws-sdk/client-sqs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type HttpServer, startHttpServer } from '../../../src/sqs/http-server.js'
import { verifySignature } from '../../../src/sqs/sigv4.js'
import type { SqsCall } from '../../../src/sqs/sqs-call.js'
import { SqsError, type SqsErrorName, sqsErrors } from '../../../src/sqs/sqs-error.js'
import type { Protocol } from '../../../src/sqs/wire/http-message.js'
import { md5OfAttributes, md5OfBody } from '../../../src/sqs/wire/message-md5.js'
import { actionNames } from '../../../src/sqs/wire/model.js'
import { examples } from './examples.js'
import { accessKeyId, plainAnswer, sdkClient, sdkCommand, secretAccessKey } from './sdk-client.js'

/** The real SDK against the real server, signatures included; only what the actions do is made up. */
let server: HttpServer
let calls: SqsCall[] = []

beforeAll(async () => {
  server = await startHttpServer({
    host: '127.0.0.1',
    port: 0,
    authorize: (request) =>
      verifySignature({
        ...request,
        now: new Date(),
        keys: new Map([[accessKeyId, secretAccessKey]]),
        skewMs: 60_000,
      }).accessKeyId,
    async handle(call) {
      calls.push(call)
      if (call.action === 'GetQueueUrl' && call.input.QueueName in sqsErrors) {
        throw new SqsError(call.input.QueueName as SqsErrorName, 'On purpose.')
      }
      return examples[call.action].output
    },
  })
})

afterAll(() => server.close())

describe.each<Protocol>(['json', 'query'])('the SDK, speaking %s', (protocol) => {
  const client = () => sdkClient(protocol, { endpoint: server.url })

  it.each(actionNames)('is understood and understands: %s', async (action) => {
    calls = []
    const { input, output } = examples[action]
    const answer = await client().send(sdkCommand(action, input))
    expect(calls).toMatchObject([{ action, input, principal: accessKeyId, baseUrl: server.url }])
    expect(plainAnswer(answer)).toEqual(output)
    expect(answer.$metadata).toMatchObject({ httpStatusCode: 200, requestId: calls[0]?.requestId })
  })

  it('learns the name, the code and the status of every error', async () => {
    for (const [name, { queryCode, status }] of Object.entries(sqsErrors)) {
      const error = await client()
        .send(sdkCommand('GetQueueUrl', { QueueName: name }))
        .then(
          () => undefined,
          (caught: SQSServiceException & { Error?: { Code?: string } }) => caught,
        )
      expect(error?.$metadata.httpStatusCode).toBe(status)
      expect(error?.message).toBe('On purpose.')
      expect(error?.Error?.Code).toBe(queryCode)
      // The query protocol has codes only, of which the SDK makes names where it knows them.
      expect([name, queryCode]).toContain(error?.name)
    }
  })

  it('gives a call the same token in every try, which a caller may choose', async () => {
    calls = []
    const command = sdkCommand('ListQueues', {})
    await client().send(command)
    expect(calls[0]?.token).toMatch(/^[0-9a-f-]{36}$/)
    command.middlewareStack.add(
      (next) => (args) => {
        const request = args.request as { headers: Record<string, string> }
        request.headers['x-fencepost-idempotency-key'] = 'order-7'
        return next(args)
      },
      { step: 'build' },
    )
    await client().send(command)
    expect(calls[1]?.token).toBe('order-7')
  })
})

it('the SDK finds the digests right that it checks', async () => {
  const bodies = ['', 'zwölf 🚀', ' a\r\n\tb ']
  const own = await startHttpServer({
    host: '127.0.0.1',
    port: 0,
    authorize: () => 'anonymous',
    async handle(call) {
      switch (call.action) {
        case 'SendMessage':
          return {
            MD5OfMessageBody: md5OfBody(call.input.MessageBody),
            MD5OfMessageAttributes: md5OfAttributes(call.input.MessageAttributes),
          }
        case 'SendMessageBatch':
          return {
            Successful: call.input.Entries.map(({ Id, MessageBody }) => ({
              Id,
              MessageId: Id,
              MD5OfMessageBody: md5OfBody(MessageBody),
            })),
            Failed: [],
          }
        default:
          return { Messages: bodies.map((Body) => ({ Body, MD5OfBody: md5OfBody(Body) })) }
      }
    },
  })
  try {
    for (const protocol of ['json', 'query'] as const) {
      const client = sdkClient(protocol, { endpoint: own.url, checkDigests: true })
      for (const MessageBody of bodies) await client.send(sdkCommand('SendMessage', { QueueUrl: 'q', MessageBody }))
      const Entries = bodies.map((MessageBody, i) => ({ Id: String(i), MessageBody }))
      await client.send(sdkCommand('SendMessageBatch', { QueueUrl: 'q', Entries }))
      expect(plainAnswer(await client.send(sdkCommand('ReceiveMessage', { QueueUrl: 'q' })))).toMatchObject({
        Messages: bodies.map((Body) => ({ Body })),
      })
    }
  } finally {
    await own.close()
  }
})
