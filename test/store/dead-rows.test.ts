import { describe, expect, it } from 'vitest'
import { markOverrun } from '../../src/store/control.js'
import type { Database } from '../../src/store/database.js'
import { enqueue } from '../../src/store/enqueue.js'
import { type ClaimedLease, claim, extend, start } from '../../src/store/lease.js'
import { fail, finish, release } from '../../src/store/settle.js'
import {
  changeVisibility,
  deleteMessages,
  type Receipt,
  receiveMessages,
  sendMessages,
} from '../../src/store/sqs-messages.js'
import { createQueue } from '../../src/store/sqs-queues.js'
import { registerServer } from '../../src/store/sqs-servers.js'
import { takeTurnStoring } from '../../src/store/turn.js'
import { readLeaseNews } from '../../src/store/worker.js'
import { gates, setupGates } from '../harness/gates.js'
import { Session } from '../harness/session.js'
import { aJob } from '../harness/setup.js'
import { anEntry, plainSettings, stored } from '../harness/sqs.js'

type Table = 'ready' | 'leased' | 'waiting'
const few = 30

async function setupDeadRows() {
  const bundle = await setupGates()
  const { db, sql } = bundle
  const enqueueMany = (jobs: number, queue = 'default') =>
    sql(
      `select fencepost.enqueue_many(array_agg(fencepost.new_id()), array_agg('test'::text), array_agg('{}'::jsonb),
         array_agg($2::text), array_agg(0::smallint), array_agg(0::bigint), array_agg(1::smallint),
         array_agg(1::smallint), array_agg(30000))
       from generate_series(1, $1)`,
      [jobs, queue],
    )
  const doAll = async () => {
    const leases = await claim(db, { queue: 'default', limit: 1_000_000, worker: 'w1' })
    await finish(
      db,
      leases.map((lease) => ({ ...lease, resultText: '1' })),
    )
  }
  return {
    ...bundle,
    enqueueMany,
    doAll,
    /** Somebody reads for hours: what is deleted from now on stays. */
    async keepDead() {
      const reporter = await Session.open(bundle)
      await reporter.begin('repeatable read')
      await reporter.query('select 1')
    },
    /** How many blocks of a table and of its index something reads. */
    async blocks(session: Session, table: Table, work: () => Promise<unknown>): Promise<number> {
      const fetched = async () => {
        const [row] = await session.query<{ n: number }>(
          `select pg_stat_get_xact_blocks_fetched('fencepost.${table}'::regclass)
                + pg_stat_get_xact_blocks_fetched('fencepost.${table}_pkey'::regclass) as n`,
        )
        return row?.n as number
      }
      await session.begin()
      const before = await fetched()
      await work()
      const after = await fetched()
      await session.commit()
      return after - before
    },
  }
}

const inTurn = (session: Session, turn: number, limit: number, suspects: number | null = null) =>
  session.query<{ job_id: string }>(
    `select job_id from fencepost.claim('default', $2, 'w1', null, $1, false, $2, $3)`,
    [turn, limit, suspects],
  )
const marksOf = async (session: Session) => {
  const [row] = await session.query<{ marks: string | null }>(
    `select current_setting('fencepost_claim.marks', true) as marks`,
  )
  return row?.marks
}

/** The next look from the beginning is not due before the test has ended. */
const putOffNextLook = (session: Session) =>
  session.query(`select set_config('fencepost_claim.marks', regexp_replace(
    coalesce(current_setting('fencepost_claim.marks', true), ''),
    '"until": [0-9.]+', '"until": ' || extract(epoch from fencepost.clock()) + 1.9), false)`)

