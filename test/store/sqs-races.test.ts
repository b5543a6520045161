import { describe, expect, it } from 'vitest'
import { cancel, promoteDue } from '../../src/store/control.js'
import { loseExpired } from '../../src/store/lease.js'
import {
  changeVisibility,
  deleteMessages,
  receiveMessages,
  type Send,
  sendMessages,
  sweepMessages,
} from '../../src/store/sqs-messages.js'
import { purgeQueue } from '../../src/store/sqs-queues.js'
import { type Ledger, registerServer } from '../../src/store/sqs-servers.js'
import { reapExpired } from '../../src/store/worker.js'
import { leaseIsFree } from '../harness/answers.js'
import { untilBlocked, waitersSql } from '../harness/blocked.js'
import { Session } from '../harness/session.js'
import { aGrouped, anEntry, setupSqs, stored } from '../harness/sqs.js'

const toDead = (maxReceiveCount: number) => ({
  redrivePolicy: { deadLetterTargetArn: 'arn:aws:sqs:us-east-1:000000000000:dead', maxReceiveCount },
})
const plainReceive = { queue: 'q', max: 10, visibleMs: null, receiver: 'r1', attempt: null, inFlightMax: null }

describe('two sends', () => {
  /** Two entries of whose keys, or ids of deduplication, the first comes first in every order. */
  const inOrder = (make: () => Send): [Send, Send] => {
    const [low, high] = [make(), make()]
    return [
      { ...low, key: Buffer.from(`a${low.id}`), ...(low.dedupId !== null && { dedupId: `a${low.id}` }) },
      { ...high, key: Buffer.from(`b${high.id}`), ...(high.dedupId !== null && { dedupId: `b${high.id}` }) },
    ]
  }

  it('of the same entries in another order cannot deadlock: none holds a higher key while it waits for a lower', async () => {
    const bundle = await setupSqs()
    const [first, second, third] = [await Session.open(bundle), await Session.open(bundle), await Session.open(bundle)]
    const [low, high] = inOrder(anEntry)
    await first.begin()
    await sendMessages(first, 's1', 'q', [low])

    const waiting = sendMessages(second, 's1', 'q', [high, low])
    await untilBlocked(bundle.sql, second.pid, waiting)
    expect(await sendMessages(third, 's1', 'q', [high])).toMatchObject([{ answer: 'sent' }])
    await first.commit()

    expect(await waiting).toMatchObject([{ answer: 'recorded' }, { answer: 'recorded' }])
    expect(await bundle.sql('select 1 from fencepost.job')).toHaveLength(2)
  })

  it('of the same ids of deduplication in another order cannot deadlock', async () => {
    const bundle = await setupSqs({}, 'q.fifo')
    const [first, second, third] = [await Session.open(bundle), await Session.open(bundle), await Session.open(bundle)]
    let groups = 0
    const [low, high] = inOrder(() => aGrouped(`g${++groups}`)) // of one group, they would wait for its gate
    const other = (entry: Send) => ({ ...aGrouped('other'), dedupId: entry.dedupId })
    await first.begin()
    await sendMessages(first, 's1', 'q.fifo', [low])

    const waiting = sendMessages(second, 's1', 'q.fifo', [other(high), other(low)])
    await untilBlocked(bundle.sql, second.pid, waiting)
    expect(await sendMessages(third, 's1', 'q.fifo', [high])).toMatchObject([{ answer: 'sent' }])
    await first.commit()

    expect(await waiting).toMatchObject([
      { answer: 'duplicate', messageId: high.id },
      { answer: 'duplicate', messageId: low.id },
    ])
    expect(await bundle.sql('select 1 from fencepost.job')).toHaveLength(2)
  })
})

