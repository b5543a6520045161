import { randomUUID } from 'node:crypto'
import { describe, expect, it, onTestFinished } from 'vitest'
import { promoteDue } from '../../src/store/control.js'
import { Database } from '../../src/store/database.js'
import {
  changeVisibility,
  deleteMessages,
  readNextVisibleMs,
  receiveMessages,
  sendMessages,
  sweepMessages,
} from '../../src/store/sqs-messages.js'
import { startMoveTask } from '../../src/store/sqs-move-tasks.js'
import { deleteQueue, purgeQueue, setQueue } from '../../src/store/sqs-queues.js'
import { Session } from '../harness/session.js'
import { untilBlocked, untilBlockedBy } from '../harness/blocked.js'
import { aGrouped, anEntry, setupSqs } from '../harness/sqs.js'

const arn = (name: string) => `arn:aws:sqs:us-east-1:000000000000:${name}`
const fifo = (settings: object = {}) => setupSqs({ contentBasedDeduplication: false, ...settings }, 'q.fifo')
const ids = (messages: readonly { jobId: string }[]) => messages.map(({ jobId }) => jobId)
const ask = { max: 10, visibleMs: null, receiver: 'r1', attempt: null, inFlightMax: null }

describe('a receipt', () => {
  it('that is forged does not keep the true one of the same lease, in the same statement, from deleting', async () => {
    const { send, receive, remove, see, sql } = await setupSqs()
    await send(anEntry())
    const [message] = await receive()
    const ofAnother = { ...message!, jobId: '00000000-0000-4000-8000-000000000000', nonce: 1 }
    const guessed = { ...message!, nonce: 1 }
    expect(await remove(ofAnother, message!, guessed)).toEqual(['invalid', 'deleted', 'invalid'])
    expect(await see(message!.jobId)).toMatchObject({ outcome: 'succeeded' })
    expect(await sql('select 1 from fencepost.attempt')).toEqual([]) // a guess leaves no trace by which it would be known
  })

  it('that is forged does not change the visibility by the true one of the same lease', async () => {
    const { db, send, receive, sql } = await setupSqs()
    await send(anEntry())
    const [message] = await receive()
    const forged = { ...message!, nonce: 1, visibleMs: 3_600_000 }
    for (const visibleMs of [60_000, 0]) {
      expect(await changeVisibility(db, 'q', [forged, { ...message!, visibleMs }, forged])).toEqual([
        'invalid',
        'changed',
        'invalid',
      ])
      expect(await sql(`select 1 from fencepost.leased where lease_ms > 60000`)).toEqual([])
    }
    expect(await sql('select 1 from fencepost.leased')).toEqual([])
  })

  it('is of its queue: with the number of another queue in it, nothing is deleted or changed there', async () => {
    const { db, make, send, receive, see, sql } = await setupSqs()
    const { id: queueId } = await make('other')
    await send(anEntry())
    const [message] = await receive()
    expect(await deleteMessages(db, 'other', [{ ...message!, queueId }])).toEqual(['invalid'])
    expect(await changeVisibility(db, 'other', [{ ...message!, queueId, visibleMs: 0 }])).toEqual(['invalid'])
    expect(await see(message!.jobId)).toMatchObject({ place: 'leased' })
    expect(await sql('select 1 from fencepost.attempt')).toEqual([])
  })
})

describe('the next time to look', () => {
  it('is told, however far away it is', async () => {
    const { db, add } = await setupSqs()
    await add({ delayMs: 60 * 86_400_000 })
    expect(await readNextVisibleMs(db, 'q')).toBeGreaterThan(59 * 86_400_000)
  })
})

