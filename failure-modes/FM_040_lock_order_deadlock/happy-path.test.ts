import { expect, it } from 'vitest'
import { cancel } from '../../src/store/control.js'
import { finish } from '../../src/store/settle.js'
import { setupGates } from '../../test/harness/gates.js'

it('FM_040: undisturbed, a cancel frees the slot of a job that is ready, and asks one that runs; the next follow', async () => {
  const { db, gated, take, places, sound } = await setupGates()
  const ids = [await gated(), await gated(), await gated()]

  await cancel(db, [ids[0] as string], null)
  expect(await places(...ids)).toEqual(['cancelled', 'ready', 'waiting'])
  const lease = await take()
  expect(await cancel(db, [lease.jobId], null)).toMatchObject([{ answer: 'requested' }])
  expect(await finish(db, [{ ...lease, resultText: '{}' }])).toMatchObject([{ answer: 'finished' }])

  expect(await places(...ids)).toEqual(['cancelled', 'succeeded', 'ready'])
  await sound()
})
