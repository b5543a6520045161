import { describe, expect, it } from 'vitest'
import { type Send, sendMessages, sweepMessages } from '../../src/store/sqs-messages.js'
import { deleteQueue, purgeQueue } from '../../src/store/sqs-queues.js'
import { type Ledger, registerServer, seeServer } from '../../src/store/sqs-servers.js'
import { aGrouped, anEntry, setupSqs, stored } from '../harness/sqs.js'
import { waitersSql } from '../harness/blocked.js'

/** The same entry, as a client sends it again: what the server makes anew each time is new. */
const again = (entry: Send): Send => ({ ...entry, id: anEntry().id })
const recorded = (entry: Send) => [{ answer: 'recorded', messageId: entry.id, seq: null, rank: 0 }]
const jobs = 'select id from fencepost.job'

describe('a send that comes again', () => {
  it('gets the answer of the first, and stores nothing', async () => {
    const { send, sql } = await setupSqs()
    const entry = anEntry()
    await send(entry)
    expect(await send(again(entry))).toEqual(recorded(entry))
    expect(await sql(jobs)).toEqual([{ id: entry.id }])
  })

  it('disturbs no consumer: the receipt still deletes, and time and count are as they were', async () => {
    const { send, receive, change, remove, sql, see } = await setupSqs()
    const entry = anEntry()
    await send(entry)
    const [message] = await receive()
    await change(600_000, message!)
    const before = await sql('select * from fencepost.leased')
    expect(await send(again(entry))).toEqual(recorded(entry))
    expect(await sql('select * from fencepost.leased')).toEqual(before)
    expect(await remove(message!)).toEqual(['deleted'])
    expect(await send(again(entry))).toEqual(recorded(entry))
    expect(await receive()).toEqual([])
    expect(await see(entry.id)).toMatchObject({ outcome: 'succeeded' })
  })

  it('leaves a dead letter where it is, and a delayed message when it is due', async () => {
    const { make, set, send, receive, sql } = await setupSqs({
      redrivePolicy: { deadLetterTargetArn: 'arn:aws:sqs:us-east-1:000000000000:dead', maxReceiveCount: 1 },
    })
    await make('dead')
    const [dead, delayed] = [anEntry(), anEntry({ delayMs: null })]
    await send(dead)
    await receive({ visibleMs: 0 })
    await receive()
    await set({ delaySeconds: 100 })
    await send(delayed)
    const before = await sql('select job_id, due_at from fencepost.delayed')
    await set({ delaySeconds: 5 })
    expect(await send(again(dead), again(delayed))).toEqual([...recorded(dead), ...recorded(delayed)])
    expect(await sql('select job_id, due_at from fencepost.delayed')).toEqual(before)
    expect(await sql('select job_id, queue from fencepost.ready')).toEqual([{ job_id: dead.id, queue: 'dead' }])
  })

  it('is successful with its first id though the limit was lowered; what was never stored is refused by it', async () => {
    const { set, send } = await setupSqs()
    const [entry, other] = [anEntry({ size: 5_000 }), anEntry({ size: 5_000 })]
    await send(entry)
    await set({ maximumMessageSize: 1_024 })
    expect(await send(again(entry), other)).toEqual([
      ...recorded(entry),
      { answer: 'too_large', messageId: other.id, seq: null, rank: 0 },
    ])
    expect(await send(other)).toMatchObject([{ answer: 'too_large' }])
    await set({ maximumMessageSize: 8_000 })
    expect(await send(other)).toMatchObject([{ answer: 'sent' }]) // a refusal is not an answer for ever
  })

  it('waits for the first while that is in flight, before it looks at any limit', async () => {
    const { db, connect, set, send, sql } = await setupSqs()
    const entry = anEntry({ size: 5_000 })
    const first = await connect()
    await first.query('begin')
    await rawSend(first, entry)
    await set({ maximumMessageSize: 1_024 })
    const second = send(again(entry))
    await waits(db)
    await first.query('commit')
    expect(await second).toEqual(recorded(entry))
    expect(await sql(jobs)).toHaveLength(1)
  })

  it('is the first if that is rolled back', async () => {
    const { db, connect, send, sql } = await setupSqs()
    const entry = anEntry()
    const first = await connect()
    await first.query('begin')
    await rawSend(first, entry)
    const repeat = again(entry)
    const second = send(repeat)
    await waits(db)
    await first.query('rollback')
    expect(await second).toEqual([{ answer: 'sent', messageId: repeat.id, seq: null, rank: 0 }])
    expect(await sql(jobs)).toEqual([{ id: repeat.id }])
  })

  it('sends the entries that were not stored, and answers those that were', async () => {
    const { send } = await setupSqs()
    const [a, b, c] = [anEntry(), anEntry(), anEntry()]
    await send(b)
    expect(await send(a, again(b), c)).toMatchObject([
      { answer: 'sent', messageId: a.id },
      { answer: 'recorded', messageId: b.id },
      { answer: 'sent', messageId: c.id },
    ])
  })

  it('keeps what is recorded after a purge; a queue that was deleted and made again is another one', async () => {
    const { db, make, send, receive, sql } = await setupSqs()
    const entry = anEntry()
    await send(entry)
    expect(await purgeQueue(db, 'q', 60_000)).toBe('purged')
    expect(await purgeQueue(db, 'q', 60_000)).toBe('too_soon')
    expect(await send(again(entry))).toEqual(recorded(entry))
    expect(await receive()).toEqual([])

    await deleteQueue(db, 'q')
    expect(await send(again(entry))).toBe('no_queue')
    await make('q')
    const repeat = again(entry)
    expect(await send(repeat)).toMatchObject([{ answer: 'sent', messageId: repeat.id }])
    expect(await receive()).toMatchObject([{ jobId: repeat.id }])
    expect(await sql('select outcome, reason from fencepost.finished')).toEqual([
      { outcome: 'discarded', reason: 'purged' },
    ])
  })

  it('has its sequence number, in a FIFO queue, after its message is gone', async () => {
    const { sql, send, receive, remove } = await setupSqs({}, 'q.fifo')
    const entry = aGrouped('g')
    const [sent] = await stored(send(entry))
    await remove(...(await receive()))
    await sql('delete from fencepost.job')
    expect(await send(again(entry))).toEqual([{ answer: 'recorded', messageId: entry.id, seq: sent!.seq, rank: 0 }])
  })

  it('is forgotten when its time is over, never before five minutes', async () => {
    const { db, send, advance, sql } = await setupSqs()
    const entry = anEntry()
    await send(entry)
    await advance(290_000)
    await sweepMessages(db, 1_000)
    expect(await send(again(entry))).toEqual(recorded(entry))
    await advance(10_001)
    await sweepMessages(db, 600_000)
    expect(await send(again(entry))).toEqual(recorded(entry))
    await sweepMessages(db, 1_000)
    expect(await sql('select 1 from fencepost.sqs_sent')).toEqual([])
  })
})

