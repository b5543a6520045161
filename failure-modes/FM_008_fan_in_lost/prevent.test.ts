import { expect, it } from 'vitest'
import { cancel } from '../../src/store/control.js'
import { loseExpired } from '../../src/store/lease.js'
import { fail, finish, park, release } from '../../src/store/settle.js'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'
import { setupRunMoves } from '../../test/harness/runs.js'

it('FM_008: told with the end itself, the run goes on whoever is killed', async () => {
  const { prevent } = await bundleUnderTest('FM_008')

  const played = await prevent()

  expect(noteOf(played, 'A', 'records its end, and is killed')).toBe('committed, then killed before the reply')
  expect(noteOf(played, 'B', 'takes what the run was told')).toBe('told 2')
  expect(noteOf(played, 'B', 'is killed inside its advance')).toBe('killed')
  expect(noteOf(played, 'C', 'takes what the run was told')).toBe('told 2')
  expect(noteOf(played, 'C', 'dispatches what follows')).toBe('advanced')
  expect(played.violations).toEqual([])
})

const one = `
name: one
tasks:
  - name: check
    action: check
    next: [{ do: validate }, { when: "{{ failed() }}", do: noop }]
  - name: validate
    action: validate
`

type World = Awaited<ReturnType<typeof setupRunMoves>>
type Lease = Awaited<ReturnType<World['takeItem']>>

/** Every way in which an item can end; whichever it is, the run must hear of it. */
const endings: Record<string, (world: World, lease: Lease) => Promise<unknown>> = {
  finish: ({ db }, lease) => finish(db, [{ ...lease, resultText: '1' }]),
  'a final failure': ({ db }, lease) => fail(db, [{ ...lease, errorText: '{}', delayMs: 0, final: true }]),
  'the loss of its last lease': async ({ db, sql, advance }) => {
    await sql('update fencepost.leased set losses_max = 0')
    await advance(31_000)
    await loseExpired(db)
  },
  'a cancel before it runs': async ({ db }, lease) => {
    await release(db, [lease], 'shutdown')
    await cancel(db, [lease.jobId], null)
  },
  'a cancel that its worker hears of': async ({ db }, lease) => {
    await cancel(db, [lease.jobId], null)
    await release(db, [lease], 'cancelled')
  },
  'a cancel that meets it parked': async ({ db }, lease) => {
    await park(db, lease, 'approval', null)
    await cancel(db, [lease.jobId], null)
  },
}
for (const [name, end] of Object.entries(endings)) {
  it(`FM_008: by ${name}, the run is told in the very transaction that ends the item`, async () => {
    const world = await setupRunMoves()
    const run = await world.start(one)
    await world.steps.advanceAll()

    await end(world, await world.takeItem('check'))

    expect(
      await world.sql(
        `select i.xmin::text = f.xmin::text as told, c.xmin::text = f.xmin::text as called
         from fencepost.finished f, fencepost.inbox i, fencepost.call c`,
      ),
    ).toEqual([{ told: true, called: true }])
    await world.steps.advanceAll()
    expect(await world.jobsOf('validate')).toBe(1)
    await world.runItems(['validate'])
    await world.steps.advanceAll()
    expect(await world.stateOf(run)).toMatchObject({ state: 'succeeded' })
  })
}
