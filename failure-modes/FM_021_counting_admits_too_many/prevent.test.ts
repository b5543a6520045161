import { expect, it } from 'vitest'
import { enqueue } from '../../src/store/enqueue.js'
import { finish } from '../../src/store/settle.js'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'
import { gates, setupGates } from '../../test/harness/gates.js'
import { Session } from '../../test/harness/session.js'
import { aJob } from '../../test/harness/setup.js'

it('FM_021: counted under the gate’s lock, one runs and the other waits', async () => {
  const { prevent } = await bundleUnderTest('FM_021')

  const played = await prevent()

  expect(noteOf(played, 'A', 'enqueues a charge, and counts')).toBe('ready')
  expect(noteOf(played, 'B', 'enqueues another, and counts')).toBe('waiting')
  expect(noteOf(played, 'worker 1', 'leases a charge')).toBe('lease 1')
  expect(noteOf(played, 'worker 2', 'leases a charge')).toBe('nothing to claim')
  expect(played.violations).toEqual([])
})

it('FM_021: whoever meets another in the middle of its count does not wait and does not count, but leaves a nudge', async () => {
  const { url, connect, sql, db, gated, places, takeAll, nudges, turn, sound } = await setupGates()
  await sql(`select fencepost.set_limit('gate:k', 1)`)
  await turn()
  const a = await Session.open({ url, connect })
  const [first, third] = [aJob({ gatesText: gates({ key: 'gate:k' }) }), aJob({ gatesText: gates({ key: 'gate:k' }) })]
  await a.begin()
  await enqueueAlone(a, first) // has counted and is about to commit
  const second = await gated()
  expect(await places(second)).toEqual(['waiting'])
  expect(await nudges()).toEqual(['gate:k'])
  await a.commit()

  await turn()
  expect(await places(first.id, second)).toEqual(['ready', 'waiting'])
  const [lease] = await takeAll()
  await finish(db, [{ ...(lease as NonNullable<typeof lease>), resultText: '{}' }])
  await enqueue(db, [third])
  expect(await places(first.id, second, third.id)).toEqual(['succeeded', 'ready', 'waiting'])
  await sound()
})

/** As a statement that is all of its transaction, whose COMMIT has not come yet. */
async function enqueueAlone(session: Session, job: ReturnType<typeof aJob>): Promise<void> {
  await session.query(
    `select * from fencepost.enqueue_many(array[$1::uuid], array['test'], array['{}'::jsonb], array['default'],
       array[0::smallint], array[0::bigint], array[3::smallint], array[3::smallint], array[30000], array[$2::jsonb], true)`,
    [job.id, job.gatesText],
  )
}
