import { describe, expect, it, onTestFinished } from 'vitest'
import { audit } from '../../../src/audit/audit.js'
import { type Fencepost, fencepost, type Message, messageTask } from '../../../src/index.js'
import { anything, door, next } from '../../worker/setup.js'
import { cli } from '../../cli/cli-process.js'
import { bodies, setupQueue } from './setup.js'

const soon = { poll: '20ms' } as const
const patience = { timeout: 20_000, interval: 10 }
const byContent = { ContentBasedDeduplication: 'true' }

async function setupBoth(attributes: Parameters<typeof setupQueue>[0] = {}, name = 'orders') {
  const bundle = await setupQueue(attributes, name)
  const fp: Fencepost = await fencepost({ database: bundle.url, migrate: false })
  onTestFinished(() => fp.close())
  return { ...bundle, fp, sound: async () => expect((await audit(bundle.db)).findings).toEqual([]) }
}

describe('a worker at an SQS queue', () => {
  it('runs messages: JSON parsed, text as it is, with everything that came along', async () => {
    const { fp, send, counts, sound } = await setupBoth()
    const seen: { input: unknown; message: Message }[] = []
    const orders = messageTask('orders', {
      input: anything,
      run: (input, _job, message) => {
        seen.push({ input, message })
        return 'done'
      },
    })
    await fp.work([orders], soon)
    const sent = await send('{"id":7,"name":"ü"}', {
      MessageAttributes: {
        kind: { DataType: 'String', StringValue: 'new' },
        raw: { DataType: 'Binary', BinaryValue: Uint8Array.of(0, 255) },
      },
      MessageSystemAttributes: { AWSTraceHeader: { DataType: 'String', StringValue: 'Root=1' } },
      MessageGroupId: 'tenant',
    })
    expect(await fp.result(sent.MessageId as string, { timeout: '10s' })).toBe('done')
    const plain = await send('no JSON: {')
    await fp.result(plain.MessageId as string, { timeout: '10s' })
    expect(seen).toMatchObject([
      {
        input: { id: 7, name: 'ü' },
        message: {
          body: '{"id":7,"name":"ü"}',
          sender: 'AKIATEST',
          groupId: 'tenant',
          traceHeader: 'Root=1',
          attributes: { kind: { type: 'String', text: 'new' }, raw: { type: 'Binary' } },
        },
      },
      { input: 'no JSON: {', message: { attributes: {}, groupId: undefined } },
    ])
    expect(seen[0]!.message.attributes['raw']).toMatchObject({ bytes: Buffer.from([0, 255]) })
    expect(await counts()).toEqual([0, 0, 0])
    await sound()
  })

  it('hides from clients what it runs', async () => {
    const { fp, send, receive, counts } = await setupBoth()
    const { pass, reached, open } = door()
    await fp.work([messageTask('orders', { input: anything, run: pass })], soon)
    const arrived = reached()
    const { MessageId } = await send('m')
    await arrived
    expect(await receive()).toEqual([])
    expect(await counts()).toEqual([0, 1, 0])
    open()
    await fp.result(MessageId as string, { timeout: '10s' })
  })

  it('does not run what a client has received, until its time is over', async () => {
    const { fp, send, receive, change } = await setupBoth({ VisibilityTimeout: '900' })
    const ran: unknown[] = []
    const { MessageId } = await send('"m"')
    const [held] = await receive()
    await send('"other"')
    await fp.work([messageTask('orders', { input: anything, run: (input) => void ran.push(input) })], soon)
    await expect.poll(() => ran, patience).toEqual(['other'])
    await change(held!, 0)
    await fp.result(MessageId as string, { timeout: '10s' })
    expect(ran).toEqual(['other', 'm'])
  })

  it('tries again what has failed, by the task’s retry; a client sees it meanwhile as delayed, then with its count', async () => {
    const { fp, send, receive, counts, sql, sound } = await setupBoth()
    const orders = messageTask('orders', {
      input: anything,
      retry: { limit: 3, delay: '10m' },
      run: () => {
        throw new Error('not now')
      },
    })
    const worker = await fp.work([orders], soon)
    const failed = next(fp, 'failed')
    const { MessageId } = await send('m')
    expect(await failed).toMatchObject({ jobId: MessageId, outcome: null })
    expect(await counts()).toEqual([0, 0, 1])
    await worker.stop()
    await sql(`update fencepost.lab_clock set offset_ms = offset_ms + 1200000`)
    expect(await receive()).toMatchObject([{ MessageId, Attributes: { ApproximateReceiveCount: '2' } }])
    await sound()
  })

  it('ends a message that does not fit its schema, and says why', async () => {
    const { fp, send } = await setupBoth()
    const issues = [{ message: 'id is missing' }]
    const strict = { '~standard': { version: 1, vendor: 'test', validate: () => ({ issues }) } } as const
    await fp.work([messageTask('orders', { input: strict, run: () => 'never' })], soon)
    const { MessageId } = await send('{}')
    await expect(fp.result(MessageId as string, { timeout: '10s' })).rejects.toThrow('id is missing')
  })

  it('shares the messages with clients: each is done once', async () => {
    const { fp, send, receive, remove, counts, sound } = await setupBoth()
    const done: string[] = []
    await fp.work([messageTask('orders', { input: anything, run: (input) => void done.push(String(input)) })], soon)
    const sending = (async () => {
      for (let n = 0; n < 40; n++) await send(`${n}`)
    })()
    await expect
      .poll(
        async () => {
          for (const message of await receive({ MaxNumberOfMessages: 2 })) {
            done.push(message.Body as string)
            await remove(message)
          }
          return done.length
        },
        { ...patience, interval: 1 },
      )
      .toBe(40)
    await sending
    expect(new Set(done).size).toBe(40)
    await expect.poll(counts, patience).toEqual([0, 0, 0])
    await sound()
  })
})

