import { expect, it } from 'vitest'
import { markOverrun } from '../../src/store/control.js'
import { finish } from '../../src/store/settle.js'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'
import { setupGates } from '../../test/harness/gates.js'

it('FM_014: a slot is held as long as its holder’s lease, however long it runs', async () => {
  const { prevent } = await bundleUnderTest('FM_014')

  const played = await prevent()

  expect(noteOf(played, 'maintenance', 'looks for slots that are held for too long')).toBe('nothing overrun')
  expect(noteOf(played, 'B', 'looks for work')).toBe('nothing to claim')
  expect(noteOf(played, 'A', 'finishes')).toBe('finished')
  expect(played.violations).toEqual([])
})

it('FM_014: who asks for an overrun gets it marked: the late one counts no more, and its end frees nothing', async () => {
  const { db, gated, take, advance, places, gate, sound } = await setupGates()
  const gateWith = { overrunMs: 10_000 }
  const [late, next, last] = [await gated(gateWith), await gated(gateWith), await gated(gateWith)]
  const lateLease = await take()
  await advance(11_000)

  expect(await markOverrun(db)).toMatchObject([{ jobId: late, leaseId: lateLease.leaseId, key: 'gate:k' }])
  expect(await markOverrun(db)).toEqual([])
  expect(await places(late, next, last)).toEqual(['leased', 'ready', 'waiting'])
  const nextLease = await take()
  await sound()

  await finish(db, [{ ...lateLease, resultText: '{}' }])
  expect(await places(late, next, last)).toEqual(['succeeded', 'leased', 'waiting'])
  expect(await gate()).toMatchObject({ held: 1 })
  await sound()

  await finish(db, [{ ...nextLease, resultText: '{}' }])
  expect(await places(next, last)).toEqual(['succeeded', 'ready'])
  await sound()
})
