import { expect, it } from 'vitest'
import { claim } from '../../src/store/lease.js'
import { inSchema } from '../../src/store/schema-name.js'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'
import { untilBlocked } from '../../test/harness/blocked.js'
import { setupGates } from '../../test/harness/gates.js'
import { Session } from '../../test/harness/session.js'

it('FM_050: counted from after the wait, the lease is a whole one', async () => {
  const { prevent } = await bundleUnderTest('FM_050')

  const played = await prevent()

  expect(noteOf(played, 'A', 'claims again')).toBe('is held up in the middle')
  expect(noteOf(played, 'A', 'gets its lease')).toBe('lease 1')
  expect(noteOf(played, 'B', 'takes back what has run out')).toBe('nothing to take back')
  expect(noteOf(played, 'A', 'commits')).toBe('finished')
  expect(played.violations).toEqual([])
})

it('FM_050: so is the time in which a job behind a gate may hold its slot', async () => {
  const { url, connect, sql, gated, advance } = await setupGates()
  await gated({ overrunMs: 10_000 })
  const [holder, claimer] = [await Session.open({ url, connect }), await Session.open({ url, connect })]
  await holder.begin()
  const turn = `select pg_advisory_xact_lock(hashtext('fencepost.claim'), hashtext('w1/7'))`
  await holder.query(inSchema(turn, 'fencepost')) // as the moves are stored
  const claimed = claim(claimer, { queue: 'default', limit: 1, worker: 'w1', turn: 7 })
  await untilBlocked(sql, claimer.pid, claimed)
  await advance(31_000)
  await holder.commit()

  const [lease] = await claimed

  expect(lease?.leaseMs).toBe(30_000)
  expect(
    await sql(
      `select expires_at > fencepost.clock() + interval '20 seconds' as whole, overrun_at > fencepost.clock() as not_over
       from fencepost.leased`,
    ),
  ).toEqual([{ whole: true, not_over: true }])
  expect(await sql('select * from fencepost.overrun()')).toEqual([])
})
