import { expect, it } from 'vitest'
import type { Database } from '../../src/store/database.js'
import { claim, loseExpired } from '../../src/store/lease.js'
import { gates, setupGates } from '../harness/gates.js'
import { Session } from '../harness/session.js'

/** One turn in seventeen takes the oldest job first. This is such a turn, by default for one free handler. */
async function oldest(db: Database, given: { tasks?: string[]; start?: number; suspects?: number } = {}) {
  const { tasks = ['test'], start = 1, suspects = 0 } = given
  const rows = await db.move<{ job_id: string }>(
    `select job_id from fencepost.claim('default', 1, 'w1', $1::text[], 17, false, $2, $3)`,
    () => [tasks, start, suspects],
  )
  return rows.map(({ job_id }) => job_id)
}

const little = { priority: 5 }

it('is taken before what is more urgent', async () => {
  const { db, add } = await setupGates()
  const old = await add(little)
  await add()

  expect(await oldest(db)).toEqual([old])
})

it('is taken by every claim of a hundred or more', async () => {
  const { db, add } = await setupGates()
  const old = await add(little)
  const others = [await add(), await add()]

  const inTurn = async (limit: number) => (await claim(db, { queue: 'default', limit, worker: 'w1', turn: limit }))[0]
  expect(await inTurn(1)).toMatchObject({ jobId: others[0] })
  expect(await inTurn(100)).toMatchObject({ jobId: old })
})

it('is not looked for among thousands that may not be taken', async () => {
  const { db, add, sql } = await setupGates()
  await sql(
    `select fencepost.enqueue_many(array_agg(gen_random_uuid()), array_agg('another'::text), array_agg('{}'::jsonb),
       array_agg('default'::text), array_agg(5::smallint), array_agg(0::bigint), array_agg(1::smallint),
       array_agg(1::smallint), array_agg(1000))
     from generate_series(1, 100)`,
  )
  const old = await add(little)
  const urgent = [await add(), await add()]

  const first = async (limit: number, turn: number) => {
    const [lease] = await claim(db, { queue: 'default', limit, worker: 'w1', turn, tasks: ['test'] })
    return lease?.jobId
  }
  expect(await first(100, 18)).toBe(urgent[0]) // and then the others
  expect(await sql('select 1 from fencepost.leased where job_id = $1', [old])).toHaveLength(1)
  const next = await add(little)
  await add()
  expect(await first(1, 17)).toBe(next)
})

it('is left to others if the worker does not know its task', async () => {
  const { db, add } = await setupGates()
  await add({ ...little, task: 'another' })
  const known = await add()

  expect(await oldest(db)).toEqual([known])
})

it('is not taken among others if its worker died under it', async () => {
  const { db, add, take, advance } = await setupGates()
  await add(little)
  await take()
  await advance(31_000)
  await loseExpired(db)
  const other = await add()

  expect(await oldest(db)).toEqual([other])
})

it('is not taken if the process has no room left for its group', async () => {
  const { db, add, sql } = await setupGates()
  for (const worker of ['w1', 'w2']) await sql(`select fencepost.register($1, 1, 'h', '0', '{}', '{}')`, [worker])
  const grouped = { ...little, gatesText: gates({ key: 'group:g', local: 1 }).replace('"limit":1,', '') }
  await add(grouped)
  expect(await claim(db, { queue: 'default', limit: 1, worker: 'w1' })).toHaveLength(1)
  await add(grouped)
  const plain = await add()

  expect(await oldest(db)).toEqual([plain])
})

it('is passed over while another is just taking it', async () => {
  const bundle = await setupGates()
  const [first] = [await bundle.add(little)]
  const next = await bundle.add(little)
  await bundle.add()
  const [other, claimer] = [await Session.open(bundle), await Session.open(bundle)]
  await other.begin()
  await other.query('select 1 from fencepost.ready where job_id = $1 for update', [first])

  expect(await oldest(claimer)).toEqual([next])
})
