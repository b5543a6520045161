import { request } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import {
  CancelMessageMoveTaskCommand,
  CreateQueueCommand,
  DeleteMessageCommand,
  ListDeadLetterSourceQueuesCommand,
  ListQueuesCommand,
  ReceiveMessageCommand,
  SendMessageCommand,
  SetQueueAttributesCommand,
  StartMessageMoveTaskCommand,
} from '@aws-sdk/client-sqs'
import { expect, it, onTestFinished } from 'vitest'
import { Events } from '../../../src/events.js'
import { MessageStore } from '../../../src/sqs/message-store.js'
import { QueueWaiters } from '../../../src/sqs/queue-waiters.js'
import { Caller } from '../../../src/sqs/sqs-call.js'
import { Database } from '../../../src/store/database.js'
import { type Received, type Receive, sendMessages } from '../../../src/store/sqs-messages.js'
import { setup } from '../../harness/setup.js'
import { anEntry } from '../../harness/sqs.js'
import { credentials, setupServer } from './setup.js'

const ask: Receive = { queue: 'q', max: 1, visibleMs: null, receiver: 's', attempt: null, inFlightMax: null }
const aMessage = { jobId: 'm' } as Received

/** Waiters for messages that a function finds. */
function waitersOf(db: Database, receive: (ask: Receive) => Promise<readonly Received[]>) {
  const messages = { receive } as unknown as MessageStore
  const waiters = new QueueWaiters({ db, messages, events: new Events(), server: 's', pollMs: 100, listen: false })
  onTestFinished(() => waiters.close())
  return waiters
}

/** A caller that stays, of a server that goes on. */
const patient = () => ({ caller: new Caller(), stopping: new AbortController().signal })

it('answers a receiver whose time is over while the look for it is on its way', async () => {
  const { db } = await setup()
  let looks = 0
  const waiters = waitersOf(db, async () => {
    if (++looks === 2) await pause(300)
    return []
  })
  const answer = waiters.receive(ask, async () => 100, patient())
  expect(await Promise.race([answer, pause(3_000, 'no answer')])).toEqual([])
})

it('answers a receiver when it is closed while the look for it is on its way', async () => {
  const { db } = await setup()
  let looks = 0
  const waiters = waitersOf(db, async () => {
    if (++looks === 2) await pause(300)
    return []
  })
  const answer = waiters.receive(ask, async () => 20_000, patient())
  await expect.poll(() => looks).toBe(2)
  await waiters.close()
  expect(await Promise.race([answer, pause(3_000, 'no answer')])).toEqual([])
})

it('gives no message to a receiver that was told an error', async () => {
  const { url } = await setup()
  let fails = 1
  class Flaky extends Database {
    override async read<Row>(sql: string, values?: unknown[]): Promise<Row[]> {
      if (sql.includes('min(visible_at)') && fails-- > 0) throw new Error('no answer')
      return super.read(sql, values)
    }
  }
  const db = new Flaky({ url })
  onTestFinished(() => db.close())
  const found = [[], [], [aMessage]]
  const waiters = waitersOf(db, async () => found.shift() ?? [])
  const receive = () => waiters.receive(ask, async () => 2_000, patient()).catch(() => [])
  expect([await receive(), await receive()].flat()).toEqual([aMessage])
})

it('receives from a FIFO queue of a database whose default is above READ COMMITTED', async () => {
  const { sql, url, serve, client } = await setupServer()
  await sql(`alter database ${new URL(url).pathname.slice(1)} set default_transaction_isolation = 'repeatable read'`)
  const sqs = client((await serve()).url)
  const { QueueUrl } = await sqs.send(
    new CreateQueueCommand({
      QueueName: 'q.fifo',
      Attributes: { FifoQueue: 'true', ContentBasedDeduplication: 'true' },
    }),
  )
  await sqs.send(new SendMessageCommand({ QueueUrl, MessageBody: 'a', MessageGroupId: 'g' }))
  const { Messages = [] } = await sqs.send(new ReceiveMessageCommand({ QueueUrl, WaitTimeSeconds: 3 }))
  expect(Messages).toMatchObject([{ Body: 'a' }])
  await sqs.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle: Messages[0]!.ReceiptHandle }))
})

it('moves messages only to a queue to which the caller may send, and of the same type', async () => {
  const {
    server,
    sqs: root,
    client,
  } = await setupServer({
    keys: {
      [credentials.accessKeyId]: { secret: credentials.secretAccessKey },
      AKIALIMITED: { secret: 'limited', queues: { 'mine*': ['*'], open: ['send'] } },
    },
  })
  const arn = (name: string) => `arn:aws:sqs:us-east-1:000000000000:${name}`
  for (const QueueName of ['mine-dead', 'theirs', 'open']) await root.send(new CreateQueueCommand({ QueueName }))
  await root.send(new CreateQueueCommand({ QueueName: 'mine.fifo', Attributes: { FifoQueue: 'true' } }))
  const RedrivePolicy = JSON.stringify({ deadLetterTargetArn: arn('mine-dead'), maxReceiveCount: 1 })
  await root.send(new CreateQueueCommand({ QueueName: 'mine', Attributes: { RedrivePolicy } }))
  const limited = client(server.url, { credentials: { accessKeyId: 'AKIALIMITED', secretAccessKey: 'limited' } })
  const move = (to: string) =>
    limited.send(new StartMessageMoveTaskCommand({ SourceArn: arn('mine-dead'), DestinationArn: arn(to) }))
  await expect(move('theirs')).rejects.toThrow(/AKIALIMITED is not allowed to perform .* theirs/)
  await expect(move('mine.fifo')).rejects.toThrow(/DestinationArn is invalid/)
  expect(await move('open')).toHaveProperty('TaskHandle')
})