describe('jobs that no client of SQS has sent, in a FIFO queue', () => {
  const redrivePolicy = { deadLetterTargetArn: arn('dead.fifo'), maxReceiveCount: 1 }

  it('become dead letters, and do not stop all others', async () => {
    const { make, add, send, receive, see, sql, sound } = await fifo({ visibilityTimeout: 0, redrivePolicy })
    await make('dead.fifo')
    const plain = await add({ queue: 'q.fifo', task: 'q.fifo' })
    const gates = JSON.stringify([{ key: 'gate:api', limit: 3, onFull: 'wait' }])
    const gated = await add({ queue: 'q.fifo', task: 'q.fifo', gatesText: gates })
    expect(ids(await receive())).toEqual([plain, gated])
    const message = aGrouped('g')
    await send(message)
    expect(ids(await receive())).toEqual([message.id])
    expect(await see(plain)).toMatchObject({ place: 'ready' })
    expect(
      await sql('select queue, gates from fencepost.job where id = any ($1) order by seq', [[plain, gated]]),
    ).toEqual([
      { queue: 'dead.fifo', gates: null },
      { queue: 'dead.fifo', gates: JSON.parse(gates) as unknown },
    ])
    await sound()
  })

  it('are brought back from the dead-letter queue', async () => {
    const { db, make, add, sql, sound } = await fifo({ redrivePolicy })
    await make('dead.fifo')
    await add({ queue: 'dead.fifo', task: 'dead.fifo' })
    await startMoveTask(db, { id: randomUUID(), source: 'dead.fifo', destination: 'q.fifo', perSecond: null })
    await sql('select fencepost.sqs_move_messages()')
    expect(await sql(`select gates from fencepost.job where queue = 'q.fifo'`)).toEqual([{ gates: null }])
    await sound()
  })

  it('bring along no followers of a gate that they share with other queues', async () => {
    const { add, receive, see, sql, sound } = await fifo()
    const gatesText = JSON.stringify([{ key: 'gate:api', limit: 1, onFull: 'wait' }])
    const [first, second, elsewhere] = [
      await add({ queue: 'q.fifo', gatesText }),
      await add({ queue: 'q.fifo', gatesText }),
      await add({ queue: 'default', gatesText }),
    ]
    expect(ids(await receive())).toEqual([first])
    expect(await see(second)).toMatchObject({ place: 'waiting' })
    expect(await see(elsewhere)).toMatchObject({ place: 'waiting' })
    expect(await sql('select held from fencepost.gate')).toEqual([{ held: 1 }])
    await sound()
  })
})

describe('a queue that is deleted', () => {
  it('takes a message along that comes back while it is being emptied', async () => {
    const bundle = await setupSqs()
    const { connect, send, receive, change, sql, placesOf } = bundle
    await send(anEntry())
    const [message] = await receive({ visibleMs: 600_000 })
    const locked = anEntry()
    await send(locked)
    const other = await connect()
    await other.query('begin')
    await other.query('select 1 from fencepost.ready where job_id = $1 for update', [locked.id])
    const client = await Session.open(bundle)
    const deleting = client.query(`select fencepost.sqs_delete_queue('q')`)
    await untilBlocked(sql, client.pid, deleting)
    expect(await change(0, message!)).toEqual(['changed'])
    await other.query('commit')
    await deleting
    expect(await placesOf(message!.jobId)).toEqual(['finished'])
    expect(await placesOf(locked.id)).toEqual(['finished'])
  })

  it('gets no dead letter from a receive that saw it', async () => {
    const bundle = await setupSqs({
      visibilityTimeout: 0,
      redrivePolicy: { deadLetterTargetArn: arn('dead'), maxReceiveCount: 1 },
    })
    const { make, send, receive, sql } = bundle
    await make('dead')
    await send(anEntry())
    await receive()
    const [receiver, remover] = [await Session.open(bundle), await Session.open(bundle)]
    await receiver.begin()
    await receiveMessages(receiver, { ...ask, queue: 'q' })
    const deleting = deleteQueue(remover, 'dead')
    await untilBlockedOrDone(sql, remover, deleting)
    await receiver.commit()
    expect(await deleting).toBe(true)
    expect(await sql(`select 1 from fencepost.ready where queue = 'dead'`)).toEqual([])
  })
})

