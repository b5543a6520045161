import { expect, it } from 'vitest'
import { enqueue } from '../../src/store/enqueue.js'
import { finish } from '../../src/store/settle.js'
import { gates, setupGates } from '../../test/harness/gates.js'
import { aJob } from '../../test/harness/setup.js'

it('FM_022: undisturbed, what a transaction enqueues is admitted with the next turn after its commit, and not before', async () => {
  const { db, take, turn, places, see, nudges, sound } = await setupGates()
  const job = aJob({ gatesText: gates({ key: 'gate:k' }) })

  await db.transaction(async (tx) => {
    await enqueue(db, [job], tx)
    await turn()
    expect(await see(job.id)).toBeUndefined()
  })
  expect(await places(job.id)).toEqual(['waiting'])
  await turn()
  expect(await places(job.id)).toEqual(['ready'])
  const lease = await take()
  await db.transaction((tx) => finish(db, [{ ...lease, resultText: '{}' }], tx))
  expect(await nudges()).toEqual(['gate:k'])
  await turn()

  expect(await places(job.id)).toEqual(['succeeded'])
  expect(await nudges()).toEqual([])
  await sound()
})
