import { expect, it } from 'vitest'
import { cancel } from '../../src/store/control.js'
import { loseExpired } from '../../src/store/lease.js'
import { fail, finish, park, release } from '../../src/store/settle.js'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'
import { setupGates } from '../../test/harness/gates.js'

it('FM_018: the outcome and the next one’s slot are one commit: the killed worker’s successor finds it', async () => {
  const { prevent } = await bundleUnderTest('FM_018')

  const played = await prevent()

  expect(noteOf(played, 'A', 'finishes it, and is killed')).toBe('committed, then killed before the reply')
  expect(noteOf(played, 'B', 'looks for work')).toBe('lease 2')
  expect(played.violations).toEqual([])
})

type World = Awaited<ReturnType<typeof setupGates>>
type Lease = Awaited<ReturnType<World['take']>>
const endings: Record<string, (world: World, lease: Lease) => Promise<unknown>> = {
  finish: ({ db }, lease) => finish(db, [{ ...lease, resultText: '{}' }]),
  'a final failure': ({ db }, lease) => fail(db, [{ ...lease, errorText: '{}', delayMs: 0, final: true }]),
  'a failure with a delay': ({ db }, lease) => fail(db, [{ ...lease, errorText: '{}', delayMs: 5_000, final: false }]),
  park: ({ db }, lease) => park(db, lease, 'approval', null),
  'a release of a cancelled job': async ({ db }, lease) => {
    await cancel(db, [lease.jobId], null)
    await release(db, [lease], 'shutdown')
  },
  'the loss of a cancelled job': async ({ db, advance }, lease) => {
    await cancel(db, [lease.jobId], null)
    await advance(31_000)
    await loseExpired(db)
  },
}
for (const [name, end] of Object.entries(endings)) {
  it(`FM_018: by ${name}, the next is admitted in the very transaction that ends the one before`, async () => {
    const world = await setupGates()
    const first = await world.gated()
    const next = await world.gated()
    await end(world, await world.take())

    const rows = await world.sql(
      `select r.xmin::text = e.xmin::text as together
       from fencepost.ready r, (select job_id, xmin from fencepost.finished union all select job_id, xmin from fencepost.delayed
                                union all select job_id, xmin from fencepost.parked) e
       where r.job_id = $1 and e.job_id = $2`,
      [next, first],
    )

    expect(rows).toEqual([{ together: true }])
    await world.sound()
  })
}
