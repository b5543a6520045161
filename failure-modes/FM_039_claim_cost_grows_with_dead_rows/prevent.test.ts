import { expect, it } from 'vitest'
import { enqueue } from '../../src/store/enqueue.js'
import { claim } from '../../src/store/lease.js'
import { finish, release } from '../../src/store/settle.js'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'
import { Session } from '../../test/harness/session.js'
import { aJob, setup } from '../../test/harness/setup.js'

const pile = 5_000
const few = 15

/** A session that claims, and that can tell how many blocks of `ready` and its index it has looked at for it. */
async function setupClaims() {
  const bundle = await setup()
  const { add, db } = bundle
  const session = await Session.open(bundle)
  const fetched = async () => {
    const [row] = await session.query<{ n: number }>(
      `select pg_stat_get_xact_blocks_fetched('fencepost.ready'::regclass)
            + pg_stat_get_xact_blocks_fetched('fencepost.ready_pkey'::regclass) as n`,
    )
    return row?.n ?? 0
  }
  const enqueuePile = () =>
    enqueue(
      db,
      Array.from({ length: pile }, () => aJob()),
    )
  const claims = async (limit = 1) => {
    await session.begin()
    const before = await fetched()
    const leases = await claim(session, { queue: 'default', limit, worker: 'w1' })
    const blocks = (await fetched()) - before
    await session.commit()
    return { leases, ids: leases.map(({ jobId }) => jobId), blocks }
  }
  return {
    ...bundle,
    session,
    fetched,
    claims,
    enqueuePile,
    /** In so many seconds a claim that finds nothing beyond the marks may look from the beginning again; no other may. */
    lookNext: (seconds: number) =>
      session.query(`select set_config('fencepost_claim.marks', regexp_replace(regexp_replace(
        current_setting('fencepost_claim.marks'),
        '"next": [0-9.]+', '"next": ' || extract(epoch from fencepost.clock()) + ${seconds}),
        '"until": [0-9.]+', '"until": ' || extract(epoch from fencepost.clock()) + 1.95), false)`),
    async lookDue() {
      await session.query('delete from fencepost.look') // others have not looked, either
      await session.query(`select set_config('fencepost_claim.marks',
        regexp_replace(current_setting('fencepost_claim.marks'), '"until": [0-9.]+', '"until": 0'), false)`)
    },
    /** All of the pile is claimed, and an old snapshot keeps it; the session has seen what that costs. */
    async deadPile() {
      await enqueuePile()
      const reporter = await Session.open(bundle)
      await reporter.begin('repeatable read')
      await reporter.query('select 1')
      const { leases } = await claims(pile)
      await add()
      expect((await claims()).blocks).toBeGreaterThan(2 * few)
      return leases
    },
  }
}

it('FM_039: the cost of a claim does not grow with what was claimed before', async () => {
  const { prevent } = await bundleUnderTest('FM_039')

  const played = await prevent()

  const blocks = /^the middle one of 9 claims read (\d+) blocks$/.exec(
    noteOf(played, 'A', 'does them one by one') ?? '',
  )?.[1]
  expect(Number(blocks)).toBeLessThan(few)
  expect(played.violations).toEqual([])
})

it('FM_039: a claim reads a few blocks of a backlog that nobody has analyzed', async () => {
  const { enqueuePile, claims } = await setupClaims()
  // For less the planner does not bother to sort.
  for (let n = 0; n < 4; n++) await enqueuePile()

  const { ids, blocks } = await claims()

  expect(ids).toHaveLength(1)
  expect(blocks).toBeLessThan(few)
})

it('FM_039: a claim begins where the one before it has come to, and its cost does not grow with dead rows', async () => {
  const { add, claims, deadPile } = await setupClaims()
  await deadPile()
  const ids = [await add(), await add(), await add(), await add(), await add()]

  const found = [await claims(), await claims(), await claims(), await claims(), await claims()]

  expect(found.flatMap((each) => each.ids)).toEqual(ids)
  // One of them may have been due to begin at the beginning.
  expect(found.filter(({ blocks }) => blocks < few).length).toBeGreaterThanOrEqual(4)
})