describe('a receive', () => {
  it('answers a message that was sent while it was under way: it is not leased for nobody', async () => {
    const { connect, send, sql } = await setupSqs()
    const [other, receiver] = [await connect(), await connect()]
    // Where a receive waits for its own first try, after its statement has begun.
    const name = `(select substring(prosrc from 'xact_lock.hashtext.''([^'']*)') from pg_proc where proname = 'claim')`
    const lock = `hashtext(${name}), hashtext('r1/7')`
    await other.query(`select pg_advisory_lock(${lock})`)
    const found = receiver.query(`select job_id from fencepost.sqs_receive('q', 10, null, 'r1', null, null, 7, false)`)
    await expect.poll(() => sql(waitersSql('advisory')), { timeout: 10_000 }).not.toEqual([])
    const entry = anEntry()
    await send(entry)
    await other.query(`select pg_advisory_unlock(${lock})`)
    expect((await found).rows).toEqual([{ job_id: entry.id }])
  })

  it('waits for nobody who is at a message whose time has run out', async () => {
    const bundle = await setupSqs({ visibilityTimeout: 5 })
    await bundle.send(anEntry())
    await bundle.receive()
    await bundle.advance(5_001)
    const other = anEntry()
    await bundle.send(other)
    const [holder, receiver] = [await Session.open(bundle), await Session.open(bundle)]
    await holder.begin()
    await holder.query('select 1 from fencepost.leased for update')

    expect(await receiveMessages(receiver, plainReceive)).toMatchObject([{ jobId: other.id }])
  })

  it('brings a message of a group that somebody was at when it was sent', async () => {
    const bundle = await setupSqs({}, 'q.fifo')
    await bundle.send(aGrouped('g'))
    const received = await bundle.receive()
    const holder = await Session.open(bundle)
    await holder.begin()
    await holder.query('select 1 from fencepost.gate for update')
    await bundle.remove(...received)
    const next = aGrouped('g')
    await bundle.send(next)
    await holder.rollback()

    expect(await bundle.receive()).toMatchObject([{ jobId: next.id }])
    await bundle.sound()
  })
})

describe('a send with a rank', () => {
  it('never places a message before the one that is received next', async () => {
    const { send, receive } = await setupSqs()
    const [first, behind, late] = [0, 5, 0].map((rank) => anEntry({ group: 'tenant', rank })) as [Send, Send, Send]
    await send(first)
    expect(await send(behind)).toMatchObject([{ rank: 5 }])
    await receive({ max: 1 })

    expect(await send(late)).toMatchObject([{ answer: 'sent', rank: 5 }])

    expect((await receive()).map(({ jobId }) => jobId)).toEqual([behind.id, late.id])
  })
})

describe('a server that registers', () => {
  it('waits for another one that does, and then finds it', async () => {
    const bundle = await setupSqs()
    await bundle.sql('delete from fencepost.sqs_server')
    const [first, second] = [await Session.open(bundle), await Session.open(bundle)]
    const register = (session: Session, server: string, ledger: Ledger) =>
      registerServer(session, server, ledger, 60_000)
    await first.begin()
    expect(await register(first, 'a', 'off')).toEqual([])

    const waiting = register(second, 'b', 'on')
    await untilBlocked(bundle.sql, second.pid, waiting)
    await first.commit()

    expect(await waiting).toEqual([{ server: 'a', ledger: 'off' }])
    expect(await bundle.sql('select id from fencepost.sqs_server')).toEqual([{ id: 'a' }])
  })

  it('a second time, after a lost reply, is registered', async () => {
    const { db, sql } = await setupSqs()

    expect(await registerServer(db, 's1', 'on', 60_000)).toEqual([])

    expect(await sql('select id from fencepost.sqs_server')).toEqual([{ id: 's1' }])
  })
})

describe('a message that was received too often', () => {
  it('is not received once more where the one before it is locked', async () => {
    const { db, make, connect, set, send, receive, advance } = await setupSqs()
    await make('dead')
    const [before, often] = [anEntry({ delayMs: 5_000 }), anEntry()]
    await send(before, often)
    expect(await receive({ visibleMs: 0 })).toMatchObject([{ jobId: often.id }])
    await advance(5_001)
    await loseExpired(db)
    await promoteDue(db)
    await set(toDead(1))
    const other = await connect()
    await other.query('begin')
    await other.query('select 1 from fencepost.ready where job_id = $1 for update', [before.id])

    expect(await receive({ max: 1 })).toEqual([])
    await other.query('rollback')
  })

  it('is passed over by a receive while another one is at it, and nobody waits', async () => {
    const bundle = await setupSqs({ visibilityTimeout: 0, ...toDead(1) })
    await bundle.make('dead')
    const [often, fresh] = [anEntry(), anEntry()]
    await bundle.send(often)
    await bundle.receive()
    await loseExpired(bundle.db)
    await bundle.send(fresh)
    const [locker, receiver] = [await Session.open(bundle), await Session.open(bundle)]
    await locker.begin()
    await locker.query('select 1 from fencepost.ready where job_id = $1 for update', [often.id])

    expect(await receiveMessages(receiver, plainReceive)).toMatchObject([{ jobId: fresh.id }])
    await locker.rollback()
  })

  it('is cancelled in the queue where it is by then', async () => {
    const bundle = await setupSqs({ visibilityTimeout: 0, ...toDead(1) })
    await bundle.make('dead')
    const entry = anEntry()
    await bundle.send(entry)
    await bundle.receive()
    const [receiver, canceller] = [await Session.open(bundle), await Session.open(bundle)]
    await receiver.begin()
    expect(await receiveMessages(receiver, plainReceive)).toEqual([])

    const cancelled = cancel(canceller, [entry.id], null)
    await untilBlocked(bundle.sql, canceller.pid, cancelled)
    await receiver.commit()

    expect(await cancelled).toMatchObject([{ answer: 'cancelled' }])
    expect(await bundle.see(entry.id)).toMatchObject({ place: 'finished', outcome: 'cancelled' })
    await bundle.sound()
  })
})

