import { randomUUID } from 'node:crypto'
import {
  CreateQueueCommand,
  DeleteMessageCommand,
  DeleteQueueCommand,
  PurgeQueueCommand,
  ReceiveMessageCommand,
  type SQSClient,
  SendMessageBatchCommand,
  type SendMessageBatchCommandOutput,
  SendMessageCommand,
  SetQueueAttributesCommand,
} from '@aws-sdk/client-sqs'
import { describe, expect, it } from 'vitest'
import { audit } from '../../../src/audit/audit.js'
import { Database } from '../../../src/store/database.js'
import { CutProxy } from '../../harness/cut-proxy.js'
import { FaultProxy } from '../../harness/fault-proxy.js'
import { setupServer } from './setup.js'

type Bundle = Awaited<ReturnType<typeof setupServer>>

/** A queue, and words for batches whose entries are told by their bodies. */
async function setupFaults({
  fifo = false,
  attributes = {},
}: {
  fifo?: boolean
  attributes?: Record<string, string>
} = {}) {
  const bundle = await setupServer()
  const name = fifo ? 'orders.fifo' : 'orders'
  const create = () =>
    bundle.sqs.send(
      new CreateQueueCommand({ QueueName: name, Attributes: { ...(fifo && { FifoQueue: 'true' }), ...attributes } }),
    )
  const { QueueUrl } = await create()
  const entries = (bodies: readonly string[]) =>
    bodies.map((body, n) => ({
      Id: `e${n}`,
      MessageBody: body,
      ...(fifo && { MessageGroupId: 'g', MessageDeduplicationId: body.slice(0, 50) }),
    }))
  const sendBatch = (client: SQSClient, bodies: readonly string[]) =>
    client.send(new SendMessageBatchCommand({ QueueUrl, Entries: entries(bodies) }))
  return { ...bundle, QueueUrl, create, sendBatch }
}

let batches = 0
const aBatch = (): string[] => {
  batches++
  return ['a', 'b', 'c'].map((each) => `${each}${batches}`)
}

/** One stored copy of each entry that was told as sent, under the id that was told, and none of one that failed. */
async function expectTrue(
  { sql }: Pick<Bundle, 'sql'>,
  bodies: readonly string[],
  { Successful = [], Failed = [] }: Pick<SendMessageBatchCommandOutput, 'Successful' | 'Failed'>,
): Promise<void> {
  expect(new Set([...Successful, ...Failed].map(({ Id }) => Id))).toEqual(new Set(bodies.map((_, n) => `e${n}`)))
  const told = Object.fromEntries(Successful.map(({ Id, MessageId }) => [bodies[Number(Id?.slice(1))], MessageId]))
  const rows = await sql<{ body: string; id: string }>(
    `select payload -> '$message' ->> 'body' as body, id from fencepost.job
     where payload -> '$message' ->> 'body' = any ($1) order by seq`,
    [bodies],
  )
  expect(rows).toHaveLength(Successful.length)
  expect(Object.fromEntries(rows.map(({ body, id }) => [body, id]))).toEqual(told)
}

const points: readonly [string, (bytes: number) => number][] = [
  ['before its first byte', () => 0],
  ['after its first byte', () => 1],
  ['in its middle', (bytes) => bytes >> 1],
  ['before its last byte', (bytes) => bytes - 1],
]

