import { describe, expect, it } from 'vitest'
import { sweepMessages } from '../../src/store/sqs-messages.js'
import { createQueue, deleteQueue, purgeQueue, setQueue } from '../../src/store/sqs-queues.js'
import { untilBlocked } from '../harness/blocked.js'
import { Session } from '../harness/session.js'
import { aGrouped, anEntry, plainSettings, setupSqs } from '../harness/sqs.js'

const ids = (messages: readonly { jobId: string }[]) => messages.map(({ jobId }) => jobId)

describe('the settings of a queue', () => {
  it('are not set over a change that was made since they were read', async () => {
    const { db, sql } = await setupSqs()
    const set = (before: object, after: object) => setQueue(db, 'q', { ...plainSettings, ...before }, after)

    expect(await set({}, { ...plainSettings, delaySeconds: 1 })).toBe('set')
    expect(await set({}, { ...plainSettings, visibilityTimeout: 5 })).toBe('changed')

    expect(await sql('select settings from fencepost.sqs_queue')).toEqual([
      { settings: { ...plainSettings, delaySeconds: 1 } },
    ])
    expect(await setQueue(db, 'none', {}, {})).toBe('no_queue')
  })

  it('of a FIFO queue take effect on messages that are delayed: none is overtaken', async () => {
    const { set, send, receive } = await setupSqs({ delaySeconds: 100 }, 'q.fifo')
    const [early, late] = [aGrouped('g'), aGrouped('g')]
    await send(early)
    await set({ delaySeconds: 0 })
    await send(late)

    expect(ids(await receive())).toEqual([early.id, late.id])
  })
})

describe('a purge', () => {
  it('sets the groups of a FIFO queue free', async () => {
    const { db, send, receive, sound } = await setupSqs({}, 'q.fifo')
    await send(aGrouped('g'), aGrouped('g'), aGrouped('g'))
    await receive({ max: 2 })
    await purgeQueue(db, 'q.fifo', 60_000)
    await sound()

    const next = aGrouped('g')
    await send(next)

    expect(ids(await receive())).toEqual([next.id])
    await sound()
  })
})

describe('the sweep', () => {
  it('takes messages that are older than their queue keeps them, and no other', async () => {
    const { db, send, receive, see, advance, sound } = await setupSqs({ messageRetentionPeriod: 60 })
    const [inFlight, old, young] = [anEntry(), anEntry(), anEntry()]
    await send(inFlight)
    await receive({ visibleMs: 600_000 })
    await send(old)
    await advance(40_000)
    await send(young)
    await advance(21_000)

    expect(await sweepMessages(db, 0)).toBe(1)

    expect(await see(old.id)).toMatchObject({ outcome: 'expired', reason: 'retention_period' })
    expect(await see(young.id)).toMatchObject({ place: 'ready' })
    expect(await see(inFlight.id)).toMatchObject({ place: 'leased' })
    await sound()
  })
})

describe('to create a queue', () => {
  it('that is there, and deleted a moment later, answers which one was there', async () => {
    const bundle = await setupSqs()
    const { sql } = bundle
    const [holder, creator, deleter] = [
      await Session.open(bundle),
      await Session.open(bundle),
      await Session.open(bundle),
    ]
    // Who creates a queue waits when it has found that there is one.
    await sql(`create function wait() returns trigger language plpgsql as $$ begin
        perform pg_advisory_xact_lock_shared(42); return null; end $$;
      create trigger wait after insert on fencepost.sqs_queue for each statement execute function wait()`)
    await holder.begin()
    await holder.query('select pg_advisory_xact_lock(42)')
    const created = createQueue(creator, 'q', plainSettings, {})
    await untilBlocked(sql, creator.pid, created)
    const deleted = deleteQueue(deleter, 'q')
    await Promise.race([deleted, untilBlocked(sql, deleter.pid)])
    await holder.commit()

    expect(await created).toEqual({ made: false, id: expect.any(Number) as number, settings: plainSettings })
    expect(await deleted).toBe(true)
  })
})
