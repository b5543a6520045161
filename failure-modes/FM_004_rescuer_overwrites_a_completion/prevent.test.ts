import { expect, it } from 'vitest'
import { audit } from '../../src/audit/audit.js'
import { loseExpired } from '../../src/store/lease.js'
import { finish } from '../../src/store/settle.js'
import { untilBlocked } from '../../test/harness/blocked.js'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'
import { pauseScansOfLeased } from '../../test/harness/scan-pause.js'
import { Session } from '../../test/harness/session.js'
import { setup } from '../../test/harness/setup.js'

it('FM_004: the rescuer skips a lease whose completion is in flight, and the completion stands', async () => {
  const { prevent } = await bundleUnderTest('FM_004')

  const played = await prevent()

  expect(noteOf(played, 'rescuer 1', 'looks for expired leases')).toBe('nothing to take back')
  expect(noteOf(played, 'A', 'commits')).toBe('finished')
  expect(played.violations).toEqual([])
})

it('FM_004: a rescuer whose snapshot is older than the completion finds the lease gone', async () => {
  const bundle = await setup()
  const id = await bundle.add()
  const lease = await bundle.take()
  await bundle.advance(31_000)
  const [gate, rescuer] = [await Session.open(bundle), await Session.open(bundle)]
  const pause = await pauseScansOfLeased(gate, rescuer)

  const lost = loseExpired(rescuer)
  await untilBlocked(bundle.sql, rescuer.pid, lost)
  expect(await finish(bundle.db, [{ ...lease, resultText: '1' }])).toMatchObject([{ answer: 'finished' }])
  await pause.resume()

  expect(await lost).toEqual([])
  expect(await bundle.placesOf(id)).toEqual(['finished'])
  expect(await bundle.see(id)).toMatchObject({ outcome: 'succeeded', tries: 1, losses: 0 })
  expect(await bundle.sql('select * from fencepost.attempt')).toEqual([])
})

it('FM_004: the other way round, a completion that comes after the rescuer is stale', async () => {
  const { db, add, take, advance, placesOf, see } = await setup()
  const id = await add()
  const lease = await take()
  await advance(31_000)

  expect(await loseExpired(db)).toMatchObject([{ jobId: id, answer: 'lost' }])
  expect(await finish(db, [{ ...lease, resultText: '1' }])).toMatchObject([{ answer: 'stale', outcome: null }])

  expect(await placesOf(id)).toEqual(['ready'])
  expect(await see(id)).toMatchObject({ losses: 1 })
  expect(await audit(db)).toMatchObject({ ok: true })
})