describe('a look from the beginning that takes long', () => {
  const most = 150
  /** Two sessions of a worker that begin behind dead rows, and are due to look from the beginning. */
  async function setupLooks() {
    const bundle = await setupDeadRows()
    const { db, sql, enqueueMany, doAll, keepDead, blocks } = bundle
    await keepDead()
    await enqueueMany(60_000)
    await doAll()
    await enqueueMany(40)
    const early = await claim(db, { queue: 'default', limit: 40, worker: 'w2' })
    await enqueueMany(1_000)
    const [one, other] = [await Session.open(bundle), await Session.open(bundle)]
    await inTurn(one, 1, 10)
    await sql('delete from fencepost.look')
    await inTurn(other, 2, 10)
    await sql('delete from fencepost.look')
    let turn = 3
    const bundled = {
      ...bundle,
      early,
      one,
      other,
      turns: (session: Session, limit = 10) => inTurn(session, turn++, limit),
      /** How many blocks of `ready` its next claim reads. */
      reads: (session: Session, limit = 10) => blocks(session, 'ready', () => inTurn(session, turn++, limit)),
      /** Since so many seconds. */
      due: (session: Session, seconds = 0.1) =>
        session.query(`select set_config('fencepost_claim.marks', regexp_replace(regexp_replace(
          current_setting('fencepost_claim.marks'), '"until": [0-9.]+', '"until": ' || extract(epoch from fencepost.clock()) - ${seconds}),
          '"next": [0-9.]+', '"next": null'), false)`),
      /** What a turn of its worker is told, if it finds nothing that it may see: in how many milliseconds it is to look. */
      unseen: async (session: Session) => {
        const told = await session.query<{ turn: string }>(`select fencepost.turn('w1', ${turn++}, false, null,
          null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null,
          '{default}', '{1}', '{1}', 1, false)`)
        return told.map((row) => JSON.parse(row.turn) as unknown[])
      },
    }
    for (const session of [one, other]) await bundled.due(session)
    return bundled
  }

  /** More than there are. */
  const all = 2_000

  it('is made by one session for all who look for the same', async () => {
    const { one, other, reads, enqueueMany, sql } = await setupLooks()

    expect(await reads(one, all)).toBeGreaterThan(most)
    await enqueueMany(100)
    await sql(`update fencepost.look set until = fencepost.clock() + interval '4 s'`) // the test need not be fast
    expect(await reads(other)).toBeLessThan(most)
  })

  it('is made by each who looks for something else', async () => {
    const { one, other, reads, enqueueMany, sql } = await setupLooks()
    await reads(one, all)
    await enqueueMany(100)
    await sql(`update fencepost.look set until = fencepost.clock() + interval '4 s', key = key || '/other'`)

    expect(await reads(other)).toBeGreaterThan(most)
  })

  it('is not made while another session is at it', async () => {
    const { one, other, reads, turns } = await setupLooks()
    await one.begin()
    await turns(one)

    expect(await reads(other)).toBeLessThan(most)
  })

  it('is made, and waits for nobody, if the session that is at it has been stopped', async () => {
    const { db, one, other, reads, turns, due, enqueueMany } = await setupLooks()
    await claim(db, { queue: 'default', limit: 970, worker: 'w3' })
    await one.begin()
    await turns(one, all)
    await enqueueMany(5)
    await due(other, 11)

    expect(await reads(other, all)).toBeGreaterThan(most)
  })

  it('is made, if the clock was set back by weeks since another was', async () => {
    const { one, other, turns, unseen, due, sql } = await setupLooks()
    await turns(one, all)
    const ahead = `fencepost.clock() + interval '30 days'`
    await sql(`update fencepost.look set until = ${ahead}, next = ${ahead}`)
    await due(other, -1)

    expect(await unseen(other)).toEqual([])
  })

  it('is made again at once by who took the oldest alone', async () => {
    const { db, one, turns, unseen, early } = await setupLooks()
    await claim(db, { queue: 'default', limit: all, worker: 'w3' })
    await release(db, early, 'shutdown')

    expect(await turns(one, 1)).toEqual([{ job_id: early[0]?.jobId }])
    expect(await unseen(one)).toEqual([expect.arrayContaining(['lease', early[1]?.jobId])])
  })

  /** In how many seconds the next look is due, after one that took so long, and took a job. */
  async function dueIn(session: Session, took: string): Promise<{ until: number; next: number | null }> {
    await session.query(
      `select fencepost.mark_claimed('default', null, array(select ctid from fencepost.ready limit 1), true, $1, true)`,
      [took],
    )
    const [due] = await session.query<{ until: number; next: number | null }>(
      `select (m.value ->> 'until')::float8 - extract(epoch from fencepost.clock())::float8 as until,
              (m.value ->> 'next')::float8 - extract(epoch from fencepost.clock())::float8 as next
       from jsonb_each(current_setting('fencepost_claim.marks')::jsonb) m`,
    )
    return due as NonNullable<typeof due>
  }

  it('takes a twentieth of the time at most', async () => {
    const { one } = await setupLooks()

    expect((await dueIn(one, '1 s')).until).toBeGreaterThan(15)
  })

  it('is made by others, too, if it finds more than one session can take', async () => {
    const { db, one, other, turns, early } = await setupLooks()
    await release(db, early, 'shutdown')
    const ids = [...(await turns(one)), ...(await turns(other))].map(({ job_id }) => job_id)

    expect(ids).toEqual(early.slice(0, 20).map(({ jobId }) => jobId))
  })

  it('is made by others, too, if a new session has found as much as it can take', async () => {
    const bundle = await setupLooks()
    const { db, other, turns, early } = bundle
    await release(db, early, 'shutdown')
    const ids = [...(await turns(await Session.open(bundle))), ...(await turns(other))].map(({ job_id }) => job_id)

    expect(ids).toEqual(early.slice(0, 20).map(({ jobId }) => jobId))
  })

  it('is made by others, too, if a group was full there', async () => {
    const { sql, db, add, enqueueMany, one, other, due } = await setupLooks()
    const claims = async (session: Session, turn: number, worker: string, limit = 10) => {
      const leases = await session.query<{ job_id: string }>(
        `select job_id from fencepost.claim('default', $3, $2, null, $1, false, 10, 0)`,
        [turn, worker, limit],
      )
      return leases.map(({ job_id }) => job_id)
    }
    for (const worker of ['w1', 'w2']) await sql(`select fencepost.register($1, 1, 'h', '0', '{}', '{}')`, [worker])
    await claim(db, { queue: 'default', limit: 2_000, worker: 'w3' })
    const grouped = { gatesText: gates({ key: 'group:g', limit: 5, local: 1 }) }
    const [first, second] = [await add(grouped), await add(grouped)]
    const early = [
      ...(await claim(db, { queue: 'default', limit: 1, worker: 'w4' })),
      ...(await claim(db, { queue: 'default', limit: 1, worker: 'w5' })),
    ]
    await enqueueMany(100)
    expect(await claims(one, 11, 'w1')).toHaveLength(10)
    expect(await claims(other, 12, 'w2')).toHaveLength(10)
    await release(db, early, 'shutdown')
    await sql('delete from fencepost.look')
    for (const session of [one, other]) await due(session)

    expect(await claims(one, 13, 'w1', all)).toContain(first)
    await enqueueMany(100)
    await sql(`update fencepost.look set until = fencepost.clock() + interval '4 s'`) // if it was told
    expect(await claims(other, 14, 'w2')).toContain(second)
  })

  it('is not told to others by a session whose write could fail', async () => {
    const { one, other, turns, enqueueMany, sql } = await setupLooks()
    await turns(one, all)
    await enqueueMany(100)
    await sql(`update fencepost.look set until = 'epoch'`)
    await other.begin('repeatable read')
    await other.query('select 1')
    await sql(`update fencepost.look set until = 'epoch'`)

    expect(await turns(other, all)).toHaveLength(100)
  })

  it('is not made because there is nothing beyond the marks, if another has just found nothing', async () => {
    const { db, one, other, unseen, due, turns, sql } = await setupLooks()
    await claim(db, { queue: 'default', limit: 2_000, worker: 'w3' })
    expect(await turns(one)).toEqual([]) // looks, and tells others; what it tells is put off here, so that the test need not be fast
    const now = 'fencepost.clock()'
    await sql(
      `update fencepost.look set until = ${now} + interval '4 s', next = ${now} + interval '1.9 s' where next is not null`,
    )
    await due(other, -1)

    expect(await unseen(other)).toEqual([['unseen', expect.any(Number)]])
    await sql('delete from fencepost.look')
    await due(other, -1)
    expect(await unseen(other)).toEqual([])
  })

  it('is not made again at once because there is nothing beyond what it has found', async () => {
    const { one } = await setupLooks()

    expect((await dueIn(one, '300 ms')).next).toBeGreaterThan(1)
    expect((await dueIn(one, '3 ms')).next, 'but if it costs little').toBeNull()
  })
})

