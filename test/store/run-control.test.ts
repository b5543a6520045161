import { describe, expect, it } from 'vitest'
import { retryEnded } from '../../src/store/control.js'
import { cancelRun, pauseRun, rerun, resumeRun, takeCalls, tellRun } from '../../src/store/runs.js'
import { finish } from '../../src/store/settle.js'
import { untilBlocked } from '../harness/blocked.js'
import { setupRunEnding } from '../harness/run-ending.js'
import { setupRunMoves } from '../harness/runs.js'
import { Session } from '../harness/session.js'

const waiter = `
name: waiter
tasks: [{ name: wait, wait_for: { signal: go } }]
`

const single = `
name: single
tasks: [{ name: only, action: only }]
`

describe('pause_run', () => {
  it('makes void what was decided before it', async () => {
    const { db, run, hand, made, stateOf } = await setupRunEnding('dispatches')

    expect(await pauseRun(db, run)).toMatchObject({ answer: 'paused' })
    expect(await hand.advance()).toBe('conflict')

    expect(await made()).toBe(0)
    expect(await stateOf(run)).toMatchObject({ state: 'paused' })
  })
})

describe('resume_run', () => {
  it('goes on with what was told meanwhile', async () => {
    const { db, start, steps, stateOf } = await setupRunMoves()
    const run = await start(waiter)
    await steps.advanceAll()
    await pauseRun(db, run)
    await tellRun(db, run, { kind: 'signal', name: 'go', payloadText: 'null' })
    expect(await steps.advanceAll()).toBe('nothing to do')

    expect(await resumeRun(db, run)).toMatchObject({ answer: 'resumed' })

    await steps.advanceAll()
    expect(await stateOf(run)).toMatchObject({ state: 'succeeded' })
  })
})

describe('cancel_run', () => {
  it('makes void what was decided before it', async () => {
    const { db, run, hand, made, stateOf } = await setupRunEnding('dispatches')

    expect(await cancelRun(db, run, 'allow_finish', undefined)).toMatchObject({ answer: 'cancelling' })
    expect(await hand.advance()).toBe('conflict')

    expect(await made()).toBe(0)
    expect(await stateOf(run)).toMatchObject({ state: 'cancelling' })
  })

  it('ends a run that waits for somebody', async () => {
    const { db, start, steps, stateOf } = await setupRunMoves()
    const run = await start(waiter)
    await steps.advanceAll()

    await cancelRun(db, run, 'cancel_running', undefined)

    await steps.advanceAll()
    expect(await stateOf(run)).toMatchObject({ state: 'cancelled' })
  })

  it('lets nobody through the gate of a list after the answer, however long the list is', async () => {
    const { db, start, steps, takeItem, sql } = await setupRunMoves()
    const items = Array.from({ length: 1_002 }, (_, n) => n)
    const run = await start(`
name: long
tasks: [{ name: each, action: item, with_items: ${JSON.stringify(items)}, concurrency: 1, on_item_failure: continue }]
`)
    await steps.advanceAll()
    const lease = await takeItem('item')

    await cancelRun(db, run, 'allow_finish', undefined)
    await finish(db, [{ ...lease, resultText: '1' }])
    await sql('select fencepost.admit(null, true, true, 200)')

    expect(await sql('select job_id from fencepost.ready')).toEqual([])
  })

  it('that lets what runs end asks no item that runs to stop', async () => {
    const { db, start, steps, takeItem, sql } = await setupRunMoves()
    const run = await start(single)
    await steps.advanceAll()
    await takeItem('only')

    await cancelRun(db, run, 'allow_finish', undefined)

    expect(await sql('select cancel_requested_at from fencepost.leased')).toEqual([{ cancel_requested_at: null }])
  })

  it('is not taken back in part by a milder one that comes later', async () => {
    const { db, start, steps, takeItem, sql } = await setupRunMoves()
    const run = await start(single)
    await steps.advanceAll()
    await takeItem('only')
    await cancelRun(db, run, 'cancel_running', 'first')

    expect(await cancelRun(db, run, 'allow_finish', 'second')).toMatchObject({ answer: 'already' })

    expect(await sql(`select cancel_mode, error ->> 'message' as message from fencepost.run`)).toEqual([
      { cancel_mode: 'cancel_running', message: 'first' },
    ])
  })
})

