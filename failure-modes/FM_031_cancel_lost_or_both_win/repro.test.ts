import { expect, it } from 'vitest'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'
import { cancelRun } from '../../src/store/runs.js'
import { setupRunEnding } from '../../test/harness/run-ending.js'

it('FM_031: told by a notification and written by id, one cancel is lost, and two both win with a completion', async () => {
  const { repro } = await bundleUnderTest('FM_031')

  const played = await repro()

  expect(noteOf(played, 'operator', 'cancels the first')).toBe('requested')
  expect(noteOf(played, 'D', 'takes leases back')).toContain('lease 1 lost')
  expect(noteOf(played, 'B', 'commits the effect and the outcome')).toBe('finished')
  expect(noteOf(played, 'operator', 'cancels the second, which ran a moment ago')).toBe('cancelled')
  expect(noteOf(played, 'operator', 'cancels the third')).toBe('cancelled')
  expect(noteOf(played, 'C', 'wakes up and commits')).toBe('finished')
  expect(played.violations.filter((violation) => violation.startsWith('INV_003'))).toEqual([
    'INV_003: the cancel of job 1 was lost: it was taken up again, and has succeeded',
    'INV_003: job 3 was cancelled, and has succeeded',
    'INV_003: B has committed its success, and the job is cancelled',
  ])
})

it.each(['dispatches', 'ends'] as const)(
  'FM_031: where the cancel of a run is a mere flag, an advance that %s and was decided before it wins, too',
  async (what) => {
    const { db, run, hand, stateOf, without, made } = await setupRunEnding(what)
    await without(
      `select fencepost.lab_replace('fencepost.cancel_run', 'revision = r.revision + 1, busy_until = null,', '')`,
    )

    expect(await cancelRun(db, run, 'cancel_running', undefined)).toMatchObject({ answer: 'cancelling' })
    expect(await hand.advance()).toBe('advanced')

    expect(await made()).toBe(what === 'dispatches' ? 1 : 0)
    expect(await stateOf(run)).toMatchObject({ state: what === 'dispatches' ? 'running' : 'succeeded' })
  },
)