it('a claim that looks for the oldest job, too, passes over dead rows once', async () => {
  const bundle = await setupDeadRows()
  const { enqueueMany, doAll, keepDead, blocks } = bundle
  await enqueueMany(100)
  const first = await Session.open(bundle)
  const alone = await blocks(first, 'ready', () => inTurn(first, 1, 100))
  await keepDead()
  await enqueueMany(10_000)
  await doAll()
  await enqueueMany(100)
  const session = await Session.open(bundle)
  const walk = await blocks(session, 'ready', () =>
    session.query(`set local enable_seqscan = off; set local enable_bitmapscan = off;
      select seq from fencepost.ready where queue = 'default' order by priority, seq limit 1`),
  )
  expect(walk).toBeGreaterThan(100)

  const taken = await blocks(session, 'ready', () => inTurn(session, 2, 100))

  expect(taken - alone).toBeLessThan(walk * 1.5)
})

it('a claim of many begins where it has come to, once pages of dead rows lie before that', async () => {
  const bundle = await setupDeadRows()
  const { enqueueMany, doAll } = bundle
  await enqueueMany(40_000)
  await doAll()
  await enqueueMany(2_000)
  const session = await Session.open(bundle)

  await inTurn(session, 1, 1_000)

  expect(await marksOf(session)).toMatch(/seq/)
})

