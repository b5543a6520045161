import { expect, it } from 'vitest'
import { markOverrun } from '../../src/store/control.js'
import { extend, loseExpired } from '../../src/store/lease.js'
import { finish } from '../../src/store/settle.js'
import { setupGates } from '../../test/harness/gates.js'

it('FM_014: undisturbed, a job that runs for hours keeps its slot by its heartbeats, and the next runs after it', async () => {
  const { db, gated, take, advance, places, see, sound } = await setupGates()
  const [first, second] = [await gated(), await gated()]
  const lease = await take()

  for (let beat = 0; beat < 10; beat++) {
    await advance(20_000)
    expect(await extend(db, [lease])).toMatchObject([{ answer: 'extended' }])
    expect(await loseExpired(db)).toEqual([])
    expect(await markOverrun(db)).toEqual([])
  }
  expect(await places(first, second)).toEqual(['leased', 'waiting'])
  await finish(db, [{ ...lease, resultText: '{}' }])

  expect(await places(first, second)).toEqual(['succeeded', 'ready'])
  expect(await see(first)).toMatchObject({ tries: 1, failures: 0, losses: 0, releases: 0 })
  await sound()
})
