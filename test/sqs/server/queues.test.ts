import {
  AddPermissionCommand,
  CreateQueueCommand,
  DeleteQueueCommand,
  GetQueueAttributesCommand,
  GetQueueUrlCommand,
  ListDeadLetterSourceQueuesCommand,
  ListQueuesCommand,
  ListQueueTagsCommand,
  PurgeQueueCommand,
  RemovePermissionCommand,
  TagQueueCommand,
  UntagQueueCommand,
} from '@aws-sdk/client-sqs'
import { describe, expect, it } from 'vitest'
import { arnOf, bodies, refusal, setupQueue, setupServer } from './setup.js'

const nameOf = (url: string) => url.split('/').at(-1)

describe('CreateQueue', () => {
  it('answers the same queue to whoever creates it again with what it has, also with nothing', async () => {
    const { sqs, QueueUrl } = await setupQueue({ VisibilityTimeout: '7', DelaySeconds: '3' })
    const again = (Attributes?: Record<string, string>) =>
      sqs.send(new CreateQueueCommand({ QueueName: 'orders', Attributes }))
    expect((await again()).QueueUrl).toBe(QueueUrl)
    expect((await again({ VisibilityTimeout: '7' })).QueueUrl).toBe(QueueUrl)
    expect(await refusal(again({ VisibilityTimeout: '8' }))).toEqual(['QueueNameExists', 400])
    expect((await sqs.send(new GetQueueUrlCommand({ QueueName: 'orders' }))).QueueUrl).toBe(QueueUrl)
  })

  it('makes one queue for many who create it at once', async () => {
    const { sqs, sql } = await setupServer()
    const urls = await Promise.all(
      Array.from({ length: 20 }, () => sqs.send(new CreateQueueCommand({ QueueName: 'same' }))),
    )
    expect(new Set(urls.map(({ QueueUrl }) => QueueUrl)).size).toBe(1)
    expect(await sql('select name from fencepost.sqs_queue')).toEqual([{ name: 'same' }])
  })

  it.each([
    ['a name with a space', 'a b', {}, ['InvalidParameterValue', 400]],
    ['a FIFO queue without .fifo', 'a', { FifoQueue: 'true' }, ['InvalidParameterValue', 400]],
    ['.fifo without FifoQueue', 'a.fifo', {}, ['InvalidParameterValue', 400]],
    ['an attribute that there is not', 'a', { Visibility: '1' }, ['InvalidAttributeName', 400]],
    ['a value out of range', 'a', { VisibilityTimeout: '43201' }, ['InvalidAttributeValue', 400]],
    ['an attribute of FIFO queues', 'a', { ContentBasedDeduplication: 'true' }, ['InvalidAttributeName', 400]],
    [
      'a dead-letter queue that there is not',
      'a',
      { RedrivePolicy: JSON.stringify({ deadLetterTargetArn: arnOf('none'), maxReceiveCount: 1 }) },
      ['InvalidParameterValue', 400],
    ],
  ] as const)('refuses %s', async (_what, QueueName, Attributes: Record<string, string>, expected) => {
    const { sqs, sql } = await setupServer()
    expect(await refusal(sqs.send(new CreateQueueCommand({ QueueName, Attributes })))).toEqual(expected)
    expect(await sql('select 1 from fencepost.sqs_queue')).toEqual([])
  })
})