describe('between the server and the database', () => {
  for (const fifo of [false, true]) {
    const queue = fifo ? 'a FIFO queue' : 'a standard queue'
    for (const part of ['request', 'reply'] as const) {
      it(`a cut in the ${part} of a send to ${queue}, at any point, leaves one copy and a true answer`, async () => {
        const bundle = await setupFaults({ fifo })
        const proxy = await CutProxy.start(bundle.url)
        const server = await bundle.serve({ listen: false }, new Database({ url: proxy.through(bundle.url) }))
        const client = bundle.client(server.url)
        for (const [, passes] of points) {
          const bodies = aBatch()
          const struck = part === 'request' ? proxy.cutRequest('sqs_send', passes) : proxy.cutReply('sqs_send', passes)
          const answer = await bundle.sendBatch(client, bodies)
          await struck
          expect(answer.Failed ?? []).toEqual([])
          await expectTrue(bundle, bodies, answer)
        }
        expect(await audit(bundle.db)).toMatchObject({ findings: [] })
      })
    }
  }

  it('a reply that is lost twice, and an entry that is too large, leave one copy of the others and a true answer', async () => {
    const bundle = await setupFaults({ attributes: { MaximumMessageSize: '1024' } })
    const proxy = await FaultProxy.start(bundle.url)
    const server = await bundle.serve({ listen: false }, new Database({ url: proxy.url }))
    const bodies = [...aBatch(), 'x'.repeat(2_000)]
    const struck = [proxy.loseReplyTo('sqs_send'), proxy.loseReplyTo('sqs_send'), proxy.loseRequest('sqs_send')]

    const answer = await bundle.sendBatch(bundle.client(server.url), bodies)

    await Promise.all(struck)
    expect(answer.Failed?.map(({ Id }) => Id)).toEqual(['e3'])
    await expectTrue(bundle, bodies, answer)
  })

  it('a lost reply of a server that does not use the ledger leaves one copy: it knows its own ids', async () => {
    const bundle = await setupFaults()
    await bundle.server.close()
    const proxy = await FaultProxy.start(bundle.url)
    const server = await bundle.serve({ listen: false, sendDedup: 'off' }, new Database({ url: proxy.url }))
    const bodies = aBatch()
    const struck = proxy.loseReplyTo('sqs_send')

    const answer = await bundle.sendBatch(bundle.client(server.url), bodies)

    await struck
    await expectTrue(bundle, bodies, answer)
  })

  it('a connection that is refused is tried again', async () => {
    const bundle = await setupFaults()
    const proxy = await FaultProxy.start(bundle.url)
    let refusals = 0
    const pause = async () => {
      if (++refusals === 2) await proxy.comeBack()
    }
    const server = await bundle.serve({ listen: false }, new Database({ url: proxy.url, pause }))
    const bodies = aBatch()
    await proxy.stop()

    const answer = await bundle.sendBatch(bundle.client(server.url), bodies)

    expect(refusals).toBeGreaterThanOrEqual(2)
    await expectTrue(bundle, bodies, answer)
  })

  it('a database that stays away after a lost reply leaves an answer that says so, and the next try knows', async () => {
    const bundle = await setupFaults()
    const proxy = await FaultProxy.start(bundle.url)
    const server = await bundle.serve({ listen: false }, new Database({ url: proxy.url }))
    const client = bundle.client(server.url, {}, randomUUID())
    const bodies = aBatch()
    const gone = proxy.loseReplyTo('sqs_send').then(() => proxy.stop())

    await expect(bundle.sendBatch(client, bodies)).rejects.toMatchObject({
      message: 'The database was lost, and it is not known whether the request was carried out. Try again.',
      $metadata: { httpStatusCode: 503 },
    })
    await gone
    await proxy.comeBack()

    await expectTrue(bundle, bodies, await bundle.sendBatch(client, bodies))
  })

  it('a backend that is ended in the middle of a send leaves nothing of it, and the repeat sends', async () => {
    const bundle = await setupFaults()
    const { connect, sql, sqs, sendBatch } = bundle
    const locker = await connect()
    await locker.query('begin')
    await locker.query('lock table fencepost.job in exclusive mode') // the ledger is written by then
    const bodies = aBatch()
    const answer = sendBatch(sqs, bodies)
    const waiting = () =>
      sql<{ pid: number }>(
        `select pid from pg_stat_activity
         where datname = current_database() and query like '%sqs\\_send%' and cardinality(pg_blocking_pids(pid)) > 0`,
      )
    await expect.poll(waiting, { timeout: 10_000 }).toHaveLength(1)
    const [first] = await waiting()
    await sql('select pg_terminate_backend($1, 5000)', [first?.pid])
    expect(await sql('select 1 from fencepost.sqs_sent')).toEqual([])
    await locker.query('rollback')

    await expectTrue(bundle, bodies, await answer)
    expect(await audit(bundle.db)).toMatchObject({ findings: [] })
  })

  it('all backends that are ended while sends are in flight leave one copy of each', async () => {
    const bundle = await setupFaults()
    const { sql, sqs, sendBatch } = bundle
    const sent = Array.from({ length: 12 }, async () => {
      const bodies = aBatch()
      return { bodies, answer: await sendBatch(sqs, bodies) }
    })
    for (let round = 0; round < 5; round++) {
      await sql(`select pg_terminate_backend(pid) from pg_stat_activity
                 where datname = current_database() and application_name = 'fencepost sqs'`)
    }
    for (const { bodies, answer } of await Promise.all(sent)) await expectTrue(bundle, bodies, answer)
    expect(await audit(bundle.db)).toMatchObject({ findings: [] })
  })

  it('a COMMIT that is lost, or its reply, where a send is a transaction of three messages, leaves one copy', async () => {
    const bundle = await setupFaults()
    await bundle.sql(
      `do $$ begin execute format('alter database %I set default_transaction_isolation to serializable', current_database()); end $$`,
    )
    const proxy = await FaultProxy.start(bundle.url)
    const server = await bundle.serve({ listen: false }, new Database({ url: proxy.url }))
    const client = bundle.client(server.url)
    // Some of them strike what the server does by itself.
    for (let round = 0; round < 10; round++) {
      const bodies = aBatch()
      const struck = [proxy.loseReplyTo('commit\0'), proxy.loseRequest('commit\0')]
      const answer = await bundle.sendBatch(client, bodies)
      await Promise.all(struck)
      await expectTrue(bundle, bodies, answer)
    }
    expect(await audit(bundle.db)).toMatchObject({ findings: [] })
  })

  for (const fifo of [false, true]) {
    it(`serialization failures leave one copy of each entry of ${fifo ? 'a FIFO' : 'a standard'} queue, and they are received`, async () => {
      const bundle = await setupFaults({ fifo })
      await bundle.sql(
        `do $$ begin execute format('alter database %I set default_transaction_isolation to serializable', current_database()); end $$`,
      )
      const servers = [await bundle.serve(), await bundle.serve()]
      const sends = [1, 2, 3].flatMap(() => {
        const bodies = aBatch()
        const token = randomUUID()
        return [0, 1, 0, 1].map(async (n) => {
          const client = bundle.client(servers[n]?.url as string, {}, token)
          return { bodies, answer: await bundle.sendBatch(client, bodies) }
        })
      })
      for (const { bodies, answer } of await Promise.all(sends)) await expectTrue(bundle, bodies, answer)

      const client = bundle.client(servers[0]?.url as string)
      const ask = { QueueUrl: bundle.QueueUrl, MaxNumberOfMessages: 10, WaitTimeSeconds: 5 }
      const { Messages = [] } = await client.send(new ReceiveMessageCommand(ask))
      expect(Messages.length).toBeGreaterThan(0)
      expect(await audit(bundle.db)).toMatchObject({ findings: [] })
    })
  }
})