it('a job whose group was full is not hidden by the mark of what was taken behind it', async () => {
  const bundle = await setupDeadRows()
  const { sql, add, enqueueMany, doAll, keepDead } = bundle
  await sql(`select fencepost.register('w1', 1, 'h', '0', '{}', '{}')`)
  await keepDead()
  await enqueueMany(5_000)
  await doAll()
  const grouped = { gatesText: gates({ key: 'group:g', limit: 5, local: 1 }) }
  const [one, two] = [await add(grouped), await add(grouped)]
  const plain = [await add(), await add()]
  const session = await Session.open(bundle)
  const ids = async (turn: number) => (await inTurn(session, turn, 2, 0)).map(({ job_id }) => job_id)

  expect(await ids(1)).toEqual([one, plain[0]])
  await sql('delete from fencepost.leased where job_id = $1', [one])
  await putOffNextLook(session)
  expect(await ids(2)).toEqual([two, plain[1]])
})

it('jobs of a group that another claim of the process was counting are not hidden by the mark of what was taken behind them', async () => {
  const bundle = await setupDeadRows()
  const { sql, add, enqueueMany, doAll, keepDead } = bundle
  await sql(`select fencepost.register('w1', 1, 'h', '0', '{}', '{}')`)
  await keepDead()
  await enqueueMany(5_000)
  await doAll()
  const grouped = { gatesText: gates({ key: 'group:g', limit: 5, local: 5 }) }
  const [one, two] = [await add(grouped), await add(grouped)]
  const plain = [await add(), await add()]
  const [session, other] = [await Session.open(bundle), await Session.open(bundle)]
  const ids = async (by: Session, turn: number) => (await inTurn(by, turn, 1, 0)).map(({ job_id }) => job_id)

  await other.begin()
  expect(await ids(other, 1)).toEqual([one])
  expect(await ids(session, 2)).toEqual([plain[0]])
  await other.commit()
  await putOffNextLook(session)
  expect(await ids(session, 3)).toEqual([two])
})

it('the oldest job hides nothing that comes before it', async () => {
  const bundle = await setupDeadRows()
  const { sql, add, enqueueMany, doAll, keepDead } = bundle
  await sql(`select fencepost.register('w1', 1, 'h', '0', '{}', '{}')`)
  await keepDead()
  await enqueueMany(5_000)
  await doAll()
  const grouped = { gatesText: gates({ key: 'group:g', limit: 5, local: 5 }) }
  const [one, two] = [await add(grouped), await add(grouped)]
  const plain = [await add(), await add()]
  const session = await Session.open(bundle)
  const ids = async (turn: number) => (await inTurn(session, turn, 2, 0)).map(({ job_id }) => job_id)

  // Of a group none is taken for being the oldest: its process may have no room for it.
  expect(await ids(17)).toEqual([plain[0], one])
  await putOffNextLook(session)
  expect(await ids(18)).toEqual([two, plain[1]])
})

/** It hands over what the job has held. */
const finishHere = (session: Session, jobId: string) =>
  session.query(
    `select fencepost.finish(array[l.job_id], array[l.lease_id], array[l.nonce], array['1'::jsonb], true)
     from fencepost.leased l where l.job_id = $1`,
    [jobId],
  )

/** A session that holds the gate, and has a mark behind who waits at it; who waits is handed the slot by it. */
async function setupHandOver(order: 'waits before the mark' | 'waits behind it') {
  const bundle = await setupDeadRows()
  const { add, gated, enqueueMany, doAll, keepDead } = bundle
  await keepDead()
  await enqueueMany(5_000)
  await doAll()
  const holder = await gated()
  const early = order === 'waits before the mark' ? await gated() : undefined
  const plain = [await add(), await add()]
  const waiter = early ?? (await gated())
  const session = await Session.open(bundle)
  const ids = async (turn: number, limit: number) => (await inTurn(session, turn, limit)).map(({ job_id }) => job_id)
  expect(await ids(1, 1)).toEqual([holder])
  expect(await ids(2, 1)).toEqual([plain[0]])
  await putOffNextLook(session)
  await finishHere(session, holder)
  return { waiter, plain, claimed: await ids(3, 2) }
}

it('a job that a session has handed a slot is found by its next claim, though it lies before the mark of that', async () => {
  const { waiter, plain, claimed } = await setupHandOver('waits before the mark')
  expect(claimed).toEqual([waiter, plain[1]])
})

it('a job that a session has handed a slot beyond its mark hides nothing that lies between', async () => {
  const { waiter, plain, claimed } = await setupHandOver('waits behind it')
  expect(claimed).toEqual([plain[1], waiter])
})

it('a mark does not go back over thousands of dead rows, to a job that has waited for long', async () => {
  const bundle = await setupDeadRows()
  const { add, gated, enqueueMany, doAll, keepDead, blocks } = bundle
  const holder = await gated()
  await gated()
  const session = await Session.open(bundle)
  const ids = async (turn: number) => (await inTurn(session, turn, 1)).map(({ job_id }) => job_id)
  expect(await ids(1)).toEqual([holder])
  await keepDead()
  await enqueueMany(5_000)
  await doAll()
  const plain = [await add(), await add()]
  expect(await ids(2)).toEqual([plain[0]])
  await putOffNextLook(session)
  await finishHere(session, holder)

  const read = await blocks(session, 'ready', async () => expect(await ids(3)).toEqual([plain[1]]))

  expect(read).toBeLessThan(few)
})

