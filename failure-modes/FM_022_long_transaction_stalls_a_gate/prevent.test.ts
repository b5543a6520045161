import { expect, it } from 'vitest'
import { cancel, retryEnded } from '../../src/store/control.js'
import { enqueue } from '../../src/store/enqueue.js'
import { fail, finish } from '../../src/store/settle.js'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'
import { gates, setupGates } from '../../test/harness/gates.js'
import { Session } from '../../test/harness/session.js'
import { aJob } from '../../test/harness/setup.js'

it('FM_022: beside an open transaction the slot is handed on at once, and the third follows the commit', async () => {
  const { prevent } = await bundleUnderTest('FM_022')

  const played = await prevent()

  expect(noteOf(played, 'A', 'finishes the first')).toBe('finished')
  expect(noteOf(played, 'B', 'looks for work')).toBe('lease 2')
  expect(noteOf(played, 'C', 'looks for work')).toBe('lease 3')
  expect(played.violations).toEqual([])
})

type World = Awaited<ReturnType<typeof setupGates>>
type Lease = Awaited<ReturnType<World['take']>>
const dawdlers: Record<string, (tx: Session, lease: Lease, world: World) => Promise<unknown>> = {
  'has enqueued behind the gate': (tx) =>
    enqueue(tx, [aJob({ gatesText: gates({ key: 'gate:k', limit: 2 }) })], tx.client),
  'has finished a job of it': (tx, lease) => finish(tx, [{ ...lease, resultText: '{}' }], tx.client),
  'has failed a job of it': (tx, lease) =>
    fail(tx, [{ ...lease, errorText: '{}', delayMs: 0, final: true }], tx.client),
  'has retried one that had ended': async (tx, _lease, world) => {
    const id = await world.gated({ limit: 2 })
    await cancel(world.db, [id], null)
    return retryEnded(tx, [id], tx.client)
  },
}
for (const [name, dawdle] of Object.entries(dawdlers)) {
  it(`FM_022: a transaction that ${name} and dawdles locks no gate; its own change follows its commit`, async () => {
    const world = await setupGates()
    const { url, connect, db, sql, gated, take, places, turn, sound } = world
    const limit = { limit: 2 }
    await gated(limit)
    await gated(limit)
    const next = await gated(limit)
    const [first, second] = [await take(), await take()]
    const tx = await Session.open({ url, connect })
    await tx.begin()
    await dawdle(tx, first, world)

    // Everyone else goes on, and nobody skips the gate because it is locked.
    expect(await sql('select key from fencepost.gate for update nowait')).toEqual([{ key: 'gate:k' }])
    await finish(db, [{ ...second, resultText: '{}' }])
    expect(await places(next)).toEqual(['ready'])
    expect(await sql('select * from fencepost.nudge')).toEqual([])

    await tx.commit()
    await turn()
    await sound()
  })
}