it('FM_039: a job that comes back to a place before the marks is found when there is nothing beyond them', async () => {
  const { claims, deadPile, db } = await setupClaims()
  const [old] = await deadPile()
  await release(db, [old as NonNullable<typeof old>], 'shutdown')

  expect((await claims()).ids).toEqual([old?.jobId])
})

it('FM_039: a claim that finds nothing does not look from the beginning each time, and says so', async () => {
  const { add, session, claims, deadPile, fetched, lookNext } = await setupClaims()
  await deadPile()
  await claims() // looks from the beginning, and finds nothing
  const elsewhere = await add({ queue: 'other' })
  await lookNext(0.95)

  await session.begin()
  const before = await fetched()
  const told = await session.query<{ turn: string }>(`select fencepost.turn('w1', 1, false, null,
    null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null,
    '{default,other}', '{1,1}', '{1,1}', 1, false)`)

  expect((await fetched()) - before).toBeLessThan(few)
  const [unseen, lease] = told.map(({ turn }) => JSON.parse(turn) as unknown[])
  expect(unseen, 'its worker is to look again then').toEqual(['unseen', expect.any(Number)])
  expect(unseen?.[1]).toBeLessThanOrEqual(2_000)
  expect(lease?.[2], 'and takes what there is room for elsewhere').toBe(elsewhere)
})

it('FM_039: a claim that finds less than it asks for, and did not look everywhere, says so', async () => {
  const { add, session, claims, deadPile, lookNext, db } = await setupClaims()
  const [old] = await deadPile()
  await claims()
  await release(db, [old as NonNullable<typeof old>], 'shutdown')
  const fresh = await add()
  await lookNext(0.95)

  const told = await session.query<{ turn: string }>(`select fencepost.turn('w1', 1, false, null,
    null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null,
    '{default}', '{2}', '{2}', 2, false)`)

  const [lease, unseen] = told.map(({ turn }) => JSON.parse(turn) as unknown[])
  expect(lease?.[2]).toBe(fresh)
  expect(unseen).toEqual(['unseen', expect.any(Number)])
  expect(unseen?.[1]).toBeLessThanOrEqual(950)
})

it('FM_039: many jobs that come back before the marks are claimed one after the other', async () => {
  const { claims, deadPile, db, lookDue } = await setupClaims()
  const leases = await deadPile()
  const back = leases.slice(4_000, 4_020)
  await release(db, back, 'shutdown')
  await lookDue()

  const first = await claims()
  const next = [await claims(), await claims(), await claims(), await claims(), await claims()]

  expect([first, ...next].flatMap(({ ids }) => ids)).toEqual(back.slice(0, 6).map(({ jobId }) => jobId))
  // One of them may have been due to begin at the beginning.
  expect(next.filter(({ blocks }) => blocks < few).length).toBeGreaterThanOrEqual(4)
})

it('FM_039: and under load, when a look from the beginning is due', async () => {
  const { add, claims, deadPile, db, lookDue } = await setupClaims()
  const [old] = await deadPile()
  await release(db, [old as NonNullable<typeof old>], 'shutdown')
  for (let n = 0; n < 3; n++) await add()
  await lookDue()

  expect((await claims()).ids).toEqual([old?.jobId])
})

it('FM_039: an urgent job that comes later does not hide behind the marks, nor does one of less urgency', async () => {
  const { add, claims, deadPile } = await setupClaims()
  await deadPile()
  const [later, urgent, plain] = [await add({ priority: 5 }), await add({ priority: -5 }), await add()]

  expect([...(await claims()).ids, ...(await claims()).ids, ...(await claims()).ids]).toEqual([urgent, plain, later])
})

it('FM_039: marks are forgotten when nothing dead is left to be passed over', async () => {
  const { session, sql, add, claims, deadPile, db } = await setupClaims()
  const leases = await deadPile()
  await finish(
    db,
    leases.map((lease) => ({ ...lease, resultText: '{}' })),
  )
  await sql(`select pg_terminate_backend(pid, 5000) from pg_stat_activity
             where datname = current_database() and state = 'idle in transaction'`)
  await sql('vacuum fencepost.ready')
  await claims() // finds nothing, and looks from the beginning
  await add()
  await claims()

  expect(await session.query(`select current_setting('fencepost_claim.marks') as marks`)).toEqual([{ marks: '' }])
})
