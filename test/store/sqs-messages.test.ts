import { describe, expect, it } from 'vitest'
import { purgeQueue } from '../../src/store/sqs-queues.js'
import { reapExpired } from '../../src/store/worker.js'
import { anEntry, plainSettings, setupSqs } from '../harness/sqs.js'

const toDead = (queue: string, maxReceiveCount: number) => ({
  redrivePolicy: { deadLetterTargetArn: `arn:aws:sqs:us-east-1:000000000000:${queue}`, maxReceiveCount },
})

describe('a message of a standard queue', () => {
  it('is received, hidden, and deleted once', async () => {
    const { send, receive, remove, see, sound } = await setupSqs()
    const entry = anEntry()
    expect(await send(entry)).toEqual([{ answer: 'sent', messageId: entry.id, seq: null, rank: 0 }])

    const [message, ...more] = await receive()
    expect(more).toEqual([])
    expect(message).toMatchObject({ jobId: entry.id, tries: 1, payload: entry.payload, deadFrom: null })
    expect(await receive()).toEqual([])
    expect(await remove(message!)).toEqual(['deleted'])
    expect(await remove(message!)).toEqual(['deleted'])
    expect(await see(entry.id)).toMatchObject({ place: 'finished', outcome: 'succeeded', tries: 1 })
    await sound()
  })

  it('becomes visible again when its time has run out, at no charge, with another receipt', async () => {
    const { send, receive, see, advance, sound } = await setupSqs({ visibilityTimeout: 5 })
    const entry = anEntry()
    await send(entry)
    const [first] = await receive()
    await advance(3_000)
    expect(await receive()).toEqual([])
    await advance(2_001)
    const [second] = await receive()
    expect(second).toMatchObject({ jobId: entry.id, tries: 2, receivedMs: first!.receivedMs })
    expect(second!.leaseId).not.toBe(first!.leaseId)
    expect(await see(entry.id)).toMatchObject({ place: 'leased', failures: 0, losses: 0, releases: 1 })
    await sound()
  })

  it('does not become visible because another does', async () => {
    const { send, receive, advance, sound } = await setupSqs({ visibilityTimeout: 5 })
    const [one, other] = [anEntry(), anEntry()]
    await send(one)
    await receive()
    await advance(3_000)
    await send(other)
    expect(await receive()).toMatchObject([{ jobId: other.id, tries: 1 }])
    await advance(2_001)
    expect(await receive()).toMatchObject([{ jobId: one.id, tries: 2 }])
    expect(await receive()).toEqual([])
    await sound()
  })

  it('is deleted by a receipt that has run out, as long as nobody has received it again', async () => {
    const { db, send, receive, remove, see, advance, sound } = await setupSqs({ visibilityTimeout: 5 })
    const [late, later] = [anEntry(), anEntry()]
    await send(late, later)
    const [first, second] = await receive()
    await advance(5_001)
    expect(await remove(first!)).toEqual(['deleted']) // it has run out, and was not taken back yet

    await reapExpired(db, 0)
    expect(await see(later.id)).toMatchObject({ place: 'ready' })
    expect(await remove(second!)).toEqual(['deleted'])
    expect(await remove(second!)).toEqual(['deleted'])
    expect(await receive()).toEqual([])
    await sound()
  })

  it('is not deleted by a receipt after another one was given out: what was said is kept', async () => {
    const { sql, send, receive, remove, see, advance } = await setupSqs({ visibilityTimeout: 5 })
    const entry = anEntry()
    await send(entry)
    const [first] = await receive()
    await advance(5_001)
    const [second] = await receive()
    expect(await remove(first!)).toEqual(['stale'])
    expect(await see(entry.id)).toMatchObject({ place: 'leased', tries: 2 })
    expect(await sql('select ending, late_ending from fencepost.attempt')).toEqual([
      { ending: 'released', late_ending: 'succeeded' },
    ])

    await advance(5_001)
    await receive({ max: 1, visibleMs: 0 })
    await receive({ max: 1, visibleMs: 0 })
    expect(await remove(second!)).toEqual(['stale'])
    expect(await see(entry.id)).toMatchObject({ outcome: null })
  })

  it('is not deleted by a receipt that nobody was given, nor by one of another generation of the queue', async () => {
    const { send, receive, remove, see } = await setupSqs()
    const entry = anEntry()
    await send(entry)
    const [message] = await receive()
    expect(await remove({ ...message!, nonce: message!.nonce + 1 })).toEqual(['invalid'])
    expect(await remove({ ...message!, queueId: message!.queueId + 1 })).toEqual(['invalid'])
    expect(await remove({ ...message!, leaseId: message!.leaseId + 1 })).toEqual(['invalid'])
    expect(await see(entry.id)).toMatchObject({ place: 'leased' })
  })

  it('is delayed as its entry says, otherwise as the queue says', async () => {
    const { send, receive, advance } = await setupSqs({ delaySeconds: 10 })
    const [own, none, queues] = [anEntry({ delayMs: 5_000 }), anEntry({ delayMs: 0 }), anEntry()]
    await send(own, none, queues)
    expect((await receive()).map(({ jobId }) => jobId)).toEqual([none.id])
    await advance(5_001)
    expect((await receive()).map(({ jobId }) => jobId)).toEqual([own.id])
    await advance(5_000)
    expect((await receive()).map(({ jobId }) => jobId)).toEqual([queues.id])
  })
})

