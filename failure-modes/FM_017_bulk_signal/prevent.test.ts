import { expect, it } from 'vitest'
import { cancel } from '../../src/store/control.js'
import { loseExpired } from '../../src/store/lease.js'
import { finish } from '../../src/store/settle.js'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'
import { setupGates } from '../../test/harness/gates.js'

it('FM_017: as many slots are handed over as were held: two of the card, none of the bank', async () => {
  const { prevent } = await bundleUnderTest('FM_017')

  const played = await prevent()

  expect(noteOf(played, 'operator', 'discards two that hold the card, one that waits for the bank')).toBe(
    'ready, ready, ready, waiting',
  )
  expect(played.violations).toEqual([])
})

it('FM_017: a bulk ending with nobody waiting makes room for as many as it ended, and not more', async () => {
  const { db, gated, places, gate, sound } = await setupGates()
  const limit = { limit: 3 }
  const [a, b, c] = [await gated(limit), await gated(limit), await gated(limit)]

  await cancel(db, [a, b], null)
  expect(await gate()).toMatchObject({ held: 1 })
  await cancel(db, [a, b], null) // they have ended: nothing is freed again
  expect(await gate()).toMatchObject({ held: 1 })

  const later = [await gated(limit), await gated(limit), await gated(limit)]
  expect(await places(c, ...later)).toEqual(['ready', 'ready', 'ready', 'waiting'])
  await sound()
})

it('FM_017: so does a batch of finishes, and the loss of all jobs of a dead worker', async () => {
  const { db, gated, takeAll, advance, places, gate, sound } = await setupGates()
  const limit = { limit: 2 }
  const ids = []
  for (let n = 0; n < 4; n++) ids.push(await gated(limit, { lossesMax: 0 }))

  const leases = await takeAll()
  await finish(
    db,
    leases.map((lease) => ({ ...lease, resultText: '{}' })),
  )
  expect(await places(...ids)).toEqual(['succeeded', 'succeeded', 'ready', 'ready'])
  expect(await gate()).toMatchObject({ held: 2 })
  await sound()

  await takeAll()
  const next = [await gated(limit), await gated(limit), await gated(limit)]
  await advance(31_000)
  await loseExpired(db) // not started: they are ready again, with their slots
  expect(await places(...ids.slice(2), ...next)).toEqual(['ready', 'ready', 'waiting', 'waiting', 'waiting'])
  await cancel(db, ids.slice(2), null)
  expect(await places(...next)).toEqual(['ready', 'ready', 'waiting'])
  await sound()
})