describe('the attributes of a queue', () => {
  it('come back as they were given, with those that nobody gives', async () => {
    const given = {
      DelaySeconds: '5',
      MaximumMessageSize: '2048',
      MessageRetentionPeriod: '3600',
      ReceiveMessageWaitTimeSeconds: '2',
      VisibilityTimeout: '11',
      Policy: '{"Version":"2012-10-17","Statement":[]}',
      KmsMasterKeyId: 'alias/mine',
      KmsDataKeyReusePeriodSeconds: '600',
      SqsManagedSseEnabled: 'true',
      RedriveAllowPolicy: '{"redrivePermission":"denyAll"}',
    }
    const { attributes, set } = await setupQueue(given)
    const all = await attributes('All')
    expect(all).toEqual({
      ...given,
      QueueArn: arnOf('orders'),
      ApproximateNumberOfMessages: '0',
      ApproximateNumberOfMessagesNotVisible: '0',
      ApproximateNumberOfMessagesDelayed: '0',
      CreatedTimestamp: expect.stringMatching(/^\d{10}$/),
      LastModifiedTimestamp: expect.stringMatching(/^\d{10}$/),
    })
    await set({ VisibilityTimeout: '12', RedriveAllowPolicy: '' })
    expect(await attributes('VisibilityTimeout', 'DelaySeconds', 'RedriveAllowPolicy')).toEqual({
      VisibilityTimeout: '12',
      DelaySeconds: '5',
    })
    expect(await refusal(set({ FifoQueue: 'true' }))).toEqual(['InvalidAttributeValue', 400])
    expect(await refusal(attributes('Nonsense' as 'All'))).toEqual(['InvalidAttributeName', 400])
  })

  it('say when they were changed last', async () => {
    const { attributes, set, advance } = await setupQueue()
    const before = await attributes('CreatedTimestamp', 'LastModifiedTimestamp')
    await advance(10_000)
    await set({ VisibilityTimeout: '1' })
    const after = await attributes('CreatedTimestamp', 'LastModifiedTimestamp')
    expect(after.CreatedTimestamp).toBe(before.CreatedTimestamp)
    expect(Number(after.LastModifiedTimestamp) - Number(before.LastModifiedTimestamp)).toBeGreaterThanOrEqual(10)
  })

  it('of a FIFO queue have more, and none of a standard one says FifoQueue', async () => {
    const { queue } = await setupServer()
    const fifo = await queue('f.fifo', { DeduplicationScope: 'messageGroup', FifoThroughputLimit: 'perMessageGroupId' })
    expect(await fifo.attributes('All')).toMatchObject({
      FifoQueue: 'true',
      ContentBasedDeduplication: 'false',
      DeduplicationScope: 'messageGroup',
      FifoThroughputLimit: 'perMessageGroupId',
    })
    expect(await (await queue('s')).attributes('FifoQueue')).toEqual({})
  })

  it('are changed by many at once without one being lost', async () => {
    const { set, attributes } = await setupQueue()
    await Promise.all([
      set({ VisibilityTimeout: '1' }),
      set({ DelaySeconds: '2' }),
      set({ ReceiveMessageWaitTimeSeconds: '3' }),
      set({ MessageRetentionPeriod: '400' }),
    ])
    expect(await attributes('All')).toMatchObject({
      VisibilityTimeout: '1',
      DelaySeconds: '2',
      ReceiveMessageWaitTimeSeconds: '3',
      MessageRetentionPeriod: '400',
    })
  })

  it('count what is visible, in flight and delayed; of a FIFO queue also what is behind the head', async () => {
    const { queue } = await setupServer()
    const plain = await queue('plain')
    for (const body of ['a', 'b', 'c']) await plain.send(body)
    await plain.send('later', { DelaySeconds: 900 })
    await plain.receive({ MaxNumberOfMessages: 1 })
    expect(await plain.counts()).toEqual([2, 1, 1])

    const fifo = await queue('f.fifo', { ContentBasedDeduplication: 'true' })
    for (const body of ['a', 'b', 'c', 'd']) await fifo.send(body, { MessageGroupId: 'g' })
    await fifo.receive({ MaxNumberOfMessages: 2 })
    expect(await fifo.counts()).toEqual([2, 2, 0])
  })
})

describe('ListQueues', () => {
  it('goes from page to page, each queue once, by the prefix', async () => {
    const { sqs, queue } = await setupServer()
    for (const name of ['b-2', 'a-1', 'b-1', 'b-3', 'B-4']) await queue(name)
    const pages: (string | undefined)[][] = []
    let NextToken: string | undefined
    do {
      const page = await sqs.send(new ListQueuesCommand({ QueueNamePrefix: 'b-', MaxResults: 2, NextToken }))
      pages.push((page.QueueUrls ?? []).map(nameOf))
      NextToken = page.NextToken
    } while (NextToken)
    expect(pages).toEqual([['b-1', 'b-2'], ['b-3']])
    expect(await sqs.send(new ListQueuesCommand({ QueueNamePrefix: 'zzz' }))).not.toHaveProperty('QueueUrls')
    expect((await sqs.send(new ListQueuesCommand({}))).QueueUrls).toHaveLength(5)
    expect(await refusal(sqs.send(new ListQueuesCommand({ MaxResults: 1_001 })))).toEqual([
      'InvalidParameterValue',
      400,
    ])
  })
})

describe('DeleteQueue', () => {
  it('takes the messages with it: a queue of that name begins anew, and knows no receipt of the old one', async () => {
    const { sqs, queue, QueueUrl, send, receive, remove } = await setupQueue()
    await send('old')
    await send('older')
    const [held] = await receive({ MaxNumberOfMessages: 1 })
    await sqs.send(new DeleteQueueCommand({ QueueUrl }))
    const calls = [
      () => send('x'),
      () => receive(),
      () => sqs.send(new GetQueueUrlCommand({ QueueName: 'orders' })),
      () => sqs.send(new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ['All'] })),
      () => sqs.send(new DeleteQueueCommand({ QueueUrl })),
      () => sqs.send(new PurgeQueueCommand({ QueueUrl })),
      () => remove(held!),
    ]
    for (const call of calls) expect(await refusal(call())).toEqual(['QueueDoesNotExist', 400])
    await queue('orders')
    expect(await receive()).toEqual([])
    expect(await refusal(remove(held!))).toEqual(['ReceiptHandleIsInvalid', 404])
  })

  it('ends the wait of those who wait for its messages', async () => {
    const { sqs, QueueUrl, receive, sql } = await setupQueue()
    const waits = refusal(receive({ WaitTimeSeconds: 20 }))
    await expect.poll(() => sql('select 1 from fencepost.sleeper'), { timeout: 10_000 }).not.toEqual([])
    await sqs.send(new DeleteQueueCommand({ QueueUrl }))
    expect(await waits).toEqual(['QueueDoesNotExist', 400])
  })
})

