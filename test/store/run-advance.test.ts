import { describe, expect, it } from 'vitest'
import { advance, ringTimers } from '../../src/store/runs.js'
import { promoteDue, wake } from '../../src/store/control.js'
import { claim } from '../../src/store/lease.js'
import { fail, finish, park } from '../../src/store/settle.js'
import type { Change } from '../../src/workflow/run.js'
import { setupRunEnding } from '../harness/run-ending.js'
import { setupRunMoves } from '../harness/runs.js'
import { Session } from '../harness/session.js'

const chain = `
name: chain
tasks:
  - { name: first, action: first, next: [{ do: second }] }
  - { name: second, action: second }
`
const list = (more: string) => `
name: list
tasks:
  - name: each
    action: item
    with_items: [1, 2, 3, 4, 5]
    ${more}
    next: [{ when: "{{ succeeded() }}", do: after }, { when: "{{ failed() }}", do: noop }]
  - name: after
    action: after
`

/** A run whose first task has ended, and what a worker has decided to do about it. */
async function setupDecided() {
  const world = await setupRunMoves()
  const run = await world.start(chain)
  await world.steps.advanceAll()
  await world.runItems(['first'])
  await world.steps.take()
  return { ...world, run, change: world.steps.decided[0] as Change }
}

describe('advance', () => {
  it('refuses what was decided on an older revision', async () => {
    const { db, run, change, jobsOf, sql } = await setupDecided()
    await advance(db, [change])

    expect(await advance(db, [change])).toEqual(new Map([[run, 'conflict']]))

    expect(await jobsOf('second')).toBe(1)
    expect(await sql('select revision from fencepost.run')).toEqual([{ revision: 2 }])
  })

  it('makes an item that it has made before no second time, even if the revision does not tell', async () => {
    const { db, run, change, jobsOf } = await setupDecided()
    await advance(db, [change])

    expect(await advance(db, [{ ...change, revision: change.revision + 1 }])).toEqual(new Map([[run, 'advanced']]))

    expect(await jobsOf('second')).toBe(1)
  })

  it('ends a task run once, even if the revision does not tell', async () => {
    const { db, change, tasksOf, run } = await setupDecided()
    await advance(db, [change])
    const late = { ...change, revision: change.revision + 1, begin: [], jobs: [] }

    await advance(db, [{ ...late, update: change.update.map((task) => ({ ...task, state: 'failed' })) }])

    expect(await tasksOf(run)).toMatchObject({ first: 'succeeded' })
  })

  it('finds what the only item of a task came to by its id', async () => {
    const { start, steps, runItems, sql } = await setupRunMoves()
    await start(`
name: single
tasks: [{ name: first, action: first }]
output: { told: "{{ tasks.first.result }}" }
`)
    await steps.advanceAll()
    await runItems(['first'])
    await steps.advanceAll()

    expect(await sql('select state, output from fencepost.run')).toEqual([{ state: 'succeeded', output: { told: 1 } }])
  })

  it('neither waits for a run that another is changing, nor touches it, should that come to nothing', async () => {
    const world = await setupRunMoves()
    const { db, start, steps, runItems, stateOf } = world
    await steps.deploy(`
name: child
tasks: [{ name: only, action: only }]
`)
    const parent = await start(`
name: parent
tasks: [{ name: child, action: workflow.child }]
`)
    await steps.advanceAll()
    await runItems(['only'])
    const sessions = [await Session.open(world), await Session.open(world)] as const
    const [first, second] = [world.stepsOn(sessions[0]), world.stepsOn(sessions[1])]
    await first.take()
    second.decided = first.decided
    await sessions[0].begin()
    expect(await first.advance()).toBe('advanced')

    expect(await second.advance()).toBe('locked')
    await sessions[0].rollback()

    // Whoever comes next ends the child, and tells the parent.
    expect(await advance(db, first.decided)).toEqual(new Map([[first.decided[0]?.run, 'advanced']]))
    await steps.advanceAll()
    expect(await stateOf(parent)).toMatchObject({ state: 'succeeded' })
  })

  it('keeps the call of what was told after it was decided', async () => {
    const { db, start, steps, takeItem, sql } = await setupRunMoves()
    await start(list(''))
    await steps.advanceAll()
    const leases = [await takeItem('item'), await takeItem('item')] as const
    await finish(db, [{ ...leases[0], resultText: '1' }])
    await steps.take()
    await finish(db, [{ ...leases[1], resultText: '1' }])

    expect(await steps.advance()).toBe('advanced')

    expect(await sql('select count(*) as letters from fencepost.inbox')).toEqual([{ letters: 1 }])
    expect(await steps.take()).toBe('told 1')
  })

  it('keeps the call of what is told while it commits', async () => {
    const world = await setupRunMoves()
    const { db, start, steps, takeItem } = world
    await start(list(''))
    await steps.advanceAll()
    const leases = [await takeItem('item'), await takeItem('item')] as const
    await finish(db, [{ ...leases[0], resultText: '1' }])
    await steps.take()
    const finisher = await Session.open(world)
    await finisher.begin()
    await finish(finisher, [{ ...leases[1], resultText: '1' }])

    expect(await steps.advance()).toBe('advanced')
    await finisher.commit()

    expect(await steps.take()).toBe('told 1')
  })

  it('waits for nobody who is at the calls of its run', async () => {
    const world = await setupRunMoves()
    await world.start(chain)
    const [holder, session] = [await Session.open(world), await Session.open(world)]
    const hand = world.stepsOn(session)
    await hand.take()
    await holder.begin()
    await holder.query('select 1 from fencepost.call for update')

    expect(await hand.advance()).toBe('advanced')
  })

  it('leaves no timer of a task that has ended', async () => {
    const { start, steps, sql } = await setupRunMoves()
    const run = await start(`
name: timed
tasks:
  - { name: wait, wait_for: { signal: go }, timeout: 1h, next: [{ do: after }] }
  - { name: after, action: after }
`)
    await steps.advanceAll()
    expect(await sql('select kind from fencepost.timer')).toEqual([{ kind: 'timeout' }])
    await steps.signal(run, 'go')

    await steps.advanceAll()

    expect(await sql('select kind from fencepost.timer')).toEqual([])
  })

  it('leaves no watch of a task that has ended', async () => {
    const { db, start, steps, sql, advance: pass } = await setupRunMoves()
    const watched = await start(`
name: watched
tasks: [{ name: wait, wait_for: { signal: go } }]
`)
    await start(
      `
name: watcher
parameters: { run: string }
tasks:
  - { name: watch, wait_for: { run: "{{ parameters.run }}" }, timeout: 1h, next: [{ do: after }] }
  - { name: after, action: after }
`,
      undefined,
      { run: watched },
    )
    await steps.advanceAll()
    expect(await sql('select task from fencepost.watch')).toEqual([{ task: 'watch' }])
    await pass(3_600_001)
    await ringTimers(db)

    await steps.advanceAll()

    expect(await sql('select task from fencepost.watch')).toEqual([])
  })

  it('lets no more items of a list run at a time than it says', async () => {
    const { start, steps, sql } = await setupRunMoves()
    await start(list('concurrency: 2'))

    await steps.advanceAll()

    expect(await sql('select place, count(*) as jobs from fencepost.jobs group by place order by place')).toEqual([
      { place: 'ready', jobs: 2 },
      { place: 'waiting', jobs: 3 },
    ])
  })

  it('tells who watches a run of an end that is in flight', async () => {
    const world = await setupRunMoves()
    const { start, steps, runItems, stateOf, advance: pass } = world
    const watched = await start(`
name: watched
tasks: [{ name: last, action: last }]
`)
    const watcher = await start(
      `
name: watcher
parameters: { run: string }
tasks: [{ name: watch, wait_for: { run: "{{ parameters.run }}" } }]
`,
      undefined,
      { run: watched },
    )
    await steps.take()
    const [first, second] = [
      steps.decided.filter(({ run }) => run === watched),
      steps.decided.filter(({ run }) => run === watcher),
    ]
    await advance(world.db, first)
    await runItems(['last'])
    const session = await Session.open(world)
    const hand = world.stepsOn(session)
    await hand.take()
    await session.begin()
    await advance(session, second) // the watch is noted, and not committed

    expect(await steps.take()).toBe('nothing to do')
    expect(await advance(world.db, hand.decided)).toEqual(new Map([[watched, 'locked']]))
    await session.commit()
    await pass(11_000)
    await steps.advanceAll()

    expect(await stateOf(watched)).toMatchObject({ state: 'succeeded' })
    expect(await stateOf(watcher)).toMatchObject({ state: 'succeeded' })
  })
})