describe('a queue that is deleted', () => {
  it('waits for sends in flight, and takes them along', async () => {
    const { db, connect, sql } = await setupSqs()
    const first = await connect()
    await first.query('begin')
    await rawSend(first, anEntry())
    const gone = deleteQueue(db, 'q')
    await waits(db, 'advisory')
    await first.query('commit')
    expect(await gone).toBe(true)
    expect(await sql('select outcome from fencepost.finished')).toEqual([{ outcome: 'discarded' }])
    expect(await sql('select 1 from fencepost.ready')).toEqual([])
  })
})

describe('servers of one fleet', () => {
  it('write the ledger only when all that live read it, and go back in the same order', async () => {
    const { db, advance } = await setupSqs()
    const register = async (server: string, ledger: Ledger) =>
      (await registerServer(db, server, ledger, 60_000)).map((found) => `${found.server} ${found.ledger}`)
    expect(await register('s1', 'off')).toEqual([])
    expect(await register('s2', 'read')).toEqual([])
    expect(await register('s2', 'on')).toEqual(['s1 off'])
    expect(await register('s1', 'read')).toEqual([])
    expect(await register('s2', 'on')).toEqual([])
    expect(await register('s1', 'off')).toEqual(['s2 on'])
    expect(await register('s2', 'read')).toEqual([])
    expect(await register('s1', 'off')).toEqual([])

    await advance(60_001)
    expect(await register('s3', 'on')).toEqual([]) // the others are dead
    expect(await seeServer(db, 's1')).toBe(false)
  })

  it('read the ledger as long as a send that is in it may come again', async () => {
    const { db, advance, send } = await setupSqs()
    await send(anEntry())
    expect(await registerServer(db, 's1', 'off', 60_000)).toMatchObject([{ ledger: 'on' }])
    await advance(300_001)
    expect(await registerServer(db, 's1', 'off', 60_000)).toEqual([])
  })

  it('send nothing after they were taken for dead, until they have registered again', async () => {
    const { db, advance, send, sql } = await setupSqs()
    await registerServer(db, 's1', 'read', 60_000)
    await advance(60_001)
    await registerServer(db, 's2', 'on', 60_000)
    expect(await send(anEntry())).toBe('not_registered')
    expect(await sql(jobs)).toEqual([])
  })

  // Which servers a client may meet: the first try at one, the second at the other.
  for (const [first, second] of [
    ['on', 'on'],
    ['on', 'read'],
  ] as const) {
    it(`store a send once if its first try meets "${first}" and its second "${second}"`, async () => {
      const { db, sql } = await setupSqs()
      await registerServer(db, 'a', first, 60_000)
      await registerServer(db, 'b', second, 60_000)
      const entry = anEntry()
      await sendMessages(db, 'a', 'q', [entry])
      expect(await sendMessages(db, 'b', 'q', [again(entry)])).toEqual(recorded(entry))
      expect(await sql(jobs)).toHaveLength(1)
    })
  }

  it('that only read wait for a writer in flight', async () => {
    const { db, connect, sql } = await setupSqs()
    await registerServer(db, 'reader', 'read', 60_000)
    const entry = anEntry()
    const first = await connect()
    await first.query('begin')
    await rawSend(first, entry)
    const second = sendMessages(db, 'reader', 'q', [again(entry)])
    await waits(db)
    await first.query('commit')
    expect(await second).toEqual(recorded(entry))
    expect(await sql(jobs)).toHaveLength(1)
  })

  it('that only read leave no rows', async () => {
    const { db, sql } = await setupSqs()
    await registerServer(db, 'reader', 'read', 60_000)
    await sendMessages(db, 'reader', 'q', [anEntry()])
    expect(await sql('select 1 from fencepost.sqs_sent')).toEqual([])
  })
})

type Client = { query(sql: string, values?: unknown[]): Promise<unknown> }

/** A send whose transaction stays open. */
async function rawSend(client: Client, entry: Send): Promise<void> {
  await client.query(
    `select * from fencepost.sqs_send('s1', 'q', $1::bytea[], $2::uuid[], $3::jsonb[], $4::integer[], '{null}', '{0}', '{null}',
       '{null}', '{false}')`,
    [[entry.key], [entry.id], [JSON.stringify(entry.payload)], [entry.size]],
  )
}

async function waits(
  db: { once<Row>(sql: string): Promise<Row[]> },
  type: Parameters<typeof waitersSql>[0] = 'transactionid',
): Promise<void> {
  await expect.poll(() => db.once(waitersSql(type)), { timeout: 10_000 }).not.toEqual([])
}