describe('the order of a group', () => {
  it('is that of the sequence numbers, also if an earlier send commits later', async () => {
    const bundle = await fifo()
    const { send, receive, remove, sql } = bundle
    const slow = await Session.open(bundle)
    const [head, a, b] = [aGrouped('g'), aGrouped('g'), aGrouped('g')]
    await send(head)
    const inFlight = await receive()
    await slow.begin()
    await sendMessages(slow, 's1', 'q.fifo', [a])
    const sending = send(b)
    await Promise.race([sending, untilBlockedBy(sql, slow)])
    await remove(...inFlight)
    const early = await receive()
    await slow.commit()
    await sending
    if (early.length > 0) await remove(...early)
    const all = [...early, ...(await receive())]
    expect(all.map(({ seq }) => seq)).toEqual(all.map(({ seq }) => seq).sort((x, y) => x - y))
    expect(ids(all)).toEqual([a.id, b.id])
  })

  it('is kept when two processes promote what was delayed', async () => {
    const bundle = await fifo({ delaySeconds: 10 })
    const { db, send, receive, remove, advance } = bundle
    const [head, a, b] = [aGrouped('g'), aGrouped('g'), aGrouped('g')]
    await send(head)
    await advance(10_001)
    const inFlight = await receive({ visibleMs: 600_000 })
    await send(a)
    await advance(5_000)
    await send(b)
    await advance(5_001)
    const slow = await Session.open(bundle)
    await slow.begin()
    expect(await promoteDue(slow)).toHaveLength(1)
    await advance(5_001)
    await promoteDue(db)
    await remove(...inFlight)
    const early = await receive()
    await slow.commit()
    await remove(...early)
    expect(ids([...early, ...(await receive())])).toEqual([a.id, b.id])
  })

  it('is kept when the delay of the queue is lowered while a message is being sent', async () => {
    const bundle = await fifo({ delaySeconds: 600 })
    const { db, send, receive, sql } = bundle
    const [a, b] = [aGrouped('g'), aGrouped('g')]
    const slow = await Session.open(bundle)
    await slow.begin()
    await sendMessages(slow, 's1', 'q.fifo', [a])
    const before = (await sql<{ settings: object }>('select settings from fencepost.sqs_queue'))[0]!.settings
    const setting = setQueue(db, 'q.fifo', before, { ...before, delaySeconds: 0 })
    await Promise.race([setting, untilBlockedBy(sql, slow)])
    await slow.commit()
    expect(await setting).toBe('set')
    await send(b)
    expect(ids(await receive())).toEqual([a.id, b.id])
  })
})

describe('sqs_sweep', () => {
  it('waits for nobody who has locked a message', async () => {
    const bundle = await setupSqs({ messageRetentionPeriod: 60 })
    const { connect, send, advance } = bundle
    const [a, b] = [anEntry(), anEntry()]
    await send(a, b)
    await advance(61_000)
    const other = await connect()
    await other.query('begin')
    await other.query('select 1 from fencepost.ready where job_id = $1 for update', [a.id])
    const sweeper = await Session.open(bundle)
    expect(await sweepMessages(sweeper, 0)).toBe(1)
    await other.query('rollback')
    expect(await sweepMessages(sweeper, 0)).toBe(1)
  })

  it('finds an old message of a group behind any number of young ones of other groups', async () => {
    const { sql, send, receive, see, advance, sound } = await fifo({ messageRetentionPeriod: 60 })
    const [head, old] = [aGrouped('z'), aGrouped('z')]
    await send(head, old)
    await receive({ max: 1, visibleMs: 600_000 })
    await advance(61_000)
    await send(...Array.from({ length: 150 }, () => aGrouped('a')))
    expect(await sql('select fencepost.sqs_sweep(300000, 1) as n')).toEqual([{ n: 1 }])
    expect(await see(old.id)).toMatchObject({ outcome: 'expired' })
    await sound()
  })
})

describe('a message without a group, in a standard queue with groups', () => {
  it('is not placed before the one that is received next', async () => {
    const { send, receive } = await setupSqs()
    const [first, next] = [anEntry({ group: 'a', rank: 0 }), anEntry({ group: 'a', rank: 1 })]
    await send(first)
    await send(next)
    expect(ids(await receive({ max: 1 }))).toEqual([first.id])
    await send(anEntry())
    expect(ids(await receive({ max: 1 }))).toEqual([next.id])
  })
})

describe('sqs_move_messages', () => {
  it('has nothing to do at the moment if all that is left is locked', async () => {
    const { db, connect, make, sendTo, sql } = await setupSqs({
      redrivePolicy: { deadLetterTargetArn: arn('dead'), maxReceiveCount: 1 },
    })
    await make('dead')
    const entry = anEntry()
    await sendTo('dead', entry)
    await startMoveTask(db, { id: randomUUID(), source: 'dead', destination: 'q', perSecond: null })
    const other = await connect()
    await other.query('begin')
    await other.query('select 1 from fencepost.ready where job_id = $1 for update', [entry.id])
    const move = 'select fencepost.sqs_move_messages() as more'
    expect(await sql(move)).toEqual([{ more: false }])
    await other.query('rollback')
    expect(await sql(move)).toEqual([{ more: true }])
    expect(await sql(`select status from fencepost.sqs_move_task`)).toEqual([{ status: 'RUNNING' }])
    await sql(move)
    expect(await sql(`select status from fencepost.sqs_move_task`)).toEqual([{ status: 'COMPLETED' }])
  })
})