describe('watching', () => {
  it('looks again at a run that somebody is just changing', async () => {
    const world = await setupRunEnding('ends')
    const { db, run, session, hand, start, steps, stateOf } = world
    const watcher = await start(
      `
name: watcher
parameters: { run: string }
tasks: [{ name: watch, wait_for: { run: "{{ parameters.run }}" } }]
`,
      undefined,
      { run },
    )
    await session.begin()
    expect(await hand.advance()).toBe('advanced') // it has ended, and nobody sees it yet
    expect(await steps.advanceAll()).toBe('advanced')
    await session.commit()
    await ringTimers(db)

    await steps.advanceAll()

    expect(await stateOf(watcher)).toMatchObject({ state: 'succeeded' })
  })
})

describe('stopping', () => {
  it('asks items that were let end after all, when the run is over its time', async () => {
    const { db, start, steps, takeItem, sql, advance: pass } = await setupRunMoves()
    await start(`timeout: 25s${list('')}`)
    await steps.advanceAll()
    const [first] = [await takeItem('item'), await takeItem('item')]
    await fail(db, [{ ...first, errorText: '{"message":"no"}', delayMs: 0, final: true }])
    await steps.advanceAll()
    const asked = () => sql('select cancel_requested_at is not null as asked from fencepost.leased')
    expect(await asked()).toEqual([{ asked: false }])

    await pass(25_001)
    await ringTimers(db)
    await steps.advanceAll()

    expect(await asked()).toEqual([{ asked: true }])
  })

  it('waits for nobody who is about to end an item, and asks again', async () => {
    const world = await setupRunMoves()
    const { db, start, steps, takeItem, stateOf, sql, advance: pass } = world
    const run = await start(list('on_item_failure: continue'))
    await steps.advanceAll()
    const leases = [await takeItem('item'), await takeItem('item')] as const
    const worker = await Session.open(world)
    await worker.begin()
    await finish(worker, [{ ...leases[0], resultText: '1' }])

    const session = await Session.open(world)
    expect(await world.stepsOn(session).cancel(run)).toBe('cancelling')
    expect(await world.stepsOn(session).advanceAll()).toBe('advanced')
    // What nobody holds is asked, and all others are ended.
    expect(
      await sql('select cancel_requested_at is not null as asked from fencepost.leased order by lease_id'),
    ).toEqual([{ asked: false }, { asked: true }])
    await worker.rollback()
    await pass(1_000)
    expect(await ringTimers(db)).toBe(1)
    await steps.advanceAll()

    expect(await sql('select cancel_requested_at is not null as asked from fencepost.leased')).toEqual([
      { asked: true },
      { asked: true },
    ])
    await fail(
      db,
      leases.map((lease) => ({ ...lease, errorText: '{}', delayMs: 0, final: false })),
    )
    await steps.advanceAll()
    expect(await stateOf(run)).toMatchObject({ state: 'cancelled' })
  })

  it('waits for nobody who is at a run that is an item, and asks again', async () => {
    const world = await setupRunMoves()
    const { db, start, steps, stateOf, sql, advance: pass } = world
    await steps.deploy(`
name: child
tasks: [{ name: wait, wait_for: { signal: go } }]
`)
    const run = await start(`
name: parent
timeout: 25s
tasks: [{ name: child, action: workflow.child }]
`)
    await steps.advanceAll()
    await pass(25_001)
    await ringTimers(db)
    const [holder, session] = [await Session.open(world), await Session.open(world)]
    await holder.begin()
    await holder.query('select 1 from fencepost.run where parent_id = $1 for update', [run])
    expect(await world.stepsOn(session).advanceAll()).toBe('advanced')
    await holder.rollback()
    await pass(1_000)
    await ringTimers(db)
    await steps.advanceAll()

    expect(await stateOf(run)).toMatchObject({ state: 'failed' })
    expect(await sql('select state from fencepost.run where parent_id = $1', [run])).toEqual([{ state: 'cancelled' }])
  })

  it('comes to the last items of a list, however many before them run', async () => {
    const { db, start, steps, sql } = await setupRunMoves()
    const items = Array.from({ length: 2_001 }, (_, n) => n)
    const run = await start(`
name: long
tasks: [{ name: each, action: item, with_items: ${JSON.stringify(items)}, on_item_failure: continue }]
`)
    await steps.advanceAll()
    await claim(db, { queue: 'default', limit: 2_000, worker: 'w1' })

    await steps.cancel(run, 'allow_finish')
    await steps.advanceAll()

    expect(await sql('select job_id from fencepost.ready')).toEqual([])
  })
})

