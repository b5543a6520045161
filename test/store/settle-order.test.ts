import { expect, it } from 'vitest'
import type { Fence } from '../../src/job/places.js'
import { claim, start } from '../../src/store/lease.js'
import { fail, finish, release } from '../../src/store/settle.js'
import { untilBlocked } from '../harness/blocked.js'
import { Session } from '../harness/session.js'
import { setup } from '../harness/setup.js'

/** Of those that are claimed together: each fifteen of them two, or all. */
async function locksInOrder(
  move: (session: Session, fences: readonly Fence[]) => Promise<unknown>,
  ofFifteen = 2,
): Promise<void> {
  const { url, connect, db, sql } = await setup()
  await sql(
    `select fencepost.enqueue_many(array_agg(fencepost.new_id()), array_agg('test'::text), array_agg('{}'::jsonb),
       array_agg('default'::text), array_agg(0::smallint), array_agg(0::bigint), array_agg(1::smallint),
       array_agg(1::smallint), array_agg(30000))
     from generate_series(1, 300)`,
  )
  const leases = await claim(db, { queue: 'default', limit: 300, worker: 'w1' })
  // Every other one lies behind all others now.
  await sql(`create table moved as select * from fencepost.leased where lease_id % 2 = 1`)
  await sql(`delete from fencepost.leased where lease_id % 2 = 1`)
  await sql(`insert into fencepost.leased select * from moved`)
  const fences = leases.filter((_, n) => n % 15 < ofFifteen).toReversed()
  const middle = fences[Math.floor(fences.length / 2)] as Fence
  const [mover, holder, onlooker] = [
    await Session.open({ url, connect }),
    await Session.open({ url, connect }),
    await Session.open({ url, connect }),
  ]
  await mover.query('set random_page_cost = 1000') // so that the order of the heap looks best on every version
  await holder.begin()
  await holder.query('select 1 from fencepost.leased where lease_id = $1 for update', [middle.leaseId])
  const moved = move(mover, fences)
  await untilBlocked(sql, mover.pid, moved)

  const free = await onlooker.query<{ lease_id: number }>(
    'select lease_id from fencepost.leased where lease_id = any ($1) order by lease_id for update skip locked',
    [fences.map(({ leaseId }) => leaseId)],
  )

  const behind = fences.map(({ leaseId }) => leaseId).filter((leaseId) => leaseId > middle.leaseId)
  expect(free.map(({ lease_id }) => lease_id)).toEqual(behind.toSorted((a, b) => a - b))
  await holder.commit()
  await moved
}

// On a table that nobody has analyzed.
const finishAll = (session: Session, fences: readonly Fence[]) =>
  finish(
    session,
    fences.map((fence) => ({ ...fence, resultText: '1' })),
  )

it('finish locks leases in their order, not in that of the heap', () => locksInOrder(finishAll))

it('finish locks all leases that were claimed together in their order, too', () => locksInOrder(finishAll, 15))

it('fail locks leases in their order, not in that of the heap', () =>
  locksInOrder((session, fences) =>
    fail(
      session,
      fences.map((fence) => ({ ...fence, errorText: '1', delayMs: 0, final: false })),
    ),
  ))

it('release locks leases in their order, not in that of the heap', () =>
  locksInOrder((session, fences) => release(session, fences, 'shutdown')))

it('start locks leases in their order, not in that of the heap', () => locksInOrder(start))
