import { describe, expect, it } from 'vitest'
import { sweepMessages } from '../../src/store/sqs-messages.js'
import { reapExpired } from '../../src/store/worker.js'
import { aGrouped, plainSettings, setupSqs, stored } from '../harness/sqs.js'
import { waitersSql } from '../harness/blocked.js'

const fifo = (settings: object = {}) => setupSqs({ contentBasedDeduplication: false, ...settings }, 'q.fifo')
const ids = (messages: readonly { jobId: string }[]) => messages.map(({ jobId }) => jobId)

describe('a message group', () => {
  it('comes in one receive as far as there is room, in order; the rest is held until all of these have ended', async () => {
    const { send, receive, remove, sound } = await fifo()
    const sent = [1, 2, 3, 4, 5].map(() => aGrouped('a'))
    await send(...sent)
    const first = await receive({ max: 3 })
    expect(ids(first)).toEqual(ids(sent.slice(0, 3).map(({ id }) => ({ jobId: id }))))
    expect(await receive()).toEqual([])
    await sound()

    await remove(first[0]!, first[2]!)
    expect(await receive()).toEqual([])
    await sound()
    await remove(first[1]!)
    expect(ids(await receive())).toEqual([sent[3]!.id, sent[4]!.id])
    await sound()
  })

  it('does not keep others waiting', async () => {
    const { send, receive, sound } = await fifo()
    const [a, b, a2, c] = [aGrouped('a'), aGrouped('b'), aGrouped('a'), aGrouped('c')]
    await send(a, b, a2)
    expect(ids(await receive({ max: 1 }))).toEqual([a.id])
    await send(c)
    expect(ids(await receive())).toEqual([b.id, c.id])
    await sound()
  })

  it('is hidden by its head: one that comes back is the first again', async () => {
    const { send, receive, remove, advance, sound } = await fifo({ visibilityTimeout: 5 })
    const [a, b, c] = [aGrouped('g'), aGrouped('g'), aGrouped('g')]
    await send(a, b, c)
    const [head, follower] = await receive({ max: 2 })
    expect([head!.jobId, follower!.jobId]).toEqual([a.id, b.id])
    await remove(head!)
    await advance(5_001)
    expect(ids(await receive())).toEqual([b.id, c.id])
    await sound()
  })

  it('stays hidden while a follower is in flight, though its head has come back', async () => {
    const { send, receive, change, remove, sound } = await fifo()
    const [a, b, c] = [aGrouped('g'), aGrouped('g'), aGrouped('g')]
    await send(a, b, c)
    const [head, follower] = await receive({ max: 2 })
    expect(await change(0, head!)).toEqual(['changed'])
    expect(await receive()).toEqual([])
    await sound()
    await remove(follower!)
    const [again, next] = await receive()
    expect([again!.jobId, next!.jobId]).toEqual([a.id, c.id])
    expect(again).toMatchObject({ tries: 2 })
    await sound()
  })

  it('is not given out under the lock of its gate: only the head is', async () => {
    const { connect, send, receive } = await fifo()
    const [a, b] = [aGrouped('g'), aGrouped('g')]
    await send(a, b)
    const other = await connect()
    await other.query('begin')
    await other.query('select 1 from fencepost.gate for update')
    expect(ids(await receive())).toEqual([a.id])
    await other.query('rollback')
  })

  it('does not pass a message that is being cancelled', async () => {
    const { connect, send, receive } = await fifo()
    const [a, b, c] = [aGrouped('g'), aGrouped('g'), aGrouped('g')]
    await send(a, b, c)
    const other = await connect()
    await other.query('begin')
    await other.query('select 1 from fencepost.waiting where job_id = $1 for update', [b.id])
    expect(ids(await receive())).toEqual([a.id])
    await other.query('rollback')
  })

  it('moves to a dead-letter queue with its gate, and what follows goes on', async () => {
    const { make, sql, send, receive, sound } = await fifo({
      visibilityTimeout: 0,
      redrivePolicy: { deadLetterTargetArn: 'arn:aws:sqs:us-east-1:000000000000:dead.fifo', maxReceiveCount: 1 },
    })
    await make('dead.fifo')
    const [a, b] = [aGrouped('g'), aGrouped('g')]
    await send(a, b)
    expect(ids(await receive({ max: 1 }))).toEqual([a.id])
    expect(ids(await receive({ visibleMs: 60_000 }))).toEqual([b.id])
    expect(await receive({ queue: 'dead.fifo', visibleMs: 60_000 })).toMatchObject([{ jobId: a.id, tries: 2 }])
    expect(await sql('select key, held from fencepost.gate order by key')).toEqual([
      { key: 'fifo:sqs/dead.fifo/g', held: 1 },
      { key: 'fifo:sqs/q.fifo/g', held: 1 },
    ])
    await sound()
  })

  it('expires behind a head that is in flight', async () => {
    const { db, send, receive, see, advance, sound } = await fifo({ messageRetentionPeriod: 60 })
    const [a, b] = [aGrouped('g'), aGrouped('g')]
    await send(a, b)
    await receive({ max: 1, visibleMs: 600_000 })
    await advance(61_000)
    expect(await sweepMessages(db, 0)).toBe(1)
    expect(await see(a.id)).toMatchObject({ place: 'leased' })
    expect(await see(b.id)).toMatchObject({ outcome: 'expired', reason: 'retention_period' })
    await sound()
  })
})