it('a mark goes back to what is ready, and not to what goes on to its next gate', async () => {
  const bundle = await setupDeadRows()
  const { add, enqueueMany, doAll, keepDead } = bundle
  await keepDead()
  await enqueueMany(5_000)
  await doAll()
  await add()
  const session = await Session.open(bundle)
  await inTurn(session, 1, 1)
  const mark = async () => Number(/"seq": (\d+)/.exec((await marksOf(session)) ?? '')?.[1])
  const placed = async (held: number) => {
    await session.query(`select fencepost.mark_placed(array[jsonb_populate_record(null::fencepost.ready, $1)])`, [
      JSON.stringify({ queue: 'default', priority: 0, seq: first - 1, gates: ['gate:k'], held }),
    ])
    return mark()
  }
  const first = await mark()

  expect(await placed(0)).toBe(first)
  expect(await placed(1)).toBe(first - 1)
})

it('a suspect that is claimed hides nothing that comes before it', async () => {
  const bundle = await setupDeadRows()
  const { sql, add, enqueueMany, doAll, keepDead } = bundle
  await keepDead()
  await enqueueMany(5_000)
  await doAll()
  const [one, two, suspect, three] = [await add(), await add(), await add(), await add()]
  await sql('update fencepost.ready set losses = 1 where job_id = $1', [suspect])
  const session = await Session.open(bundle)
  const ids = async (turn: number) => (await inTurn(session, turn, 1, 1)).map(({ job_id }) => job_id)

  expect(await ids(1)).toEqual([one, suspect])
  await putOffNextLook(session)
  expect(await ids(2)).toEqual([two])
  expect(await ids(3)).toEqual([three])
})

describe('a job that is leased as it is enqueued', () => {
  const storing = (session: Session, turn: number) =>
    takeTurnStoring(
      session,
      {
        worker: 'w1',
        turn,
        tasks: ['test'],
        claim: { queues: [{ queue: 'default', limit: 1, starts: 1 }], room: 1, suspect: false },
      },
      [aJob()],
    )

  it('does not make its session pass over dead rows that it has passed before', async () => {
    const bundle = await setupDeadRows()
    const { enqueueMany, doAll, keepDead, blocks, add } = bundle
    await keepDead()
    await enqueueMany(10_000)
    await doAll()
    await add()
    const session = await Session.open(bundle)
    const looked = await blocks(session, 'ready', () => storing(session, 1))
    expect(looked).toBeGreaterThan(100)
    await putOffNextLook(session)

    expect(await blocks(session, 'ready', () => storing(session, 2))).toBeLessThan(few)
  })

  it('makes its session remember dead rows that it has passed', async () => {
    const bundle = await setupDeadRows()
    const { enqueueMany, doAll, keepDead, blocks } = bundle
    await keepDead()
    await enqueueMany(10_000)
    await doAll()
    const session = await Session.open(bundle)
    await storing(session, 1)
    await putOffNextLook(session)

    expect(await blocks(session, 'ready', () => storing(session, 2))).toBeLessThan(few)
  })

  it('does not make its session read what is ready in other queues', async () => {
    const bundle = await setupDeadRows()
    const { add, blocks, enqueueMany, sql } = bundle
    await add({ queue: 'another' })
    await sql('analyze fencepost.ready')
    const session = await Session.open(bundle)
    for (let turn = 1; turn < 10; turn++) await storing(session, turn)
    await enqueueMany(10_000, 'another')

    expect(await blocks(session, 'ready', () => storing(session, 10))).toBeLessThan(few)
  })
})

it('the reaper passes over dead leases once, and then begins behind them', async () => {
  const bundle = await setupDeadRows()
  const { enqueueMany, doAll, keepDead, blocks } = bundle
  const session = await Session.open(bundle)
  await session.query('select * from fencepost.reap(1000, 60000)')
  await keepDead()
  await enqueueMany(10_000)
  await doAll()
  const walk = await blocks(session, 'leased', () =>
    session.query(`set local enable_seqscan = off; set local enable_bitmapscan = off;
      select lease_id from fencepost.leased where expires_at < now() order by lease_id limit 1`),
  )
  expect(walk).toBeGreaterThan(100)
  await session.query(`update fencepost.pulse set beat_at = beat_at - interval '50 s'`)

  expect(
    await blocks(session, 'leased', () => session.query('select * from fencepost.reap(1000, 60000)')),
  ).toBeLessThan(walk * 1.5)
  await session.query(`update fencepost.pulse set beat_at = beat_at - interval '50 s'`)

  expect(
    await blocks(session, 'leased', () => session.query('select * from fencepost.reap(1000, 60000)')),
  ).toBeLessThan(few)
})

