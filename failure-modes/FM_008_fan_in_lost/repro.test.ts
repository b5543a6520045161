import { expect, it } from 'vitest'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'
import { setupRefunds } from '../../test/harness/fan-in.js'

it('FM_008: told in a transaction of its own, the run never hears of its last item, and waits for it for ever', async () => {
  const { repro } = await bundleUnderTest('FM_008')

  const played = await repro()

  // It knows of the first.
  expect(noteOf(played, 'B', 'takes what the run was told')).toBe('told 1')
  expect(noteOf(played, 'C', 'looks for work')).toBe('nothing to claim')
  expect(played.violations).toEqual([
    'INV_009: task validate was dispatched 0 times',
    'INV_004: a run is left running',
    'INV_009: task check#1 of run 1 waits, and all its items have ended',
  ])
})

it('FM_008: consumed when it is taken, what a run was told dies with whoever has taken it', async () => {
  const world = await setupRefunds()
  await world.without(
    `select fencepost.lab_replace('fencepost.take_calls', 'busy_until = v_now + p_busy_ms * interval ''1 ms'', advance_tries = r.advance_tries + 1
  where r.id = any (v_runs);', 'advance_tries = 0 where r.id = any (v_runs); delete from fencepost.call c where c.run_id = any (v_runs);')`,
  )
  await world.runItems(['refund'], 'fail')

  expect(await world.steps.take()).toBe('told 3')
  await world.advance(60_000)
  expect(await world.stepsOn(world.db).advanceAll()).toBe('nothing to do')
  expect(await world.stateOf(world.run)).toMatchObject({ state: 'running' })
})