describe('a receive attempt', () => {
  it('that comes again gets no more than it got before', async () => {
    const { send, receive } = await fifo()
    await send(aGrouped('g'))
    const first = await receive({ attempt: 'x' })
    await send(aGrouped('g'), aGrouped('h'))
    expect(ids(await receive({ attempt: 'x' }))).toEqual(ids(first))
  })
})

describe('what a receive looks at', () => {
  it('does not grow with what is in flight or delayed', async () => {
    const { db, sql, send, receive } = await setupSqs()
    await send(anEntry())
    await sql(
      `insert into fencepost.leased (lease_id, nonce, job_id, seq, claimed_at, expires_at, visible_at, lease_ms, tries, releases,
         priority, failures, losses, failures_max, losses_max, queue, task, worker)
       select 1000000 + i, 1, gen_random_uuid(), i, now(), now() + interval '1 day', now() + interval '1 day', 1, 1, 0, 0, 0, 0, 0,
         0, 'q', 'q', 'w' from generate_series(1, 100000) i`,
    )
    await sql(
      `insert into fencepost.delayed (job_id, due_at, seq, tries, releases, priority, failures, losses, failures_max, losses_max,
         queue, task)
       select gen_random_uuid(), now() + interval '1 day', i, 0, 0, 0, 0, 0, 0, 0, 'q', 'q' from generate_series(1, 100000) i`,
    )
    await receive({ visibleMs: 0 })
    const client = await db.transaction(async (tx) => {
      await tx.query(`set local track_functions = 'all'`)
      await tx.query(`select * from fencepost.sqs_receive('q', 10, 0)`)
      const { rows } = await tx.query<{ n: number }>(
        `select sum(pg_stat_get_xact_function_calls(p.oid))::integer as n from pg_proc p where p.proname = 'clock'`,
      )
      return rows[0]?.n ?? 0
    })
    expect(client).toBeLessThan(1_000)
  })
})

describe('a reply that was lost', () => {
  /** Every move is carried out, its reply lost, and asked again. */
  class Lossy extends Database {
    override async move<Row>(sql: string, values: (again: boolean) => unknown[]): Promise<Row[]> {
      await super.move(sql, () => values(false))
      return super.move(sql, () => values(true))
    }
  }
  const lossy = async (name: string) => {
    const bundle = await setupSqs({}, name)
    const db = new Lossy({ url: bundle.url })
    onTestFinished(() => db.close())
    return { ...bundle, db }
  }

  it('hides no message from the receiver', () => hidesNothing('q'))
  it('hides no message of a FIFO queue from the receiver', () => hidesNothing('q.fifo'))

  const hidesNothing = async (queue: string) => {
    const { db, send, sql, sound } = await lossy(queue)
    const sent = [aGrouped('g'), aGrouped('h'), aGrouped('i')]
    await send(...sent)
    const found = await receiveMessages(db, { ...ask, queue })
    expect(found).toMatchObject(sent.map(({ id }) => ({ jobId: id, tries: 1 })))
    const next = aGrouped('j')
    await send(next)
    expect(await receiveMessages(db, { ...ask, queue })).toMatchObject([{ jobId: next.id }])
    expect(await sql('select 1 from fencepost.leased')).toHaveLength(4)
    await sound()
  }

  it('makes no error of a purge, a change or a deletion that was carried out', async () => {
    const { db, sql } = await lossy('q')
    expect(await purgeQueue(db, 'q', 60_000)).toBe('purged')
    expect(await purgeQueue(db, 'other', 60_000)).toBe('no_queue')
    const before = (await sql<{ settings: object }>('select settings from fencepost.sqs_queue'))[0]!.settings
    expect(await setQueue(db, 'q', before, { ...before, policy: 'p' })).toBe('set')
    expect(await setQueue(db, 'q', before, { ...before, policy: 'x' })).toBe('changed')
    expect(await deleteQueue(db, 'q')).toBe(true)
  })
})

/** Until it waits, or has ended. */
async function untilBlockedOrDone(
  sql: Parameters<typeof untilBlocked>[0],
  session: Session,
  call: Promise<unknown>,
): Promise<void> {
  await untilBlocked(sql, session.pid, call).catch(() => {})
}