describe('among thousands of dead leases, one is found by its key', () => {
  /** How many blocks of `leased` a move reads that was planned while there were few. */
  async function setupMove(move: (db: Session, lease: ClaimedLease) => Promise<unknown>): Promise<number> {
    const bundle = await setupDeadRows()
    const { sql, add, take, enqueueMany, doAll, keepDead, blocks } = bundle
    const session = await Session.open(bundle)
    await add()
    const first = await take({ started: false })
    await sql('vacuum analyze fencepost.leased')
    await move(session, first)
    await keepDead()
    await enqueueMany(10_000)
    await doAll()
    await add()
    const lease = await take({ started: false })
    return blocks(session, 'leased', () => move(session, lease))
  }

  it('by finish', async () => {
    expect(await setupMove((db, lease) => finish(db, [{ ...lease, resultText: '1' }]))).toBeLessThan(few)
  })

  it('by fail', async () => {
    const failure = { errorText: '{}', delayMs: 0, final: false }
    expect(await setupMove((db, lease) => fail(db, [{ ...lease, ...failure }]))).toBeLessThan(few)
  })

  it('by release', async () => {
    expect(await setupMove((db, lease) => release(db, [lease], 'shutdown'))).toBeLessThan(few)
  })

  it('by start', async () => {
    expect(await setupMove((db, lease) => start(db, [lease]))).toBeLessThan(few)
  })

  it('by extend', async () => {
    expect(await setupMove((db, lease) => extend(db, [lease]))).toBeLessThan(few)
  })

  it('by a heartbeat that asks for news of some, once a table was large and had been emptied', async () => {
    const bundle = await setupDeadRows()
    const { db, sql, enqueueMany, doAll, keepDead, blocks } = bundle
    await enqueueMany(10_000)
    await doAll()
    await sql('vacuum (analyze, truncate off) fencepost.leased')
    await keepDead()
    await enqueueMany(10_000)
    await doAll()
    await enqueueMany(10)
    const leases = await claim(db, { queue: 'default', limit: 10, worker: 'w1' })
    const session = await Session.open(bundle)

    expect(await blocks(session, 'leased', () => readLeaseNews(session, leases))).toBeLessThan(3 * few)
  })

  it('by a look for slots that are held for too long', async () => {
    expect(await setupMove((db) => markOverrun(db))).toBeLessThan(few)
  })

  describe('of a message', () => {
    const queue = 'default'
    const ask = { queue, max: 10, visibleMs: null, receiver: 'r1', attempt: null, inFlightMax: null }
    const receive = async (db: Database) => {
      const received = await receiveMessages(db, ask)
      if (typeof received === 'string') throw new Error(received)
      expect(received).toHaveLength(1)
      return received
    }

    /** How many blocks of `leased` a move reads that was planned while there were few. Both times there is one message to do it with. */
    async function setupMessageMove(
      prepare: (db: Database) => Promise<readonly Receipt[]>,
      move: (db: Session, receipts: readonly Receipt[]) => Promise<unknown>,
    ): Promise<number> {
      const bundle = await setupDeadRows()
      const { db, sql, enqueueMany, doAll, keepDead, blocks } = bundle
      await registerServer(db, 's1', 'on', 60_000)
      await createQueue(db, queue, plainSettings, {})
      const session = await Session.open(bundle)
      const send = () => stored(sendMessages(db, 's1', queue, [anEntry()]))
      await send()
      await sql('vacuum analyze fencepost.leased')
      await move(session, await prepare(db))
      await keepDead()
      await enqueueMany(10_000)
      await doAll()
      await send()
      const receipts = await prepare(db)
      return blocks(session, 'leased', () => move(session, receipts))
    }

    it('by a receive', async () => {
      expect(await setupMessageMove(async () => [], receive)).toBeLessThan(few)
    })

    it('by a delete', async () => {
      const deleted = (db: Session, receipts: readonly Receipt[]) => deleteMessages(db, queue, receipts)
      expect(await setupMessageMove(receive, deleted)).toBeLessThan(few)
    })

    it('by a change of its visibility', async () => {
      const changed = (db: Session, receipts: readonly Receipt[]) =>
        changeVisibility(
          db,
          queue,
          receipts.map((receipt) => ({ ...receipt, visibleMs: 60_000 })),
        )
      expect(await setupMessageMove(receive, changed)).toBeLessThan(few)
    })
  })
})

