import { describe, expect, it } from 'vitest'
import { type ClaimedLease, claim, extend, start } from '../../src/store/lease.js'
import { fail, finish, release } from '../../src/store/settle.js'
import { Session } from '../harness/session.js'
import { setup } from '../harness/setup.js'

type Table = 'ready' | 'leased'
const few = 30

async function setupDeadRows() {
  const bundle = await setup()
  const { db, sql } = bundle
  const enqueueMany = (jobs: number) =>
    sql(
      `select fencepost.enqueue_many(array_agg(fencepost.new_id()), array_agg('test'::text), array_agg('{}'::jsonb),
         array_agg('default'::text), array_agg(0::smallint), array_agg(0::bigint), array_agg(1::smallint),
         array_agg(1::smallint), array_agg(30000))
       from generate_series(1, $1)`,
      [jobs],
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
  // The next look from the beginning is not due before this has ended.
  await session.query(`select set_config('fencepost_claim.marks', regexp_replace(current_setting('fencepost_claim.marks'),
    '"until": [0-9.]+', '"until": ' || extract(epoch from fencepost.clock()) + 4), false)`)
  expect(await ids(2)).toEqual([two])
  expect(await ids(3)).toEqual([three])
})

it('the reaper passes over dead leases once', async () => {
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
})