describe('between the client and the server', () => {
  for (const fifo of [false, true]) {
    it(`the real client tries again by itself, and ${fifo ? 'a FIFO' : 'a standard'} queue stores one copy`, async () => {
      const bundle = await setupFaults({ fifo })
      const proxy = await CutProxy.start(bundle.server.url)
      const client = bundle.client(proxy.through(bundle.server.url), { maxAttempts: 5 })
      for (const [, passes] of points) {
        const bodies = aBatch()
        const struck = [
          proxy.cutReply('SendMessageBatch', passes),
          proxy.cutRequest('SendMessageBatch', passes),
          proxy.cutReply('SendMessageBatch', passes),
        ]
        const answer = await bundle.sendBatch(client, bodies)
        await Promise.all(struck)
        expect(answer.$metadata.attempts).toBe(4)
        await expectTrue(bundle, bodies, answer)
      }
      expect(await audit(bundle.db)).toMatchObject({ findings: [] })
    }, 120_000)
  }

  it('each try of the real client may meet another server', async () => {
    const bundle = await setupFaults()
    const other = await bundle.serve()
    const proxy = await CutProxy.start(bundle.server.url, other.url)
    const client = bundle.client(proxy.through(bundle.server.url), { maxAttempts: 5 })
    const bodies = aBatch()
    const struck = [1, 2, 3].map(() => proxy.cutReply('SendMessageBatch', () => 0))

    const answer = await bundle.sendBatch(client, bodies)

    await Promise.all(struck)
    await expectTrue(bundle, bodies, answer)
  })

  it('what a message says is the same in all tries: the same token with other words is another message', async () => {
    const bundle = await setupFaults()
    const client = bundle.client(bundle.server.url, {}, randomUUID())
    const send = (MessageBody: string) =>
      client.send(new SendMessageCommand({ QueueUrl: bundle.QueueUrl, MessageBody }))

    const [one, other, again] = [await send('one'), await send('other'), await send('one')]

    expect(again.MessageId).toBe(one.MessageId)
    expect(other.MessageId).not.toBe(one.MessageId)
    expect(await bundle.sql('select 1 from fencepost.job')).toHaveLength(2)
  })
})

