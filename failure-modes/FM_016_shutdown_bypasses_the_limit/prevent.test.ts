import { expect, it } from 'vitest'
import { markOverrun } from '../../src/store/control.js'
import { loseExpired } from '../../src/store/lease.js'
import { fail, release } from '../../src/store/settle.js'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'
import { setupGates } from '../../test/harness/gates.js'

it('FM_016: given back without its slot, the job waits for it anew, and runs when the other has ended', async () => {
  const { prevent } = await bundleUnderTest('FM_016')

  const played = await prevent()

  expect(noteOf(played, 'A', 'shuts down, and gives the first back')).toBe('released')
  expect(noteOf(played, 'C', 'looks for work')).toBe('nothing to claim')
  expect(noteOf(played, 'C', 'looks again')).toBe('lease 3')
  expect(played.violations).toEqual([])
})

type World = Awaited<ReturnType<typeof setupGates>>
type Lease = Awaited<ReturnType<World['take']>>
const waysBack: Record<string, (world: World, lease: Lease) => Promise<unknown>> = {
  released: ({ db }, lease) => release(db, [lease], 'shutdown'),
  failed: ({ db }, lease) => fail(db, [{ ...lease, errorText: '{}', delayMs: 0, final: false }]),
  lost: async ({ db, advance }) => {
    await advance(31_000)
    await loseExpired(db)
  },
}
for (const [name, giveBack] of Object.entries(waysBack)) {
  it(`FM_016: ${name} after its overrun while nobody else wants the slot, the job runs with the next turn`, async () => {
    const world = await setupGates()
    const id = await world.gated({ overrunMs: 10_000 })
    const lease = await world.take()
    await world.advance(11_000)
    await markOverrun(world.db)

    await giveBack(world, lease)
    await world.turn()

    expect(await world.places(id)).toEqual(['ready'])
    expect(await world.gate()).toMatchObject({ held: 1 })
    await world.sound()
  })

  it(`FM_016: ${name} with its slot, the job keeps it and its place before those who wait`, async () => {
    const world = await setupGates()
    const [first, second] = [await world.gated(), await world.gated()]
    const lease = await world.take()

    await giveBack(world, lease)

    expect(await world.places(first, second)).toEqual(['ready', 'waiting'])
    expect((await world.take()).jobId).toBe(first)
    await world.sound()
  })
}
