import { describe, expect, it } from 'vitest'
import {
  DeleteMessageCommand,
  GetQueueUrlCommand,
  ReceiveMessageCommand,
  SendMessageCommand,
  SetQueueAttributesCommand,
  SQSServiceException,
} from '@aws-sdk/client-sqs'
import { arnOf, refusal, setupQueue, setupServer } from './setup.js'

describe('what is wrong with a request', () => {
  const text = (StringValue: string) => ({ DataType: 'String', StringValue })
  const wrong: [what: string, send: object, name: string][] = [
    ['an empty body', { MessageBody: '' }, 'MissingParameter'],
    ['a character that is not allowed', { MessageBody: 'a\u0000b' }, 'InvalidMessageContents'],
    ['a deduplication id', { MessageDeduplicationId: 'd' }, 'InvalidParameterValue'],
    ['a group with a space', { MessageGroupId: 'a b' }, 'InvalidParameterValue'],
    ['a delay below zero', { DelaySeconds: -1 }, 'InvalidParameterValue'],
    ['an empty attribute', { MessageAttributes: { a: text('') } }, 'InvalidParameterValue'],
    [
      'an attribute of no type',
      { MessageAttributes: { a: { DataType: 'Text', StringValue: 'x' } } },
      'InvalidParameterValue',
    ],
    [
      'a number that is none',
      { MessageAttributes: { a: { DataType: 'Number', StringValue: 'x' } } },
      'InvalidParameterValue',
    ],
    ['a reserved name', { MessageAttributes: { 'AWS.x': text('x') } }, 'InvalidParameterValue'],
    [
      'eleven attributes',
      { MessageAttributes: Object.fromEntries(Array.from({ length: 11 }, (_, n) => [`a${n}`, text('x')])) },
      'InvalidParameterValue',
    ],
  ]

  it('is told of a message, which then is not stored', async () => {
    const { sqs, QueueUrl, counts } = await setupQueue()
    const told = await Promise.all(
      wrong.map(async ([what, send]) => [
        what,
        (await refusal(sqs.send(new SendMessageCommand({ QueueUrl, MessageBody: 'x', ...send }))))[0],
      ]),
    )
    expect(told).toEqual(wrong.map(([what, , name]) => [what, name]))
    expect(await counts()).toEqual([0, 0, 0])
  })

  it('is told of a receive', async () => {
    const { sqs, QueueUrl } = await setupQueue()
    const receive = (more: object) => refusal(sqs.send(new ReceiveMessageCommand({ QueueUrl, ...more })))
    for (const more of [
      { MaxNumberOfMessages: 0 },
      { MaxNumberOfMessages: 11 },
      { WaitTimeSeconds: 21 },
      { VisibilityTimeout: -1 },
    ]) {
      expect(await receive(more)).toEqual(['InvalidParameterValue', 400])
    }
    expect(await receive({ MessageSystemAttributeNames: ['Nonsense'] })).toEqual(['InvalidAttributeName', 400])
  })

  it('is told of a receipt handle', async () => {
    const { sqs, QueueUrl, queue, send, receive } = await setupQueue()
    await send('m')
    const [message] = await receive()
    const other = await queue('other')
    const remove = (url: string, ReceiptHandle: string) =>
      refusal(sqs.send(new DeleteMessageCommand({ QueueUrl: url, ReceiptHandle })))
    expect(await remove(QueueUrl, 'nonsense')).toEqual(['ReceiptHandleIsInvalid', 404])
    expect(await remove(other.QueueUrl, message!.ReceiptHandle!)).toEqual(['ReceiptHandleIsInvalid', 404])
  })

  it('is told of a queue', async () => {
    const { sqs, server, QueueUrl } = await setupQueue()
    expect(await refusal(sqs.send(new GetQueueUrlCommand({ QueueName: 'none' })))).toEqual(['QueueDoesNotExist', 400])
    const send = (url: string) => refusal(sqs.send(new SendMessageCommand({ QueueUrl: url, MessageBody: 'x' })))
    expect(await send(`${server.url}/000000000000/none`)).toEqual(['QueueDoesNotExist', 400])
    expect(await send(`${server.url}/a/b/c/d`)).toEqual(['InvalidAddress', 404])
    const set = (RedrivePolicy: string) =>
      refusal(sqs.send(new SetQueueAttributesCommand({ QueueUrl, Attributes: { RedrivePolicy } })))
    expect(await set('{}')).toEqual(['InvalidAttributeValue', 400])
    expect(await set(JSON.stringify({ deadLetterTargetArn: arnOf('orders'), maxReceiveCount: 0 }))).toEqual([
      'InvalidAttributeValue',
      400,
    ])
  })

  it('has a class of its own in the SDK, a request id, and a sentence', async () => {
    const { sqs } = await setupServer()
    const error: unknown = await sqs
      .send(new GetQueueUrlCommand({ QueueName: 'none' }))
      .catch((caught: unknown) => caught)
    expect(error).toBeInstanceOf(SQSServiceException)
    expect(error).toMatchObject({
      name: 'QueueDoesNotExist',
      $fault: 'client',
      message: 'The specified queue does not exist.',
      $metadata: { requestId: expect.stringMatching(/^[0-9a-f-]{36}$/) },
    })
  })
})

it('sends a retried request once: an SDK that got no answer sends it again under the same id', async () => {
  const { client, server, QueueUrl, counts } = await setupQueue()
  let answers = 0
  const sqs = client(server.url, { maxAttempts: 3 })
  sqs.middlewareStack.add(
    (next) => async (args) => {
      const answer = await next(args)
      if (++answers < 3) throw Object.assign(new Error('socket hang up'), { code: 'ECONNRESET', $retryable: {} })
      return answer
    },
    { step: 'deserialize', priority: 'low' },
  )
  await sqs.send(new SendMessageCommand({ QueueUrl, MessageBody: 'once' }))
  expect(answers).toBe(3)
  expect(await counts()).toEqual([1, 0, 0])
})

it('tells a client that the queue has as many in flight as it may', async () => {
  const { sql, send, receive, QueueUrl, sqs } = await setupQueue()
  await send('m')
  await receive({ VisibilityTimeout: 900 })
  await sql(`
    insert into fencepost.leased
    select c.* from fencepost.leased l, generate_series(1, 119999) n, jsonb_populate_record(
      l, jsonb_build_object('lease_id', nextval('fencepost.lease_seq') + 0 * n, 'job_id', gen_random_uuid())) c`)
  await send('one too many')
  await expect
    .poll(() => refusal(sqs.send(new ReceiveMessageCommand({ QueueUrl }))), { timeout: 10_000 })
    .toEqual(['OverLimit', 403])
})
