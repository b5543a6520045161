import { expect, it } from 'vitest'
import { loseExpired } from '../../src/store/lease.js'
import { finish } from '../../src/store/settle.js'
import { setupGates } from '../../test/harness/gates.js'

it('FM_020: undisturbed, a job whose worker died keeps its slot and its turn, and returns it at its end', async () => {
  const { db, gated, take, advance, see, places, sound } = await setupGates()
  const [first, second] = [await gated(), await gated()]
  await take({ worker: 'A' })
  await advance(31_000)

  expect(await loseExpired(db)).toMatchObject([{ answer: 'lost' }])
  expect(await places(first, second)).toEqual(['ready', 'waiting'])
  await finish(db, [{ ...(await take({ worker: 'B' })), resultText: '{}' }])

  expect(await places(first, second)).toEqual(['succeeded', 'ready'])
  expect(await see(first)).toMatchObject({ tries: 2, failures: 0, losses: 1, releases: 0 })
  await sound()
})
