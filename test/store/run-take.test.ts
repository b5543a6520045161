import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { cancel } from '../../src/store/control.js'
import { definitionOf } from '../../src/lab/run-steps.js'
import { cancelRun, pauseRun, putWorkflow, ringTimers, startRun, takeCalls } from '../../src/store/runs.js'
import { finish } from '../../src/store/settle.js'
import { untilBlocked } from '../harness/blocked.js'
import { setupRunEnding } from '../harness/run-ending.js'
import { setupRunMoves } from '../harness/runs.js'
import { pauseScansOf } from '../harness/scan-pause.js'
import { Session } from '../harness/session.js'

const single = `
name: single
tasks: [{ name: only, action: only }]
`

/** Somebody who looks for runs with something to do, and has seen them as they were before `meanwhile`. */
async function takeAfter(
  world: Awaited<ReturnType<typeof setupRunMoves>>,
  meanwhile: () => Promise<unknown>,
): Promise<readonly unknown[]> {
  const [gate, taker] = [await Session.open(world), await Session.open(world)]
  const pause = await pauseScansOf('run', gate, taker)
  const taking = takeCalls(taker, [], 20)
  await untilBlocked(world.sql, taker.pid, taking)
  await meanwhile()
  await pause.resume()
  return taking
}

describe('put_workflow', () => {
  it('gives two definitions that are put at the same time two versions', async () => {
    const world = await setupRunMoves()
    const sessions = [await Session.open(world), await Session.open(world)] as const
    await sessions[0].begin()
    expect(await putWorkflow(sessions[0], definitionOf(single), 'one')).toBe(1)
    const second = putWorkflow(sessions[1], definitionOf(single), 'two')
    await untilBlocked(world.sql, sessions[1].pid, second)
    await sessions[0].commit()

    expect(await second).toBe(2)
  })

  it('gives the same definition the same version, also if it is put again after a lost reply', async () => {
    const { db } = await setupRunMoves()
    expect(await putWorkflow(db, definitionOf(single), 'one')).toBe(1)

    expect(await putWorkflow(db, definitionOf(single), 'one')).toBe(1)
  })
})

describe('start_run', () => {
  it('answers existing to the same run again, and touches nothing', async () => {
    const { db, steps, sql } = await setupRunMoves()
    const { name, version } = await steps.deploy(single)
    const run = { id: randomUUID(), workflow: name, version, parametersText: '{}', needs: [] }
    expect(await startRun(db, run)).toBe('started')
    await steps.advanceAll()

    expect(await startRun(db, run)).toBe('existing')

    expect(await steps.take()).toBe('nothing to do')
    expect(await sql('select revision from fencepost.run')).toEqual([{ revision: 1 }])
    await expect(startRun(db, { ...run, parametersText: '{"n":1}' })).rejects.toMatchObject({ code: 'FP_ID_CONFLICT' })
  })
})