describe('rerun', () => {
  it('goes on with what was cut off when nobody could advance the run any more', async () => {
    const { db, start, steps, runItems, stateOf, sql } = await setupRunMoves()
    const run = await start(`
name: two
tasks: [{ name: one, action: one }, { name: each, action: item, with_items: [1, 2] }]
`)
    await steps.advanceAll()
    await steps.signal(run, 'look')
    await sql('update fencepost.run set advance_tries = 20')
    await takeCalls(db, [], 20)
    expect(await stateOf(run)).toMatchObject({ state: 'failed', code: 'FP_ADVANCE_LOST' })

    await rerun(db, run, 'one', { reset: false, later: [] })

    await steps.advanceAll()
    expect(await runItems(['one', 'item'])).toBe(3)
    await steps.advanceAll()
    expect(await stateOf(run)).toMatchObject({ state: 'succeeded' })
  })

  it('lets through the gate of a list those that its failure had kept waiting', async () => {
    const { db, start, steps, runItems, stateOf, sql } = await setupRunMoves()
    const run = await start(`
name: narrow
tasks: [{ name: each, action: item, with_items: [1, 2], concurrency: 1 }]
`)
    await steps.advanceAll()
    await runItems(['item'], 'fail')
    await sql('update fencepost.run set advance_tries = 20')
    await takeCalls(db, [], 20)
    expect(await stateOf(run)).toMatchObject({ state: 'failed', code: 'FP_ADVANCE_LOST' })

    await rerun(db, run, 'each', { reset: false, later: [] })

    for (let n = 0; n < 2; n++) {
      await steps.advanceAll()
      expect(await runItems(['item'])).toBe(1)
    }
    await steps.advanceAll()
    expect(await stateOf(run)).toMatchObject({ state: 'succeeded' })
  })

  it('of two at the same time happens once', async () => {
    const world = await setupRunMoves()
    const { start, steps, runItems, sql } = world
    const run = await start(single)
    await steps.advanceAll()
    await runItems(['only'], 'fail')
    await steps.advanceAll()
    const sessions = [await Session.open(world), await Session.open(world)] as const
    await sessions[0].begin()
    await rerun(sessions[0], run, 'only', { reset: false, later: [] })
    const second = rerun(sessions[1], run, 'only', { reset: false, later: [] })
    await untilBlocked(sql, sessions[1].pid, second)
    await sessions[0].commit()

    expect(await second).toMatchObject({ answer: 'running' })

    expect(await sql('select kind from fencepost.inbox')).toEqual([{ kind: 'rerun' }])
  })

  it('of a run that is an item is for its parent to say', async () => {
    const { db, start, steps, runItems, sql } = await setupRunMoves()
    await steps.deploy(single)
    await start(`
name: parent
tasks: [{ name: child, action: workflow.single }]
`)
    await steps.advanceAll()
    await runItems(['only'], 'fail')
    await steps.advanceAll()
    const [child] = await sql<{ id: string }>('select id from fencepost.run where parent_id is not null')

    expect(await rerun(db, child?.id as string, 'only', { reset: false, later: [] })).toMatchObject({
      answer: 'item_of',
    })

    expect(await sql('select state from fencepost.run')).toEqual([{ state: 'failed' }, { state: 'failed' }])
  })

  it('counts the items that had succeeded when nobody could advance the run any more', async () => {
    const { db, start, steps, takeItem, runItems, stateOf, advance } = await setupRunMoves()
    const run = await start(`
name: list
tasks:
  - { name: each, action: item, with_items: [1, 2, 3], next: [{ do: after }] }
  - { name: after, action: after }
`)
    await steps.advanceAll()
    for (const _ of [1, 2]) await finish(db, [{ ...(await takeItem('item')), resultText: '1' }])
    for (let n = 0; n <= 20; n++) {
      await takeCalls(db, [], 20)
      await advance(11_000)
    }
    expect(await stateOf(run)).toMatchObject({ state: 'failed', code: 'FP_ADVANCE_LOST' })

    expect(await rerun(db, run, 'each', { reset: false, later: ['after'] })).toMatchObject({ answer: 'rerunning' })

    await steps.advanceAll()
    expect(await runItems(['item'])).toBe(1)
    await steps.advanceAll()
    expect(await runItems(['after'])).toBe(1)
    await steps.advanceAll()
    expect(await stateOf(run)).toMatchObject({ state: 'succeeded' })
  })
})