it('a finish of leases that are far apart reads none of those between them', async () => {
  const bundle = await setupDeadRows()
  const { db, enqueueMany, blocks } = bundle
  await enqueueMany(10_000)
  const leases = await claim(db, { queue: 'default', limit: 10_000, worker: 'w1' })
  const ends = [leases[0], leases.at(-1)] as ClaimedLease[]
  const session = await Session.open(bundle)

  expect(
    await blocks(session, 'leased', () =>
      finish(
        session,
        ends.map((lease) => ({ ...lease, resultText: '1' })),
      ),
    ),
  ).toBeLessThan(few)
})

it('a finish of leases that were claimed together goes along them, and does not look up each', async () => {
  const bundle = await setupDeadRows()
  const { db, enqueueMany } = bundle
  await enqueueMany(200)
  const leases = await claim(db, { queue: 'default', limit: 200, worker: 'w1' })
  const session = await Session.open(bundle)
  const looks = async () => {
    const [row] = await session.query<{ n: number }>(
      `select pg_stat_get_xact_numscans('fencepost.leased_pkey'::regclass) as n`,
    )
    return row?.n as number
  }
  await session.begin()
  const before = await looks()

  await finish(
    session,
    leases.map((lease) => ({ ...lease, resultText: '1' })),
  )

  expect((await looks()) - before).toBeLessThan(20)
})

describe('each of many leases is looked up once, though that was planned while a large table had been emptied,', () => {
  const many = 50

  /** A nested loop goes through all keys for each lease, or, from version 17 on, descends the index for each of them. */
  async function expectOneLook(move: (db: Session, leases: ClaimedLease[]) => Promise<unknown>): Promise<void> {
    const bundle = await setupDeadRows()
    const { db, sql, enqueueMany } = bundle
    await sql('alter table fencepost.leased set (fillfactor = 10)') // as large as after half a million leases
    await sql('alter index fencepost.leased_pkey set (fillfactor = 10)')
    await sql(
      `insert into fencepost.leased (lease_id, nonce, job_id, seq, claimed_at, expires_at, lease_ms, tries, releases,
         priority, failures, losses, failures_max, losses_max, queue, task, worker)
       select n - 1000000, 1, fencepost.new_id(), n, fencepost.clock(), fencepost.clock(), 1, 1, 0, 0, 0, 0, 1, 1, 'q', 't', 'w'
       from generate_series(1, 80000) n`,
    )
    await sql('analyze fencepost.leased')
    await sql('delete from fencepost.leased')
    await sql('vacuum (analyze, truncate off) fencepost.leased')
    await enqueueMany(many)
    await sql('alter sequence fencepost.lease_seq increment by 100') // as if others had claimed between them
    const leases = await claim(db, { queue: 'default', limit: many, worker: 'w1' })
    const session = await Session.open(bundle)
    const look = async () => {
      const [row] = await session.query<{ scans: number; version: number; loops: string }>(
        `select pg_stat_get_xact_numscans('fencepost.leased_pkey'::regclass) as scans,
                current_setting('server_version_num')::integer as version, current_setting('enable_nestloop') as loops`,
      )
      return row as { scans: number; version: number; loops: string }
    }
    await session.begin()
    const before = await look()
    await move(session, leases)
    const { scans, version, loops } = await look()
    expect(scans - before.scans).toBeLessThan(version >= 170_000 ? many / 2 : many * 2)
    expect(loops).toBe('on') // what follows in the transaction is planned as always
  }

  it('by finish', async () => {
    await expectOneLook((db, leases) =>
      finish(
        db,
        leases.map((lease) => ({ ...lease, resultText: '1' })),
      ),
    )
  })

  it('by fail', async () => {
    const failure = { errorText: '{}', delayMs: 0, final: false }
    await expectOneLook((db, leases) =>
      fail(
        db,
        leases.map((lease) => ({ ...lease, ...failure })),
      ),
    )
  })

  it('by release', async () => {
    await expectOneLook((db, leases) => release(db, leases, 'shutdown'))
  })

  it('by start', async () => {
    await expectOneLook((db, leases) => start(db, leases))
  })
})

it('a heartbeat reads each of many leases a few times, and not all of them for each', async () => {
  const bundle = await setupDeadRows()
  const { db, sql, enqueueMany } = bundle
  await enqueueMany(200)
  const leases = await claim(db, { queue: 'default', limit: 200, worker: 'w1' })
  await sql('analyze fencepost.leased')
  const session = await Session.open(bundle)
  await session.begin()

  expect(await extend(session, leases)).toHaveLength(200)
  const [row] = await session.query<{ n: number }>(
    `select pg_stat_get_xact_tuples_fetched('fencepost.leased_pkey'::regclass) as n`,
  )

  expect(row?.n).toBeLessThan(5 * leases.length)
})

