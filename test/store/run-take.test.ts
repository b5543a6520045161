import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { cancel } from '../../src/store/control.js'
import { cancelRun, ringTimers, startRun, takeCalls } from '../../src/store/runs.js'
import { finish } from '../../src/store/settle.js'
import { setupRunMoves } from '../harness/runs.js'
import { Session } from '../harness/session.js'

const single = `
name: single
tasks: [{ name: only, action: only }]
`

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