describe('a delete', () => {
  it('by an old receipt of a message that was received again, and waits again, does nothing', async () => {
    const { db, send, receive, remove, see, advance } = await setupSqs({ visibilityTimeout: 5 })
    const entry = anEntry()
    await send(entry)
    const [first] = await receive()
    await advance(5_001)
    await receive()
    await advance(5_001)
    await loseExpired(db)

    expect(await remove(first!)).toEqual(['stale'])

    expect(await see(entry.id)).toMatchObject({ place: 'ready', tries: 2 })
  })

  it('by a forged receipt of a message that waits does nothing, though its count is right', async () => {
    const { db, send, receive, remove, see, advance } = await setupSqs({ visibilityTimeout: 5 })
    const entry = anEntry()
    await send(entry)
    const [message] = await receive()
    await advance(5_001)
    await reapExpired(db, 0)

    expect(await remove({ ...message!, nonce: message!.nonce + 1 })).toEqual(['invalid'])

    expect(await see(entry.id)).toMatchObject({ place: 'ready' })
  })

  it('of a message whose time is just being found to have run out deletes it where it is by then', async () => {
    const bundle = await setupSqs({ visibilityTimeout: 5 })
    const entry = anEntry()
    await bundle.send(entry)
    const received = await bundle.receive()
    await bundle.advance(5_001)
    const [rescuer, remover] = [await Session.open(bundle), await Session.open(bundle)]
    await rescuer.begin()
    expect(await loseExpired(rescuer)).toHaveLength(1)

    const deleted = deleteMessages(remover, 'q', received)
    await untilBlocked(bundle.sql, remover.pid, deleted)
    await rescuer.commit()

    expect(await deleted).toEqual(['deleted'])
    expect(await bundle.see(entry.id)).toMatchObject({ place: 'finished', outcome: 'succeeded' })
    expect(await bundle.receive()).toEqual([])
    await bundle.sound()
  })
})

describe('where the session commits asynchronously', () => {
  const off = async (bundle: Awaited<ReturnType<typeof setupSqs>>) => {
    const session = await Session.open(bundle)
    await session.query('set synchronous_commit = off')
    await session.begin()
    return session
  }
  const settingNow = 'show synchronous_commit'
  const on = [{ synchronous_commit: 'on' }]

  it('a send that is told of an earlier message is durable', async () => {
    const bundle = await setupSqs({}, 'q.fifo')
    const entry = aGrouped('g')
    await stored(bundle.send(entry))
    const session = await off(bundle)

    const again = { ...aGrouped('g'), dedupId: entry.dedupId }
    expect(await sendMessages(session, 's1', 'q.fifo', [again])).toMatchObject([{ answer: 'duplicate' }])

    expect(await session.query(settingNow)).toEqual(on)
  })

  it('a delete after the time has run out is durable', async () => {
    const bundle = await setupSqs({ visibilityTimeout: 5 })
    await bundle.send(anEntry())
    const received = await bundle.receive()
    await bundle.advance(5_001)
    await reapExpired(bundle.db, 0)
    const session = await off(bundle)

    expect(await deleteMessages(session, 'q', received)).toEqual(['deleted'])

    expect(await session.query(settingNow)).toEqual(on)
  })

  it('a change of the visibility is durable', async () => {
    const bundle = await setupSqs()
    await bundle.send(anEntry())
    const received = await bundle.receive()
    const session = await off(bundle)

    const changes = received.map((receipt) => ({ ...receipt, visibleMs: 60_000 }))
    expect(await changeVisibility(session, 'q', changes)).toEqual(['changed'])

    expect(await session.query(settingNow)).toEqual(on)
  })
})