describe('waiters at a gate, behind thousands that were admitted', () => {
  const limit = 4_000
  const slots = 5

  /** All slots are taken, and some wait; a session has handed a few slots over, and knows what that has cost. */
  async function setupWaiters() {
    const bundle = await setupDeadRows()
    const { db, sql, gated, turn, nudges, keepDead, blocks } = bundle
    await keepDead()
    await enqueue(
      db,
      Array.from({ length: limit }, () => aJob({ gatesText: gates({ key: 'gate:k', limit }) })),
    )
    while ((await nudges()).length > 0) await turn() // a thousand at a time
    const leases = await claim(db, { queue: 'default', limit, worker: 'w1' })
    expect(leases).toHaveLength(limit)
    const waiting = []
    for (let n = 0; n < 4 * slots; n++) waiting.push(await gated({ limit }))
    const session = await Session.open(bundle)
    const free = (count = slots) =>
      finish(
        session,
        leases.splice(0, count).map((lease) => ({ ...lease, resultText: '1' })),
      )
    const before = await blocks(session, 'waiting', () => free())
    expect(before).toBeGreaterThan(100)
    // The next look from the beginning is not due before this has ended.
    await session.query(`select set_config('fencepost_gate.marks', regexp_replace(coalesce(
      current_setting('fencepost_gate.marks', true), ''), '"until": [0-9.]+', '"until": ' || extract(epoch from fencepost.clock()) + 4), false)`)
    return {
      ...bundle,
      session,
      waiting: waiting.slice(slots),
      free,
      admitted: async () =>
        (await sql<{ job_id: string }>('select job_id from fencepost.ready order by priority, seq')).map(
          (row) => row.job_id,
        ),
    }
  }

  it('are found where the first one was, and not by way of all', async () => {
    const { session, blocks, free, waiting, admitted, sound } = await setupWaiters()
    expect(await blocks(session, 'waiting', () => free())).toBeLessThan(60)
    expect((await admitted()).slice(slots)).toEqual(waiting.slice(0, slots))
    await sound()
  })

  it('are looked for from the beginning where that costs little', async () => {
    const { session, sql, free, sound } = await setupWaiters()
    await sql(`select pg_terminate_backend(pid, 5000) from pg_stat_activity
               where datname = current_database() and state = 'idle in transaction'`)
    await sql('vacuum fencepost.waiting')
    await session.query(`select set_config('fencepost_gate.marks', regexp_replace(current_setting('fencepost_gate.marks'),
      '"until": [0-9.]+', '"until": ' || extract(epoch from fencepost.clock())), false)`)
    await free()
    expect(await session.query(`select current_setting('fencepost_gate.marks') as marks`)).toEqual([{ marks: '' }])
    await sound()
  })

  it('do not pass one that is more urgent and comes later', async () => {
    const { gated, free, admitted, sound } = await setupWaiters()
    const urgent = await gated({ limit }, { priority: -5 })
    await free(1)
    expect(await admitted()).toContain(urgent)
    await sound()
  })

  it('are all admitted when there are slots for all, also who has come back to a place before them', async () => {
    const { sql, free, waiting, admitted, sound, nudges } = await setupWaiters()
    const back = waiting.at(-1) as string
    await sql('update fencepost.job set seq = -seq where id = $1', [back])
    await sql('update fencepost.waiting set seq = -seq where job_id = $1', [back])
    await free(waiting.length)
    expect((await admitted()).toSorted()).toEqual(expect.arrayContaining(waiting.toSorted()))
    expect(await nudges()).toEqual([])
    await sound()
  })
})

describe('a vacuum shuts nobody out to give back the pages', () => {
  // Of every table, what has to be there; others leave out what they do not know.
  const row = `{"job_id": "00000000-0000-7000-8000-000000000000", "run_id": "00000000-0000-7000-8000-000000000000",
    "id": 1, "seq": 1, "rank": 0, "priority": 0, "tries": 0, "releases": 0, "failures": 0, "losses": 0,
    "failures_max": 1, "losses_max": 1, "held": 0, "freed": 0, "fresh": false, "queue": "q", "task": "t",
    "gate": "g", "gates": [], "key": "g", "on_full": "wait", "wait_name": "s", "kind": "k",
    "at": "now", "since": "now", "due_at": "now"}`

  async function expectPagesKept(table: string): Promise<void> {
    const { sql } = await setupGates()
    const pages = async () => {
      const [size] = await sql(`select pg_relation_size('fencepost.${table}')::integer / 8192 as pages`)
      return (size as { pages: number }).pages
    }
    await sql(
      `insert into fencepost.${table} overriding system value
      select (jsonb_populate_record(null::fencepost.${table}, $1)).*`,
      [row],
    )
    await sql(`delete from fencepost.${table}`)
    await sql(`vacuum fencepost.${table}`)
    expect(await pages()).toBe(1)
  }

  for (const table of ['ready', 'waiting', 'delayed', 'parked', 'gate', 'nudge', 'inbox', 'call', 'timer']) {
    it(`of ${table}`, () => expectPagesKept(table))
  }
})
