import { expect, it } from 'vitest'
import { cancel } from '../../src/store/control.js'
import { finish } from '../../src/store/settle.js'
import { setupGates } from '../../test/harness/gates.js'

it('FM_017: undisturbed, a discarded job that waited is out of the line, and the others keep their order', async () => {
  const { db, gated, take, places, gate, sound } = await setupGates()
  const [a, b, c] = [await gated(), await gated(), await gated()]

  expect(await cancel(db, [b], null)).toMatchObject([{ answer: 'cancelled' }])
  expect(await places(a, b, c)).toEqual(['ready', 'cancelled', 'waiting'])
  await finish(db, [{ ...(await take()), resultText: '{}' }])
  expect(await places(a, b, c)).toEqual(['succeeded', 'cancelled', 'ready'])
  await finish(db, [{ ...(await take()), resultText: '{}' }])

  expect(await gate()).toBeUndefined()
  await sound()
})