describe('between two tries, the first through one server and the second through another', () => {
  /** A batch whose first try is answered by one server; `again` is its second try, through another. */
  async function setupTries(attributes: Record<string, string> = {}) {
    const bundle = await setupFaults({ attributes })
    const other = await bundle.serve()
    const token = randomUUID()
    const bodies = aBatch()
    const first = await bundle.sendBatch(bundle.client(bundle.server.url, {}, token), bodies)
    const again = () => bundle.sendBatch(bundle.client(other.url, {}, token), bodies)
    return { ...bundle, bodies, first, again }
  }
  const idsOf = ({ Successful }: SendMessageBatchCommandOutput) => Successful?.map(({ MessageId }) => MessageId)

  it('a purge is not undone', async () => {
    const { sqs, sql, QueueUrl, first, again } = await setupTries()
    await sqs.send(new PurgeQueueCommand({ QueueUrl }))

    expect(idsOf(await again())).toEqual(idsOf(first))

    expect(await sql('select 1 from fencepost.job')).toHaveLength(3)
    expect((await sqs.send(new ReceiveMessageCommand({ QueueUrl }))).Messages).toBeUndefined()
  })

  it('a queue that was deleted and made again gets one copy of its own', async () => {
    const { sqs, sql, QueueUrl, create, first, again } = await setupTries()
    await sqs.send(new DeleteQueueCommand({ QueueUrl }))
    await expect(again()).rejects.toMatchObject({ name: 'QueueDoesNotExist' })
    await create()

    const second = await again()
    expect(idsOf(second)).not.toEqual(idsOf(first))
    expect(idsOf(await again())).toEqual(idsOf(second))

    expect(await sql('select job_id from fencepost.ready order by seq')).toEqual(
      idsOf(second)?.map((id) => ({ job_id: id })),
    )
  })

  it('a changed delay is not applied to what is stored', async () => {
    const { sqs, sql, QueueUrl, first, again } = await setupTries({ DelaySeconds: '900' })
    const before = await sql('select * from fencepost.delayed order by seq')
    await sqs.send(new SetQueueAttributesCommand({ QueueUrl, Attributes: { DelaySeconds: '0' } }))

    expect(idsOf(await again())).toEqual(idsOf(first))

    expect(await sql('select * from fencepost.delayed order by seq')).toEqual(before)
    expect(await sql('select 1 from fencepost.ready')).toEqual([])
  })

  it('what a consumer has deleted stays deleted, and its receipts stay good', async () => {
    const { db, sqs, sql, QueueUrl, first, again } = await setupTries()
    const { Messages = [] } = await sqs.send(new ReceiveMessageCommand({ QueueUrl, MaxNumberOfMessages: 10 }))
    const remove = (n: number) =>
      sqs.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle: Messages[n]?.ReceiptHandle }))
    await remove(0)
    const before = await sql('select * from fencepost.leased order by lease_id')

    expect(idsOf(await again())).toEqual(idsOf(first))

    expect(await sql('select * from fencepost.leased order by lease_id')).toEqual(before)
    await remove(1)
    await remove(2)
    expect(await sql('select outcome from fencepost.finished')).toEqual(
      first.Successful?.map(() => ({ outcome: 'succeeded' })),
    )
    expect(await audit(db)).toMatchObject({ findings: [] })
  })
})