it('takes no unsigned request for a name of the internet, which a web page can have led here', async () => {
  const { serve } = await setupServer()
  const { port } = await serve({ unsigned: true })
  const statusFor = (host: string) =>
    new Promise<number | undefined>((resolve, reject) => {
      const path = '/?Action=ListQueues&Version=2012-11-05'
      request({ port, host: '127.0.0.1', path, headers: { host } }, (response) => {
        response.resume()
        resolve(response.statusCode)
      })
        .on('error', reject)
        .end()
    })
  for (const host of ['evil.example', `evil.example:${port}`, '127.0.0.1.evil.example', 'localhost.evil.example:80']) {
    expect([host, await statusFor(host)]).toEqual([host, 403])
  }
  const ours = ['localhost', `127.0.0.1:${port}`, `[::1]:${port}`, 'sqs.localhost:1', 'host.docker.internal']
  for (const host of ours) expect([host, await statusFor(host)]).toEqual([host, 200])
})

it('hears of messages again after it was taken for dead', async () => {
  const { db, sql, serve, client } = await setupServer()
  const sqs = client((await serve({ poll: '15s' })).url)
  const { QueueUrl } = await sqs.send(new CreateQueueCommand({ QueueName: 'q' }))
  const waits = sqs.send(new ReceiveMessageCommand({ QueueUrl, WaitTimeSeconds: 20 }))
  const sleepers = () => sql('select 1 from fencepost.sleeper')
  await expect.poll(sleepers, { timeout: 5_000 }).not.toEqual([])
  await pause(500)
  await sql('delete from fencepost.sleeper')
  await sql('delete from fencepost.sqs_server')
  await expect.poll(() => sql('select id from fencepost.sqs_server'), { timeout: 10_000 }).not.toEqual([])
  await pause(500)
  const [known] = await sql<{ id: string }>('select id from fencepost.sqs_server')
  await sendMessages(db, known!.id, 'q', [anEntry()])
  expect(await Promise.race([waits, pause(3_000, 'not heard')])).toHaveProperty('Messages')
}, 40_000)

it('does not put more than a few megabytes of messages into one statement', async () => {
  const statements: number[] = []
  const move = async (_sql: string, values: (again: boolean) => unknown[]) => {
    const sizes = values(false)[5] as number[]
    statements.push(sizes.reduce((sum, size) => sum + size, 0))
    await pause(5)
    return sizes.map((_, n) => ({ n: n + 1, answer: 'sent', message_id: '', seq: null, rank: 0 }))
  }
  const messages = new MessageStore({ move } as unknown as Database, 's')
  const size = 1_048_576
  await Promise.all(Array.from({ length: 50 }, () => messages.send('q', [anEntry({ size })])))
  expect(Math.max(...statements)).toBeLessThanOrEqual(8 * size)
  expect(statements.reduce((sum, each) => sum + each, 0)).toBe(50 * size)
})

it('refuses a queue as its own dead-letter queue', async () => {
  const { sqs } = await setupServer()
  const { QueueUrl } = await sqs.send(new CreateQueueCommand({ QueueName: 'q' }))
  const deadLetterTargetArn = 'arn:aws:sqs:us-east-1:000000000000:q'
  const RedrivePolicy = JSON.stringify({ deadLetterTargetArn, maxReceiveCount: 1 })
  const set = sqs.send(new SetQueueAttributesCommand({ QueueUrl, Attributes: { RedrivePolicy } }))
  await expect(set).rejects.toThrow(/its own dead-letter queue/)
})

it('answers tokens, handles and prefixes that are made up as what they are, not as a failure of its own', async () => {
  const { sqs, errors } = await setupServer()
  const { QueueUrl } = await sqs.send(new CreateQueueCommand({ QueueName: 'q' }))
  const NextToken = Buffer.from('a\0b').toString('base64url')
  await expect(sqs.send(new ListQueuesCommand({ NextToken, MaxResults: 5 }))).rejects.toThrow(/NextToken is invalid/)
  const sources = new ListDeadLetterSourceQueuesCommand({ QueueUrl, NextToken, MaxResults: 5 })
  await expect(sqs.send(sources)).rejects.toThrow(/NextToken is invalid/)
  expect(await sqs.send(new ListQueuesCommand({ QueueNamePrefix: 'q\0' }))).not.toHaveProperty('QueueUrls')
  for (const told of [
    { id: '-'.repeat(36), source: 'q' },
    { id: '00000000-0000-0000-0000-000000000000', source: 'q\0' },
  ]) {
    const TaskHandle = Buffer.from(JSON.stringify(told)).toString('base64url')
    await expect(sqs.send(new CancelMessageMoveTaskCommand({ TaskHandle }))).rejects.toThrow(/TaskHandle is invalid/)
  }
  expect(errors).toEqual([])
})