describe('a queue with a dead-letter queue', () => {
  it.fails('gets the messages there that have failed in a worker as often as they may be received: they end as failed', async () => {
    const { fp, queue, sql } = await setupBoth()
    const dead = await queue('dead')
    const source = await queue('source', {
      RedrivePolicy: JSON.stringify({ deadLetterTargetArn: dead.arn, maxReceiveCount: 2 }),
    })
    const run = () => {
      throw new Error('no')
    }
    await fp.work([messageTask('source', { input: anything, retry: { limit: 9, delay: 1 }, run })], soon)
    await source.send('m')
    const ended = `select 1 from fencepost.finished union all select 1 from fencepost.job where queue = 'dead'`
    await expect.poll(() => sql(ended), patience).not.toEqual([])
    expect(await dead.counts()).toEqual([1, 0, 0])
  })
})

describe('a worker at a FIFO queue', () => {
  it('keeps the order of a group, also past a failure', async () => {
    const { fp, send, counts, sound } = await setupBoth(byContent, 'f.fifo')
    const ran: string[] = []
    const orders = messageTask('f.fifo', {
      input: anything,
      retry: { limit: 3, delay: 1 },
      run: (input) => {
        ran.push(String(input))
        if (ran.filter((each) => each === input).length === 1 && input === 'a2') throw new Error('once')
      },
    })
    for (const body of ['"a1"', '"a2"', '"a3"', '"b1"', '"b2"']) await send(body, { MessageGroupId: body[1] })
    await fp.work([orders], { ...soon, concurrency: 10 })
    await expect.poll(counts, patience).toEqual([0, 0, 0])
    expect(ran.filter((each) => each.startsWith('a'))).toEqual(['a1', 'a2', 'a2', 'a3'])
    expect(ran.filter((each) => each.startsWith('b'))).toEqual(['b1', 'b2'])
    await sound()
  })

  it('keeps it also from clients while a message of the group waits for its next try', async () => {
    const { fp, send, receive, sound, sql } = await setupBoth(byContent, 'f.fifo')
    const run = () => {
      throw new Error('not now')
    }
    const worker = await fp.work([messageTask('f.fifo', { input: anything, retry: { limit: 3, delay: '10m' }, run })], {
      ...soon,
      concurrency: 1,
    })
    const failed = next(fp, 'failed')
    for (const body of ['1', '2']) await send(body, { MessageGroupId: 'g' })
    await failed
    await worker.stop()
    await send('of others', { MessageGroupId: 'h' })
    expect(bodies(await receive())).toEqual(['of others'])
    await sql('update fencepost.lab_clock set offset_ms = offset_ms + 1200000')
    expect(bodies(await receive({ VisibilityTimeout: 60 }))).toEqual(['1', '2', 'of others'])
    await sound()
  })

  it('keeps it together with clients: neither gets a message while the other has one of its group', async () => {
    const { fp, send, receive, remove, sound } = await setupBoth(byContent, 'f.fifo')
    const { pass, reached, open } = door()
    const ran: unknown[] = []
    for (const body of ['"1"', '"2"', '"3"', '"4"']) await send(body, { MessageGroupId: 'g' })
    const [first, second] = await receive({ MaxNumberOfMessages: 2 })
    const arrived = reached()
    const run = async (input: unknown) => {
      ran.push(input)
      if (input === '3') await pass()
    }
    await fp.work([messageTask('f.fifo', { input: anything, run })], { ...soon, concurrency: 10 })
    await remove(first!)
    await send('"of others"', { MessageGroupId: 'h' })
    await expect.poll(() => ran, patience).toEqual(['of others']) // the second is with the client still
    await remove(second!)
    await arrived
    expect(await receive()).toEqual([])
    expect(ran.splice(0)).toEqual(['of others', '3'])
    open()
    await expect.poll(() => ran, patience).toEqual(['4'])
    await sound()
  })
})