describe('the visibility of a message', () => {
  it('is changed from now, and set to 0 the message is there at once', async () => {
    const { send, receive, change, advance, see, sound } = await setupSqs({ visibilityTimeout: 5 })
    const entry = anEntry()
    await send(entry)
    const [message] = await receive()
    expect(await change(60_000, message!)).toEqual(['changed'])
    await advance(59_000)
    expect(await receive()).toEqual([])
    expect(await change(0, message!)).toEqual(['changed'])
    const [again] = await receive()
    expect(again).toMatchObject({ jobId: entry.id, tries: 2 })
    expect(await change(1_000, message!)).toEqual(['not_in_flight'])
    expect(await see(entry.id)).toMatchObject({ place: 'leased' })
    await sound()
  })

  it('cannot be changed once it has run out, nor beyond twelve hours, nor by a receipt of nobody’s', async () => {
    const { send, receive, change, advance, remove } = await setupSqs({ visibilityTimeout: 43_200 })
    await send(anEntry())
    const [message] = await receive()
    expect(await change(1_000, { ...message!, nonce: 1 })).toEqual(['invalid'])
    await advance(1_000)
    expect(await change(43_200_000, message!)).toEqual(['too_long'])
    expect(await change(43_190_000, message!)).toEqual(['changed'])
    await advance(43_190_001)
    expect(await change(5_000, message!)).toEqual(['not_in_flight'])
    await remove(message!)
    expect(await change(5_000, message!)).toEqual(['not_in_flight'])
  })
})

describe('a dead letter', () => {
  it('is moved by the receive that would have been one too many, with its id and its count', async () => {
    const { make, sql, send, receive, sound } = await setupSqs({ visibilityTimeout: 0, ...toDead('dead', 2) })
    await make('dead')
    const entry = anEntry()
    const other = anEntry()
    await send(entry)
    expect(await receive()).toMatchObject([{ jobId: entry.id, tries: 1 }])
    expect(await receive()).toMatchObject([{ jobId: entry.id, tries: 2 }])
    await send(other)
    expect(await receive({ visibleMs: 9_000 })).toMatchObject([{ jobId: other.id }])
    expect(await receive({ queue: 'dead' })).toMatchObject([{ jobId: entry.id, tries: 3, deadFrom: 'q' }])
    expect(await sql('select queue, task from fencepost.job where id = $1', [entry.id])).toEqual([
      { queue: 'dead', task: 'dead' },
    ])
    await sound()
  })

  it('stays in its queue if the target is gone, and is not touched there by an old receipt', async () => {
    const { make, sql, send, receive, remove, see } = await setupSqs({ visibilityTimeout: 0, ...toDead('dead', 1) })
    const entry = anEntry()
    await send(entry)
    const [message] = await receive()
    expect(await receive()).toMatchObject([{ jobId: entry.id, tries: 2 }])
    const [, last] = [message, (await receive())[0]]
    await make('dead')
    expect(await receive()).toEqual([])
    expect(await see(entry.id)).toMatchObject({ place: 'ready', tries: 3 })
    expect(await remove(last!)).toEqual(['stale'])
    expect(await see(entry.id)).toMatchObject({ place: 'ready' })
    expect(await sql('select 1 from fencepost.finished')).toEqual([])
  })
})

describe('a receipt', () => {
  it('tells nothing of another one of the same receive', async () => {
    const { send, receive } = await setupSqs()
    await send(anEntry(), anEntry(), anEntry())
    expect(new Set((await receive()).map(({ nonce }) => nonce)).size).toBe(3)
  })
})

describe('a purge', () => {
  it('ends what is in flight, too', async () => {
    const { db, send, receive, remove, see, advance, sound } = await setupSqs({ visibilityTimeout: 5 })
    const entry = anEntry()
    await send(entry)
    const [message] = await receive()
    expect(await purgeQueue(db, 'q', 0)).toBe('purged')
    expect(await see(entry.id)).toMatchObject({ outcome: 'discarded', reason: 'purged' })
    expect(await remove(message!)).toEqual(['deleted'])
    await advance(5_001)
    expect(await receive()).toEqual([])
    await sound()
  })
})

describe('the settings of a queue', () => {
  it('keep a queue that is there as it is', async () => {
    const { make } = await setupSqs()
    expect(await make('q', { visibilityTimeout: 7 })).toMatchObject({ made: false, settings: plainSettings })
  })
})
