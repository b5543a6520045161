import { expect, it } from 'vitest'
import { cancel } from '../../src/store/control.js'
import { loseExpired } from '../../src/store/lease.js'
import { fail, finish, park, release } from '../../src/store/settle.js'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'
import { setupGates } from '../../test/harness/gates.js'

it('FM_020: only the lease that a settle ends returns its slot: a stale word returns nothing', async () => {
  const { prevent } = await bundleUnderTest('FM_020')

  const played = await prevent()

  expect(noteOf(played, 'A', 'wakes up and says that it is done')).toBe('stale')
  expect(noteOf(played, 'C', 'looks for work')).toBe('nothing to claim')
  expect(played.violations).toEqual([])
})

it('FM_020: nothing that the old lease can still say frees a slot, not even when its job is over and the slot another’s', async () => {
  const { db, gated, take, advance, places, gate, nudges, sound } = await setupGates()
  const [first, second, third] = [await gated({}, { lossesMax: 0 }), await gated(), await gated()]
  const a = await take({ worker: 'A' })
  await advance(31_000)
  await loseExpired(db) // no losses left: the job has failed, and its slot is the second's
  await take({ worker: 'B' })
  expect(await places(first, second, third)).toEqual(['failed', 'leased', 'waiting'])

  await finish(db, [{ ...a, resultText: '{}' }])
  await fail(db, [{ ...a, errorText: '{}', delayMs: 0, final: true }])
  await release(db, [a], 'shutdown')
  await park(db, a, 'approval', null)
  await cancel(db, [first], null)

  expect(await places(first, second, third)).toEqual(['failed', 'leased', 'waiting'])
  expect(await gate()).toMatchObject({ held: 1 })
  expect(await nudges()).toEqual([])
  await sound()
})

it('FM_020: the same word said twice, after a lost reply, returns the slot once', async () => {
  const { db, gated, take, places, gate, sound } = await setupGates()
  const ids = [await gated(), await gated(), await gated()]
  const lease = await take()

  expect(await finish(db, [{ ...lease, resultText: '{}' }])).toMatchObject([{ answer: 'finished' }])
  expect(await finish(db, [{ ...lease, resultText: '{}' }])).toMatchObject([{ answer: 'already' }])

  expect(await places(...ids)).toEqual(['succeeded', 'ready', 'waiting'])
  expect(await gate()).toMatchObject({ held: 1 })
  await sound()
})