describe('rerun of a list of sub-workflows', () => {
  const child = `
name: child
parameters: { n: integer }
tasks: [{ name: only, action: item, input: "{{ parameters.n }}" }]
`
  const parent = `
name: parent
tasks: [{ name: each, action: workflow.child, with_items: [0, 1], input: { n: "{{ item }}" } }]
`
  /** The first has succeeded, the second failed, and so has the run. */
  async function setupHalfDone() {
    const bundle = await setupRunMoves()
    const { db, sql, start, steps, takeItem, runItems } = bundle
    await steps.deploy(child)
    const run = await start(parent)
    await steps.advanceAll()
    await finish(db, [{ ...(await takeItem('item')), resultText: '1' }])
    await runItems(['item'], 'fail')
    await steps.advanceAll()
    const items = () =>
      sql<{ state: string }>('select state from fencepost.run where parent_id = $1 order by state desc', [run])
    const makeAgain = () =>
      sql(
        `select fencepost.make_run(r.id, r.workflow, r.version, r.parameters, r.needs, r.parent_id, r.parent_task,
                                   r.parent_ordinal, r.parent_item, '{}')
         from fencepost.run r where r.parent_id = $1`,
        [run],
      )
    return { ...bundle, run, items, makeAgain }
  }

  it('makes anew what did not succeed, with jobs of its own', async () => {
    const { db, run, steps, runItems, items, stateOf, jobsOf } = await setupHalfDone()
    expect(await items()).toEqual([{ state: 'succeeded' }, { state: 'failed' }])
    await rerun(db, run, 'each', { reset: false, later: [] })
    await steps.advanceAll()
    expect(await items()).toEqual([{ state: 'succeeded' }, { state: 'running' }])
    expect(await runItems(['item'])).toBe(1)
    await steps.advanceAll()
    expect(await stateOf(run)).toMatchObject({ state: 'succeeded' })
    expect(await jobsOf('item')).toBe(3)
  })

  it('makes an item anew once, whoever makes it a second time', async () => {
    const { db, run, steps, runItems, items, makeAgain, sql } = await setupHalfDone()
    await rerun(db, run, 'each', { reset: false, later: [] })
    await steps.advanceAll()
    expect(await runItems(['item'], 'fail')).toBe(1)
    await steps.advanceAll()
    expect(await items()).toEqual([{ state: 'succeeded' }, { state: 'failed' }])

    await makeAgain()

    expect(await items()).toEqual([{ state: 'succeeded' }, { state: 'failed' }])
    expect(await sql('select kind from fencepost.inbox')).toEqual([])
  })

  it('tells once more of what had succeeded, but not a second time', async () => {
    const { makeAgain, sql } = await setupHalfDone()
    await makeAgain()
    expect(await sql('select kind, item from fencepost.inbox')).toEqual([])
  })

  it('begins the whole task anew while one of its runs is still under way', async () => {
    const { db, start, steps, stateOf, tasksOf, runItems, advance } = await setupRunMoves()
    await steps.deploy(child)
    const run = await start(parent.replace('with_items', 'concurrency: 1, with_items'))
    await steps.advanceAll()
    for (let n = 0; n <= 20; n++) {
      await tellRun(db, run, { kind: 'signal', name: 'x', payloadText: 'null' })
      await takeCalls(db, [], 20)
      await advance(11_000)
    }
    expect(await stateOf(run)).toMatchObject({ state: 'failed', code: 'FP_ADVANCE_LOST' })

    await rerun(db, run, 'each', { reset: false, later: [] })

    await steps.advanceAll()
    for (let n = 0; n < 2; n++) {
      expect(await runItems(['item'])).toBe(1)
      await steps.advanceAll()
    }
    expect(await tasksOf(run)).toEqual({ each: 'succeeded' })
    expect(await stateOf(run)).toMatchObject({ state: 'succeeded' })
  })
})

describe('retry', () => {
  it('leaves the items of runs to a rerun', async () => {
    const { db, start, steps, runItems, sql } = await setupRunMoves()
    await start(`
name: single
tasks: [{ name: only, action: only }]
`)
    await steps.advanceAll()
    await runItems(['only'], 'fail')
    const [job] = await sql<{ id: string }>('select id from fencepost.job')

    expect(await retryEnded(db, [job?.id as string])).toMatchObject([{ answer: 'item' }])

    expect(await sql('select outcome from fencepost.finished')).toEqual([{ outcome: 'failed' }])
  })
})

it('a run keeps a thousand signals that nothing waits for, and no more', async () => {
  const { db, start, sql } = await setupRunMoves()
  const run = await start(waiter)
  await sql(
    `insert into fencepost.inbox (run_id, at, kind, task) select $1, fencepost.clock(), 'signal', 'early'
     from generate_series(1, 1000)`,
    [run],
  )

  expect(await tellRun(db, run, { kind: 'signal', name: 'go', payloadText: 'null' })).toBe('full')
})
