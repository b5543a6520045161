import { expect, it } from 'vitest'
import { promoteDue, wake } from '../../src/store/control.js'
import { loseExpired } from '../../src/store/lease.js'
import { fail, park, release } from '../../src/store/settle.js'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'
import { setupGates } from '../../test/harness/gates.js'

it('FM_019: given back, a job keeps its slot and is ready with it', async () => {
  const { prevent } = await bundleUnderTest('FM_019')

  const played = await prevent()

  expect(noteOf(played, 'A', 'shuts down, and gives it back')).toBe('released: ready, waiting')
  expect(noteOf(played, 'B', 'looks for work')).toBe('lease 2')
  expect(noteOf(played, 'B', 'finishes, if it has any')).toBe('finished')
  expect(played.violations).toEqual([])
})

type World = Awaited<ReturnType<typeof setupGates>>
type Lease = Awaited<ReturnType<World['take']>>
const waysBack: Record<string, (world: World, lease: Lease) => Promise<unknown>> = {
  'a release': ({ db }, lease) => release(db, [lease], 'shutdown'),
  'a loss': async ({ db, advance }) => {
    await advance(31_000)
    await loseExpired(db)
  },
  'a retry at once': ({ db }, lease) => fail(db, [{ ...lease, errorText: '{}', delayMs: 0, final: false }]),
  'a retry after a delay': async ({ db, advance }, lease) => {
    await fail(db, [{ ...lease, errorText: '{}', delayMs: 5_000, final: false }])
    await advance(6_000)
    await promoteDue(db)
  },
  'a wait for a signal': async ({ db }, lease) => {
    await park(db, lease, 'approval', null)
    await wake(db, lease.jobId, 'approval', '{}')
  },
}
for (const [name, giveBack] of Object.entries(waysBack)) {
  for (const key of ['gate:k', 'fifo:k']) {
    it(`FM_019: after ${name} the job does not wait for itself at ${key}`, async () => {
      const world = await setupGates()
      const id = await world.gated({ key })
      const lease = await world.take()

      await giveBack(world, lease)
      await world.turn()

      expect(await world.places(id)).toEqual(['ready'])
      expect(await world.gate(key)).toMatchObject({ held: 1 })
      await world.sound()
    })
  }
}
