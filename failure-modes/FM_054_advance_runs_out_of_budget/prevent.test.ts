import { expect, it } from 'vitest'
import { task } from '../../src/index.js'
import { definitionOf } from '../../src/lab/run-steps.js'
import { takeCalls } from '../../src/store/runs.js'
import { untilBlockedBy } from '../../test/harness/blocked.js'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'
import { setupRunMoves } from '../../test/harness/runs.js'
import { Session } from '../../test/harness/session.js'
import { anything, setupWorker } from '../../test/worker/setup.js'

it('FM_054: whoever finds the budget used up fails the run in the same move, and its parent is told', async () => {
  const { prevent } = await bundleUnderTest('FM_054')

  const played = await prevent()

  expect(noteOf(played, 'B', 'looks for runs with something to do')).toBe('nothing to do')
  expect(noteOf(played, 'C', 'goes on with what was told')).toBe('advanced')
  expect(played.violations).toEqual([])
})

const pay = `
name: payouts
tasks: [{ name: pay, action: pay, next: [{ do: again }] }, { name: again, action: pay }]
`

/** A run that so many processes in a row have taken and never advanced. */
async function setupLost(times: number, text = pay) {
  const world = await setupRunMoves()
  const run = await world.start(text)
  const lose = async (more: number) => {
    for (let n = 0; n < more; n++) {
      expect(await takeCalls(world.db, [], 20)).toHaveLength(1)
      await world.advance(11_000)
    }
  }
  await lose(times)
  return { ...world, run, lose }
}

it('FM_054: nineteen lost advances cost nothing, and one that comes to its end pays for all of them', async () => {
  const { steps, run, lose, stateOf, runItems, sql } = await setupLost(19)
  expect(await steps.advanceAll()).toBe('advanced')
  for (const _ of ['pay', 'again']) {
    await runItems(['pay'])
    await lose(19)
    expect(await steps.advanceAll()).toBe('advanced')
  }

  expect(await stateOf(run)).toEqual({ state: 'succeeded', code: null, message: null })
  expect(await sql('select advance_tries from fencepost.run')).toEqual([{ advance_tries: 0 }])
})

it('FM_054: the twentieth fails the run, says so, and tells those that watch it, all in one transaction', async () => {
  const { db, run, start, steps, stateOf, sql, lose } = await setupLost(0)
  const watcher = await start(
    `
name: watcher
parameters: { run: string }
tasks: [{ name: watch, wait_for: { run: "{{ parameters.run }}" } }]
`,
    undefined,
    { run },
  )
  await steps.take()
  await sql('update fencepost.run set busy_until = null, advance_tries = 0 where id = $1', [run])
  steps.decided = steps.decided.filter((change) => change.run === watcher)
  await steps.advance()
  await lose(20)

  expect(await takeCalls(db, [], 20)).toEqual([])

  expect(await stateOf(run)).toEqual({
    state: 'failed',
    code: 'FP_ADVANCE_LOST',
    message: 'its advance was begun 20 times and never came to an end',
  })
  expect(
    await sql(
      `select i.run_id as told, i.payload ->> 'outcome' as outcome, i.xmin::text = r.xmin::text as together
       from fencepost.inbox i, fencepost.run r where i.kind = 'watched' and r.id = $1`,
      [run],
    ),
  ).toEqual([{ told: watcher, outcome: 'failed', together: true }])
  await steps.advanceAll()
  expect(await stateOf(watcher)).toMatchObject({ state: 'failed' })
})

it('FM_054: a worker that is told to stop comes to the end of its advance first, which costs no try', async () => {
  const world = await setupWorker()
  const { fp, sql } = world
  const paying = task('pay', { input: anything, run: () => 'paid' })
  const { id } = await fp.workflows.start({ definition: definitionOf(pay), tasks: [paying], workflows: [] }, {})
  // The id of the first item is taken by somebody who has not committed: the advance waits.
  const other = await Session.open(world)
  await other.begin()
  await other.query(`select fencepost.enqueue('pay', id => fencepost.item_id($1, 'pay', 1, 0))`, [id])
  const worker = await fp.work([paying], { poll: '20ms' })
  await untilBlockedBy(sql, other)

  const stopped = worker.stop()
  await other.rollback()
  await stopped

  expect(await sql('select revision, advance_tries, busy_until from fencepost.run')).toEqual([
    { revision: 1, advance_tries: 0, busy_until: null },
  ])
  const next = await world.client()
  await next.work([paying], { poll: '20ms' })
  await expect.poll(() => sql('select state from fencepost.run'), { timeout: 20_000 }).toEqual([{ state: 'succeeded' }])
})