describe('a receipt of a FIFO queue', () => {
  it('does not delete once it has run out', async () => {
    const { db, send, receive, remove, see, advance } = await fifo({ visibilityTimeout: 5 })
    const [a, b] = [aGrouped('g'), aGrouped('h')]
    await send(a, b)
    const [first, second] = await receive()
    await advance(5_001)
    expect(await remove(first!)).toEqual(['expired'])
    await reapExpired(db, 0)
    expect(await remove(second!)).toEqual(['expired'])
    expect(await see(a.id)).toMatchObject({ place: 'ready' })
  })
})

describe('a receive attempt', () => {
  it('that comes again gets the same messages with the same receipts, which last anew', async () => {
    const { send, receive, advance, sound } = await fifo({ visibilityTimeout: 10 })
    await send(aGrouped('g'), aGrouped('g'), aGrouped('h'))
    const first = await receive({ attempt: 'x', max: 2 })
    await advance(8_000)
    expect(await receive({ attempt: 'x', max: 2 })).toEqual(first)
    await advance(8_000)
    expect(await receive({ attempt: 'y' })).toEqual([])
    await sound()
  })
})

describe('deduplication', () => {
  it('answers the first message for five minutes, also after it was deleted', async () => {
    const { sql, send, receive, remove, advance } = await fifo()
    const first = aGrouped('g', { dedupId: 'd' })
    const [sent] = await stored(send(first))
    expect(sent).toMatchObject({ answer: 'sent', messageId: first.id })
    await remove(...(await receive()))
    await advance(290_000)
    expect(await send(aGrouped('h', { dedupId: 'd' }))).toEqual([
      { answer: 'duplicate', messageId: first.id, seq: sent!.seq, rank: 0 },
    ])
    await advance(10_001)
    expect(await send(aGrouped('g', { dedupId: 'd' }))).toMatchObject([{ answer: 'sent' }])
    expect(await sql('select 1 from fencepost.job')).toHaveLength(2)
  })

  it('takes the first of two in one batch, and tells groups apart if the queue says so', async () => {
    const { sql, send } = await fifo({ deduplicationScope: 'messageGroup' })
    const [a, b, c] = [
      aGrouped('g', { dedupId: 'd' }),
      aGrouped('g', { dedupId: 'd' }),
      aGrouped('h', { dedupId: 'd' }),
    ]
    const answers = await stored(send(a, b, c))
    expect(answers.map(({ answer, messageId }) => [answer, messageId])).toEqual([
      ['sent', a.id],
      ['duplicate', a.id],
      ['sent', c.id],
    ])
    expect(answers[0]!.seq).toBe(answers[1]!.seq)
    expect(await sql('select 1 from fencepost.job')).toHaveLength(2)
  })

  it('needs an id, unless the queue takes the content’s', async () => {
    const { send, sql, make, sendTo } = await fifo()
    const entry = aGrouped('g', { dedupId: 'hash', dedupGiven: false })
    expect(await send(entry)).toMatchObject([{ answer: 'no_dedup_id' }])
    await make('content.fifo', { ...plainSettings, contentBasedDeduplication: true })
    expect(await sendTo('content.fifo', entry)).toMatchObject([{ answer: 'sent' }])
    expect(await sendTo('content.fifo', aGrouped('g', { dedupId: 'hash', dedupGiven: false }))).toMatchObject([
      { answer: 'duplicate', messageId: entry.id },
    ])
    expect(await sql('select 1 from fencepost.job')).toHaveLength(1)
  })

  it('waits for a send of the same id that is in flight, in any order of the ids', async () => {
    const { db, connect, send, sql } = await fifo()
    const client = await connect()
    await client.query('begin')
    const queueId = (await sql<{ id: number }>('select id from fencepost.sqs_queue'))[0]!.id
    const first = aGrouped('g', { dedupId: 'd' })
    await client.query(`insert into fencepost.sqs_dedup values ($1, '', 'd', $2, fencepost.clock(), 7)`, [
      queueId,
      first.id,
    ])
    const waits = send(aGrouped('g', { dedupId: 'd' }))
    await waitForLock(db)
    await client.query('commit')
    expect(await waits).toEqual([{ answer: 'duplicate', messageId: first.id, seq: 7, rank: 0 }])
  })
})

async function waitForLock(db: { once<Row>(sql: string): Promise<Row[]> }): Promise<void> {
  await expect.poll(() => db.once(waitersSql('transactionid')), { timeout: 10_000 }).not.toEqual([])
}