describe('a job that was enqueued', () => {
  it('is received as JSON, and deleted; whoever waits for its result learns that', async () => {
    const { fp, receive, remove, see } = await setupBoth()
    const orders = messageTask('orders', { input: anything, run: () => 'never' })
    const job = await fp.enqueue(orders, { id: 7, tags: ['a', null] })
    const [message] = await receive()
    expect(message).toMatchObject({
      MessageId: job.id,
      Body: '{"id": 7, "tags": ["a", null]}'.replaceAll(': ', ':').replaceAll(', ', ','),
      Attributes: { ApproximateReceiveCount: '1', SenderId: 'fencepost' },
    })
    expect(message).not.toHaveProperty('MessageAttributes')
    await remove(message!)
    expect(await see(job.id)).toMatchObject({ outcome: 'succeeded', tries: 1 })
    expect(await job.result({ timeout: '10s' })).toBeNull()
  })

  it('wakes a client that waits', async () => {
    const { fp, receive, sql } = await setupBoth()
    const waits = receive({ WaitTimeSeconds: 20 })
    await expect.poll(() => sql('select 1 from fencepost.sleeper'), patience).not.toEqual([])
    await fp.enqueue(messageTask('orders', { input: anything, run: () => null }), 'hello')
    expect(bodies(await waits)).toEqual(['"hello"'])
  })
})

it('`fencepost jobs show` tells of a message what was sent, received and deleted', async () => {
  const { url, send, receive, change, remove } = await setupBoth()
  const { MessageId } = await send('{"order":7}', {
    MessageAttributes: { kind: { DataType: 'String', StringValue: 'new' } },
  })
  const [first] = await receive()
  await change(first!, 0)
  const [second] = await receive()
  await remove(second!)
  const { code, stdout } = await cli(['jobs', 'show', MessageId as string], { url })
  expect(code).toBe(0)
  for (const told of [
    /^place +finished succeeded$/m,
    /^counters +2 tries, 0 failures, 0 losses, 1 release$/m,
    'order',
    'AKIATEST',
    'attempt 1 released: visibility_set_to_0',
    'attempt 2 succeeded',
  ]) {
    expect(stdout).toMatch(told)
  }
})

it.each<unknown>([
  null,
  5,
  { body: 5, sender: 'a' },
  { body: 'a' },
  { body: 'a', sender: 'a', attributes: 'a' },
  { body: 'a', sender: 'a', attributes: { a: null } },
  { body: 'a', sender: 'a', groupId: {} },
])('takes a job whose payload only looks like a message for any other: %j', async ($message) => {
  const { add, receive, errors } = await setupQueue()
  const payload = { $message }
  await add({ queue: 'orders', task: 'orders', payloadText: JSON.stringify(payload) })
  const [message] = await receive()
  expect(JSON.parse(message?.Body ?? '')).toEqual(payload)
  expect(errors).toEqual([])
})