describe('PurgeQueue', () => {
  it('removes what is visible, in flight and delayed, and may come again after a minute', async () => {
    const { sqs, QueueUrl, send, receive, remove, counts, advance } = await setupQueue()
    const purge = () => sqs.send(new PurgeQueueCommand({ QueueUrl }))
    await send('a')
    await send('b')
    await send('c', { DelaySeconds: 60 })
    const [held] = await receive({ MaxNumberOfMessages: 1 })
    await purge()
    expect(await counts()).toEqual([0, 0, 0])
    await remove(held!)
    expect(await refusal(purge())).toEqual(['PurgeQueueInProgress', 403])
    await send('new')
    await advance(60_001)
    expect(bodies(await receive())).toEqual(['new'])
    await purge()
  })

  it('may come again as soon as `purgeEvery` says', async () => {
    const { sqs, QueueUrl } = await setupQueue({}, 'orders', { purgeEvery: 0 })
    await sqs.send(new PurgeQueueCommand({ QueueUrl }))
    await sqs.send(new PurgeQueueCommand({ QueueUrl }))
  })

  it('lets the groups of a FIFO queue go on', async () => {
    const { sqs, QueueUrl, send, receive } = await setupQueue({ ContentBasedDeduplication: 'true' }, 'f.fifo')
    await send('a', { MessageGroupId: 'g' })
    await send('b', { MessageGroupId: 'g' })
    await receive({ MaxNumberOfMessages: 1 })
    await sqs.send(new PurgeQueueCommand({ QueueUrl }))
    await send('c', { MessageGroupId: 'g' })
    expect(bodies(await receive())).toEqual(['c'])
  })
})

it('keeps tags: given at the creation, added, replaced and removed', async () => {
  const { sqs } = await setupServer()
  const { QueueUrl } = await sqs.send(new CreateQueueCommand({ QueueName: 'tagged', tags: { team: 'a', env: 'x' } }))
  const tags = async () => (await sqs.send(new ListQueueTagsCommand({ QueueUrl }))).Tags
  expect(await tags()).toEqual({ team: 'a', env: 'x' })
  await sqs.send(new TagQueueCommand({ QueueUrl, Tags: { team: 'b', größe: '5 €'.replace('€', 'kg') } }))
  await sqs.send(new UntagQueueCommand({ QueueUrl, TagKeys: ['env', 'none'] }))
  expect(await tags()).toEqual({ team: 'b', größe: '5 kg' })
  await sqs.send(new UntagQueueCommand({ QueueUrl, TagKeys: ['team', 'größe'] }))
  expect(await tags()).toBeUndefined()
  const many = Object.fromEntries(Array.from({ length: 51 }, (_, n) => [`k${n}`, '']))
  expect(await refusal(sqs.send(new TagQueueCommand({ QueueUrl, Tags: many })))).toEqual(['InvalidParameterValue', 400])
})

it('keeps permissions in the policy of the queue', async () => {
  const { sqs, QueueUrl, attributes } = await setupQueue()
  const add = (Label: string) =>
    sqs.send(
      new AddPermissionCommand({
        QueueUrl,
        Label,
        AWSAccountIds: ['123456789012'],
        Actions: ['SendMessage', 'ReceiveMessage'],
      }),
    )
  const remove = (Label: string) => sqs.send(new RemovePermissionCommand({ QueueUrl, Label }))
  await add('one')
  await add('two')
  const { Policy = '' } = await attributes('Policy')
  expect(JSON.parse(Policy)).toMatchObject({
    Statement: [
      {
        Sid: 'one',
        Effect: 'Allow',
        Principal: { AWS: 'arn:aws:iam::123456789012:root' },
        Action: ['SQS:SendMessage', 'SQS:ReceiveMessage'],
        Resource: arnOf('orders'),
      },
      { Sid: 'two' },
    ],
  })
  expect(await refusal(add('one'))).toEqual(['InvalidParameterValue', 400])
  await remove('one')
  await remove('two')
  expect(await attributes('Policy')).toEqual({})
  expect(await refusal(remove('two'))).toEqual(['InvalidParameterValue', 400])
})

it('lists the queues whose dead letters come here, page by page', async () => {
  const { sqs, queue } = await setupServer()
  const dead = await queue('dead')
  const RedrivePolicy = JSON.stringify({ deadLetterTargetArn: dead.arn, maxReceiveCount: 3 })
  for (const name of ['c', 'a', 'b']) await queue(name, { RedrivePolicy })
  await queue('other')
  const page = (NextToken?: string) =>
    sqs.send(new ListDeadLetterSourceQueuesCommand({ QueueUrl: dead.QueueUrl, MaxResults: 2, NextToken }))
  const first = await page()
  expect(first.queueUrls?.map(nameOf)).toEqual(['a', 'b'])
  const second = await page(first.NextToken)
  expect(second.queueUrls?.map(nameOf)).toEqual(['c'])
  expect(second.NextToken).toBeUndefined()
})
