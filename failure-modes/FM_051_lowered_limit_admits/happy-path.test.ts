import { expect, it } from 'vitest'
import { finish } from '../../src/store/settle.js'
import { setupGates } from '../../test/harness/gates.js'

it('FM_051: undisturbed, a raised limit admits with the next turn, and a word that is taken back leaves what the task says', async () => {
  const { db, sql, gated, takeAll, places, gate, turn, sound } = await setupGates()
  const ids = [await gated(), await gated(), await gated(), await gated()]
  expect(await places(...ids)).toEqual(['ready', 'waiting', 'waiting', 'waiting'])

  await sql(`select fencepost.set_limit('gate:k', 3)`)
  await turn()
  expect(await places(...ids)).toEqual(['ready', 'ready', 'ready', 'waiting'])
  await sql(`select fencepost.set_limit('gate:k', null)`)
  const leases = await takeAll()
  for (const lease of leases) await finish(db, [{ ...lease, resultText: '{}' }])
  await turn()

  expect(await places(...ids)).toEqual(['succeeded', 'succeeded', 'succeeded', 'ready'])
  expect(await gate()).toMatchObject({ held: 1, declared_limit: 1 })
  await sound()
})