describe('take_calls', () => {
  it('leaves a run to those who have the code that it needs', async () => {
    const { db, steps } = await setupRunMoves()
    const { name, version } = await steps.deploy(single)
    const id = randomUUID()
    await startRun(db, { id, workflow: name, version, parametersText: '{}', needs: ['only'] })

    expect(await takeCalls(db, ['other'], 20)).toEqual([])
    expect(await takeCalls(db, ['other', 'only'], 20)).toMatchObject([{ run: { id } }])
  })

  it('fails a run that was taken twenty times in a row and never advanced, and tells its parent', async () => {
    const { db, start, steps, stateOf, advance } = await setupRunMoves()
    await steps.deploy(single)
    const parent = await start(`
name: parent
tasks: [{ name: child, action: workflow.single }]
`)
    await steps.take()
    await steps.advance()
    for (let n = 0; n < 20; n++) {
      expect(await takeCalls(db, [], 20)).toHaveLength(1)
      await advance(11_000)
    }

    expect(await takeCalls(db, [], 20)).toEqual([])

    await steps.advanceAll()
    expect(await stateOf(parent)).toMatchObject({ state: 'failed', code: 'FP_ADVANCE_LOST' })
  })

  it('passes over runs that somebody holds locked, however many', async () => {
    const world = await setupRunMoves()
    const { db, start } = world
    const held = await Promise.all(Array.from({ length: 25 }, () => start(single)))
    const other = await start(single)
    const session = await Session.open(world)
    await session.begin()
    for (const run of held) await cancelRun(session, run, 'cancel_running', undefined)

    expect(await takeCalls(db, [], 20)).toMatchObject([{ run: { id: other } }])
  })

  it('leaves a run alone that was paused after it had looked', async () => {
    const world = await setupRunMoves()
    const run = await world.start(single)

    expect(await takeAfter(world, () => pauseRun(world.db, run))).toEqual([])
  })

  it('leaves a run alone that has ended after it had looked', async () => {
    const world = await setupRunEnding('ends')
    await world.advance(11_000) // longer than it counts as busy

    expect(await takeAfter(world, () => world.hand.advance())).toEqual([])

    expect(await world.stateOf(world.run)).toMatchObject({ state: 'succeeded' })
  })

  it('does not fail a run that another has taken for the last time after it had looked', async () => {
    const world = await setupRunMoves()
    const { db, start, stateOf, advance } = world
    const run = await start(single)
    for (let n = 0; n < 19; n++) {
      expect(await takeCalls(db, [], 20)).toHaveLength(1)
      await advance(11_000)
    }

    expect(await takeAfter(world, () => takeCalls(db, [], 20))).toEqual([])

    expect(await stateOf(run)).toMatchObject({ state: 'running' })
  })

  it('waits for nobody who is at the calls of a paused run', async () => {
    const world = await setupRunMoves()
    const { db, start } = world
    const paused = await start(single)
    await pauseRun(db, paused)
    const other = await start(single)
    const [holder, taker] = [await Session.open(world), await Session.open(world)]
    await holder.begin()
    await holder.query('select 1 from fencepost.call where run_id = $1 for update', [paused])

    expect(await takeCalls(taker, [], 20)).toMatchObject([{ run: { id: other } }])
  })

  it('leaves nothing behind of a run that it fails: no timer, nothing watched, no letter', async () => {
    const { db, start, steps, stateOf, sql } = await setupRunMoves()
    const watched = await start(`
name: waiter
tasks: [{ name: wait, wait_for: { signal: go } }]
`)
    const run = await start(
      `
name: watcher
parameters: { run: string }
tasks: [{ name: other, wait_for: { run: "{{ parameters.run }}" }, timeout: 1h }]
`,
      randomUUID(),
      { run: watched },
    )
    await steps.advanceAll()
    const left = async () => [
      ...(await sql('select kind from fencepost.timer')),
      ...(await sql('select task from fencepost.watch')),
      ...(await sql('select kind from fencepost.inbox')),
    ]
    expect(await left()).toHaveLength(2)
    await steps.signal(run, 'look')
    await sql('update fencepost.run set advance_tries = 20 where id = $1', [run])

    expect(await takeCalls(db, [], 20)).toEqual([])

    expect(await stateOf(run)).toMatchObject({ state: 'failed', code: 'FP_ADVANCE_LOST' })
    expect(await left()).toEqual([])
  })
})

describe('the end of an item', () => {
  it('is told to its run, which is called', async () => {
    const { db, start, steps, takeItem, stateOf } = await setupRunMoves()
    const run = await start(single)
    await steps.advanceAll()
    await finish(db, [{ ...(await takeItem('only')), resultText: '1' }])

    expect(await steps.take()).toBe('told 1')
    await steps.advance()
    expect(await stateOf(run)).toMatchObject({ state: 'succeeded' })
  })

  it('that is a run is told to its parent', async () => {
    const { start, steps, runItems, stateOf } = await setupRunMoves()
    await steps.deploy(single)
    const run = await start(`
name: parent
tasks: [{ name: child, action: workflow.single }]
`)
    await steps.advanceAll()
    await runItems(['only'])
    await steps.advanceAll()

    expect(await stateOf(run)).toMatchObject({ state: 'succeeded' })
  })

  it('by a cancel is told, too', async () => {
    const { db, start, steps, stateOf, sql } = await setupRunMoves()
    const run = await start(single)
    await steps.advanceAll()
    const [item] = await sql<{ id: string }>('select id from fencepost.job')
    await cancel(db, [item?.id as string], null)
    await steps.advanceAll()

    expect(await stateOf(run)).toMatchObject({ state: 'failed' })
  })
})

describe('ring', () => {
  it('tells a run of its timers when they are due, and not before', async () => {
    const { db, start, steps, stateOf, advance } = await setupRunMoves()
    const run = await start(`
name: nap
tasks: [{ name: nap, action: core.sleep, input: { for: 10s } }]
`)
    await steps.advanceAll()
    await advance(9_000)
    expect(await ringTimers(db)).toBe(0)
    expect(await steps.advanceAll()).toBe('nothing to do')
    await advance(1_001)

    expect(await ringTimers(db)).toBe(1)

    await steps.advanceAll()
    expect(await stateOf(run)).toMatchObject({ state: 'succeeded' })
  })
})

it('does not wait for a timer that somebody else rings', async () => {
  const bundle = await setupRunMoves()
  await bundle.start(`
name: nap
tasks: [{ name: nap, action: core.sleep, input: { for: 10s } }]
`)
  await bundle.steps.advanceAll()
  await bundle.advance(11_000)
  const [holder, asking] = [await Session.open(bundle), await Session.open(bundle)]
  await holder.begin()
  await holder.query('select 1 from fencepost.timer for update')

  expect(await ringTimers(asking)).toBe(0)
  await holder.rollback()
})