describe('a group with two of its messages in flight', () => {
  it('does not let the head that has run out go on beside its follower', async () => {
    const { send, receive, change, remove, advance, sound } = await setupSqs({ visibilityTimeout: 5 }, 'q.fifo')
    const [a, b, c] = [aGrouped('g'), aGrouped('g'), aGrouped('g')]
    await send(a, b, c)
    const [head, follower] = await receive({ max: 2 })
    await change(60_000, follower!)
    await advance(5_001)

    expect(await receive()).toEqual([]) // it comes back, and waits for its follower
    await sound()
    expect(await remove(head!)).toEqual(['expired'])
    await remove(follower!)

    expect((await receive()).map(({ jobId }) => jobId)).toEqual([a.id, c.id])
    await sound()
  })
})

describe('the sweep', () => {
  /** Somebody is at the first of the rows of this table. */
  async function sweepBeside(table: string, bundle: Awaited<ReturnType<typeof setupSqs>>) {
    const [holder, sweeper] = [await Session.open(bundle), await Session.open(bundle)]
    await holder.begin()
    await holder.query(`select 1 from fencepost.${table} limit 1 for update`)
    await sweepMessages(sweeper, 0)
    return (await bundle.sql(`select 1 from fencepost.${table}`)).length
  }

  it('waits for nobody who is at an old row of the ledger', async () => {
    const bundle = await setupSqs()
    await bundle.send(anEntry(), anEntry())
    await bundle.advance(301_000)

    expect(await sweepBeside('sqs_sent', bundle)).toBe(1)
  })

  it('waits for nobody who is at an old id of deduplication', async () => {
    const bundle = await setupSqs({}, 'q.fifo')
    await bundle.send(aGrouped('g'), aGrouped('g'))
    await bundle.advance(301_000)

    expect(await sweepBeside('sqs_dedup', bundle)).toBe(1)
  })

  it('waits for nobody who is at an old message that waits for its group', async () => {
    const bundle = await setupSqs({ messageRetentionPeriod: 60 }, 'q.fifo')
    await bundle.send(aGrouped('g'), aGrouped('g'), aGrouped('g'))
    await bundle.receive({ max: 1, visibleMs: 600_000 })
    await bundle.advance(61_000)

    expect(await sweepBeside('waiting', bundle)).toBe(1)
  })
})

describe('leases of several messages', () => {
  /** Two messages in flight; somebody is at the first. */
  async function setupHeld() {
    const bundle = await setupSqs()
    await bundle.send(anEntry(), anEntry())
    const [first, second] = await bundle.receive()
    if (!first || !second) throw new Error('there were no two messages')
    const [holder, waiter] = [await Session.open(bundle), await Session.open(bundle)]
    const hold = async () => {
      await holder.begin()
      await holder.query('select 1 from fencepost.leased where lease_id = $1 for update', [first.leaseId])
    }
    /** What waits for the first must not hold the second: who has locked the first may want it next. */
    const waits = async (waiting: Promise<unknown>) => {
      await untilBlocked(bundle.sql, waiter.pid, waiting)
      expect(await bundle.sql(leaseIsFree, [second.leaseId])).toEqual([{ free: true }])
      await holder.rollback()
      return waiting
    }
    return { ...bundle, first, second, waiter, hold, waits }
  }

  it('are made to last longer in their order, whatever the order of the receipts', async () => {
    const { first, second, waiter, hold, waits } = await setupHeld()
    await hold()

    const changes = [second, first].map((receipt) => ({ ...receipt, visibleMs: 60_000 }))
    expect(await waits(changeVisibility(waiter, 'q', changes))).toEqual(['changed', 'changed'])
  })

  it('are ended by a purge in their order, whenever they run out', async () => {
    const { first, waiter, change, hold, waits } = await setupHeld()
    await change(60_000, first) // now it is the last to run out
    await hold()

    expect(await waits(purgeQueue(waiter, 'q', 60_000))).toBe('purged')
  })
})
