import { expect, it } from 'vitest'
import { finish, release } from '../../src/store/settle.js'
import { setupGates } from '../../test/harness/gates.js'

it('FM_019: undisturbed, a job survives any number of give-backs, is charged for none, and then the next runs', async () => {
  const { db, gated, take, see, places, sound } = await setupGates()
  const [first, second] = [await gated({}, { failuresMax: 0, lossesMax: 0 }), await gated()]
  for (let n = 0; n < 10; n++) {
    const lease = await take()
    expect(lease.jobId).toBe(first)
    expect(await release(db, [lease], 'shutdown')).toMatchObject([{ answer: 'released' }])
  }
  await finish(db, [{ ...(await take()), resultText: '{}' }])

  expect(await see(first)).toMatchObject({ outcome: 'succeeded', tries: 11, failures: 0, losses: 0, releases: 10 })
  expect(await places(second)).toEqual(['ready'])
  await sound()
})