describe('a list one of whose items has failed', () => {
  /** One item has failed, two others run, two wait at the gate of the list. */
  async function setupFailed({ own }: { own: boolean }) {
    const world = await setupRunMoves()
    const run = await world.start(list('concurrency: 3\n    retry: { count: 1 }'))
    await world.steps.advanceAll()
    const leases = [await world.takeItem('item'), await world.takeItem('item'), await world.takeItem('item')] as const
    const failure = { ...leases[0], errorText: '{"message":"no"}', delayMs: 0, final: true }
    if (own) await fail(world.db, [failure])
    else await world.db.transaction((tx) => fail(world.db, [failure], tx)) // its slot is told of by a nudge
    const heed = () => world.sql('select fencepost.admit(null, true, true, 200)')
    const waiting = async () => (await world.sql('select job_id from fencepost.waiting')).length
    return { ...world, run, leases, heed, waiting }
  }

  it('hands its slot over to nobody', async () => {
    const { waiting } = await setupFailed({ own: true })

    expect(await waiting()).toBe(2)
  })

  it('admits nobody when its gate is looked at again', async () => {
    const { waiting, heed } = await setupFailed({ own: false })

    await heed()

    expect(await waiting()).toBe(2)
  })

  it('admits nobody while something else is paused, either', async () => {
    const { waiting, heed, sql } = await setupFailed({ own: false })
    await sql(`select fencepost.pause('queue:other')`)

    await heed()

    expect(await waiting()).toBe(2)
  })

  it('lets those go on that had begun, and come back after a failure', async () => {
    const { db, run, leases, steps, heed, runItems, stateOf, advance: pass } = await setupFailed({ own: true })
    await steps.advanceAll()
    await fail(
      db,
      leases.slice(1).map((lease) => ({ ...lease, errorText: '{}', delayMs: 1_000, final: false })),
    )
    await pass(1_001)
    await promoteDue(db)
    await heed()

    expect(await runItems(['item'])).toBe(2)
    await steps.advanceAll()
    expect(await stateOf(run)).toMatchObject({ state: 'succeeded' })
  })

  it('lets those go on that had begun, and come back after a wait', async () => {
    const { db, run, leases, steps, heed, runItems, stateOf } = await setupFailed({ own: true })
    await steps.advanceAll()
    for (const lease of leases.slice(1)) {
      await park(db, lease, 'go', null)
      await wake(db, lease.jobId, 'go', 'null')
    }
    await heed()

    expect(await runItems(['item'])).toBe(2)
    await steps.advanceAll()
    expect(await stateOf(run)).toMatchObject({ state: 'succeeded' })
  })

  it('leaves no gate behind', async () => {
    const { db, run, leases, steps, heed, stateOf, sql } = await setupFailed({ own: true })
    await finish(
      db,
      leases.slice(1).map((lease) => ({ ...lease, resultText: '1' })),
    )

    await steps.advanceAll()
    await heed()

    expect(await stateOf(run)).toMatchObject({ state: 'succeeded' })
    expect(await sql('select key from fencepost.gate union all select key from fencepost.halt')).toEqual([])
  })
})
