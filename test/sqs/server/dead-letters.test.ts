import {
  CancelMessageMoveTaskCommand,
  DeleteQueueCommand,
  ListMessageMoveTasksCommand,
  SendMessageBatchCommand,
  StartMessageMoveTaskCommand,
  type StartMessageMoveTaskCommandInput,
} from '@aws-sdk/client-sqs'
import { describe, expect, it } from 'vitest'
import { audit } from '../../../src/audit/audit.js'
import { arnOf, bodies, refusal, setupServer } from './setup.js'

const redrive = (target: string, maxReceiveCount = 1) => ({
  RedrivePolicy: JSON.stringify({ deadLetterTargetArn: arnOf(target), maxReceiveCount }),
})

describe('a dead letter', () => {
  it('keeps its id, its count and the time of its sending, and says where it came from', async () => {
    const { queue } = await setupServer()
    const dead = await queue('dead')
    const source = await queue('source', { VisibilityTimeout: '0', ...redrive('dead', 2) })
    const sent = await source.send('m', { MessageAttributes: { a: { DataType: 'String', StringValue: '1' } } })
    const [first] = await source.receive()
    await source.receive()
    expect(await source.receive()).toEqual([])
    expect(await dead.receive()).toMatchObject([
      {
        MessageId: sent.MessageId,
        Body: 'm',
        MessageAttributes: { a: { StringValue: '1' } },
        Attributes: {
          ApproximateReceiveCount: '3',
          DeadLetterQueueSourceArn: arnOf('source'),
          SentTimestamp: first!.Attributes!['SentTimestamp'],
          ApproximateFirstReceiveTimestamp: first!.Attributes!['ApproximateFirstReceiveTimestamp'],
        },
      },
    ])
    expect(await source.counts()).toEqual([0, 0, 0])
  })

  it('of a FIFO queue makes room for what follows in its group, and stays in its group', async () => {
    const { queue } = await setupServer()
    const dead = await queue('dead.fifo')
    const source = await queue('source.fifo', { ContentBasedDeduplication: 'true', ...redrive('dead.fifo') })
    for (const body of ['1', '2']) await source.send(body, { MessageGroupId: 'g' })
    const [first] = await source.receive({ MaxNumberOfMessages: 1 })
    await source.change(first!, 0)
    expect(bodies(await source.receive())).toEqual(['2'])
    expect(await dead.receive()).toMatchObject([{ Body: '1', Attributes: { MessageGroupId: 'g' } }])
  })

  it('wakes whoever waits at the dead-letter queue', async () => {
    const { queue, sql } = await setupServer()
    const dead = await queue('dead')
    const source = await queue('source', { VisibilityTimeout: '0', ...redrive('dead') })
    const waits = dead.receive({ WaitTimeSeconds: 20 })
    await expect.poll(() => sql('select 1 from fencepost.sleeper'), { timeout: 10_000 }).not.toEqual([])
    await source.send('m')
    await source.receive()
    await source.receive()
    expect(bodies(await waits)).toEqual(['m'])
  })

  it('stays in its queue once the policy is gone', async () => {
    const { queue } = await setupServer()
    await queue('dead')
    const source = await queue('source', { VisibilityTimeout: '0', ...redrive('dead') })
    await source.send('m')
    await source.receive()
    await source.set({ RedrivePolicy: '' })
    expect(await source.receive()).toMatchObject([{ Attributes: { ApproximateReceiveCount: '2' } }])
  })
})

describe('the redrive allow policy', () => {
  it.each([
    ['allowAll lets every queue in', { redrivePermission: 'allowAll' }, true],
    ['denyAll lets none in', { redrivePermission: 'denyAll' }, false],
    ['byQueue lets in those it names', { redrivePermission: 'byQueue', sourceQueueArns: [arnOf('source')] }, true],
    ['byQueue keeps others out', { redrivePermission: 'byQueue', sourceQueueArns: [arnOf('other')] }, false],
  ])('%s', async (_what, policy, lets) => {
    const { queue } = await setupServer()
    await queue('dead', { RedriveAllowPolicy: JSON.stringify(policy) })
    const source = await queue('source')
    if (lets) await source.set(redrive('dead'))
    else expect(await refusal(source.set(redrive('dead')))).toEqual(['InvalidParameterValue', 400])
  })

  it('a dead-letter queue is of the same type', async () => {
    const { queue } = await setupServer()
    await queue('dead.fifo')
    const source = await queue('source')
    expect(await refusal(source.set(redrive('dead.fifo')))).toEqual(['InvalidAttributeValue', 400])
  })
})

/** A dead-letter queue with so many messages in it. */
async function setupDead(count: number, suffix = '') {
  const bundle = await setupServer()
  const { queue, sqs, db } = bundle
  const fifo = suffix === '' ? {} : { ContentBasedDeduplication: 'true' }
  const dead = await queue(`dead${suffix}`, fifo)
  const source = await queue(`source${suffix}`, { ...fifo, VisibilityTimeout: '0', ...redrive(`dead${suffix}`) })
  const grouped = suffix === '' ? {} : { MessageGroupId: 'g' }
  for (let n = 0; n < count; n++) await source.send(`m${n}`, grouped)
  await expect
    .poll(
      async () => {
        await source.receive()
        return dead.counts()
      },
      { timeout: 20_000, interval: 1 },
    )
    .toEqual([count, 0, 0])
  await source.set({ VisibilityTimeout: '30' })
  return {
    ...bundle,
    dead,
    source,
    start: (more: Partial<StartMessageMoveTaskCommandInput> = {}) =>
      sqs.send(new StartMessageMoveTaskCommand({ SourceArn: dead.arn, ...more })),
    cancel: (TaskHandle: string | undefined) => sqs.send(new CancelMessageMoveTaskCommand({ TaskHandle })),
    tasks: async () =>
      (await sqs.send(new ListMessageMoveTasksCommand({ SourceArn: dead.arn, MaxResults: 10 }))).Results ?? [],
    sound: async () => expect((await audit(db)).findings).toEqual([]),
  }
}

