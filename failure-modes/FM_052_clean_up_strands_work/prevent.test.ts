import { expect, it } from 'vitest'
import { finish } from '../../src/store/settle.js'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'
import { gates, setupGates } from '../../test/harness/gates.js'
import { Session } from '../../test/harness/session.js'
import { aJob } from '../../test/harness/setup.js'

it('FM_052: a gate goes with its last job, under its lock: who comes later makes it anew, and is counted', async () => {
  const { prevent } = await bundleUnderTest('FM_052')

  const played = await prevent()

  expect(noteOf(played, 'producer', 'enqueues a second')).toBe('ready')
  expect(noteOf(played, 'producer', 'enqueues a third')).toBe('waiting')
  expect(noteOf(played, 'C', 'looks for work')).toBe('nothing to claim')
  expect(played.violations).toEqual([])
})

it('FM_052: who comes while the last job takes the gate with it leaves a nudge, and the gate is made anew for it', async () => {
  const { url, connect, gated, take, gate, places, nudges, turn, sound } = await setupGates()
  await gated()
  const lease = await take()
  const last = await Session.open({ url, connect })
  await last.begin()
  await last.query(
    `select * from fencepost.finish(array[$1::uuid], array[$2::bigint], array[$3::bigint], array['{}'::jsonb], true)`,
    [lease.jobId, lease.leaseId, lease.nonce],
  ) // the gate is removed, and that is not committed

  const id = await gated()
  expect(await places(id)).toEqual(['waiting'])
  expect(await nudges()).toEqual(['gate:k'])
  await last.commit()
  expect(await gate()).toBeUndefined()

  await turn()
  expect(await places(id)).toEqual(['ready'])
  expect(await gate()).toMatchObject({ held: 1 })
  await sound()
})

it('FM_052: a gate is not removed while a nudge tells of it, somebody waits, or a person has said something about it', async () => {
  const { url, connect, db, sql, gated, take, gate, turn, sound } = await setupGates()
  await gated()
  const lease = await take()
  const tx = await Session.open({ url, connect })
  await tx.begin()
  const waiting = aJob()
  await tx.query(
    `select * from fencepost.enqueue_many(array[$1::uuid], array['test'], array['{}'::jsonb], array['default'],
       array[0::smallint], array[0::bigint], array[3::smallint], array[3::smallint], array[30000], array[$2::jsonb])`,
    [waiting.id, gates({ key: 'gate:k' })],
  )
  await finish(db, [{ ...lease, resultText: '{}' }]) // removes the gate: nobody can see who is about to wait
  await tx.commit() // and leaves the nudge that makes it anew
  await turn()
  expect(await gate()).toMatchObject({ held: 1 })

  await sql(`select fencepost.set_limit('gate:k', 7)`)
  await finish(db, [{ ...(await take()), resultText: '{}' }])
  await turn()
  expect(await gate()).toMatchObject({ held: 0, set_limit: 7 })
  await sound()
})