const patience = { timeout: 20_000, interval: 50 }

describe('a message move task', () => {
  it('brings messages back to where they came from, with counts that begin again', async () => {
    const { dead, source, start, tasks, sound } = await setupDead(3)
    const { TaskHandle } = await start()
    expect(TaskHandle).toBeTruthy()
    await expect.poll(async () => (await tasks()).map(({ Status }) => Status), patience).toEqual(['COMPLETED'])
    expect(await tasks()).toMatchObject([
      {
        SourceArn: dead.arn,
        ApproximateNumberOfMessagesMoved: 3,
        ApproximateNumberOfMessagesToMove: 3,
        StartedTimestamp: expect.any(Number),
      },
    ])
    expect(await dead.counts()).toEqual([0, 0, 0])
    const back = await source.receive()
    expect(new Set(bodies(back))).toEqual(new Set(['m0', 'm1', 'm2']))
    expect(back).toHaveLength(3)
    for (const { Attributes } of back) expect(Attributes).toMatchObject({ ApproximateReceiveCount: '1' })
    await sound()
  })

  it('brings them to a destination of its own', async () => {
    const { queue, dead, source, start, tasks } = await setupDead(2)
    const other = await queue('other')
    await start({ DestinationArn: other.arn })
    await expect.poll(other.counts, patience).toEqual([2, 0, 0])
    expect(await dead.counts()).toEqual([0, 0, 0])
    expect(await source.counts()).toEqual([0, 0, 0])
    expect(await tasks()).toMatchObject([{ DestinationArn: other.arn }])
  })

  it('of a FIFO queue keeps the order of the groups, and tells how many there are', async () => {
    const { source, start, tasks, sound } = await setupDead(4, '.fifo')
    await start()
    await expect
      .poll(tasks, patience)
      .toMatchObject([
        { Status: 'COMPLETED', ApproximateNumberOfMessagesMoved: 4, ApproximateNumberOfMessagesToMove: 4 },
      ])
    expect(bodies(await source.receive())).toEqual(['m0', 'm1', 'm2', 'm3'])
    await sound()
  })

  it('moves no more in a second than it is told, is one at a time, and can be cancelled', async () => {
    const { dead, start, cancel, tasks } = await setupDead(5)
    const { TaskHandle } = await start({ MaxNumberOfMessagesPerSecond: 1 })
    expect(await refusal(start())).toEqual(['UnsupportedOperation', 400])
    await expect.poll(async () => (await tasks())[0]?.ApproximateNumberOfMessagesMoved, patience).toBe(1)
    expect(await tasks()).toMatchObject([{ Status: 'RUNNING', TaskHandle, MaxNumberOfMessagesPerSecond: 1 }])
    const { ApproximateNumberOfMessagesMoved: moved = 0 } = await cancel(TaskHandle)
    expect(moved).toBeLessThan(5)
    await expect.poll(async () => (await tasks())[0]?.Status, patience).toBe('CANCELLED')
    expect((await tasks())[0]).not.toHaveProperty('TaskHandle')
    const [left] = await dead.counts()
    expect(left).toBeGreaterThan(0)
    expect(await refusal(cancel(TaskHandle))).toEqual(['ResourceNotFoundException', 404])
    await start() // the next may begin
    await expect.poll(dead.counts, patience).toEqual([0, 0, 0])
  })

  it('moves as many in a second as it may', async () => {
    const { sqs, dead, start, source } = await setupDead(0)
    const Entries = Array.from({ length: 10 }, (_, n) => ({ Id: `${n}`, MessageBody: 'm' }))
    const send = () => sqs.send(new SendMessageBatchCommand({ QueueUrl: dead.QueueUrl, Entries }))
    await Promise.all(Array.from({ length: 30 }, send))
    await start({ MaxNumberOfMessagesPerSecond: 250, DestinationArn: source.arn })
    await expect.poll(async () => (await dead.counts())[0], { timeout: 10_000, interval: 5 }).toBeLessThan(300)
    expect(await dead.counts()).toEqual([50, 0, 0])
  })

  it('fails when there is nowhere to bring them', async () => {
    const { sqs, queue, source, start, tasks, dead } = await setupDead(1)
    await queue('another', redrive('dead'))
    await sqs.send(new DeleteQueueCommand({ QueueUrl: source.QueueUrl }))
    await start()
    await expect
      .poll(tasks, patience)
      .toMatchObject([{ Status: 'FAILED', FailureReason: 'AWS.SimpleQueueService.NonExistentQueue' }])
    expect(await dead.counts()).toEqual([1, 0, 0])
  })

  it('is refused for queues that are none, or no dead-letter queue of any', async () => {
    const { start, source, sqs, cancel } = await setupDead(0)
    expect(await refusal(start({ SourceArn: arnOf('none') }))).toEqual(['ResourceNotFoundException', 404])
    expect(await refusal(start({ DestinationArn: arnOf('none') }))).toEqual(['ResourceNotFoundException', 404])
    expect(await refusal(start({ SourceArn: source.arn }))).toEqual(['InvalidParameterValue', 400])
    expect(await refusal(start({ MaxNumberOfMessagesPerSecond: 501 }))).toEqual(['InvalidParameterValue', 400])
    expect(await refusal(cancel('nonsense'))).toEqual(['InvalidParameterValue', 400])
    expect(await refusal(sqs.send(new ListMessageMoveTasksCommand({ SourceArn: arnOf('none') })))).toEqual([
      'ResourceNotFoundException',
      404,
    ])
  })
})
