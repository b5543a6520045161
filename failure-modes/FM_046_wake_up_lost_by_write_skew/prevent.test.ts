import { expect, it } from 'vitest'
import { wake } from '../../src/store/control.js'
import { park, finish } from '../../src/store/settle.js'
import { ringTimers, tellRun } from '../../src/store/runs.js'
import { untilBlocked } from '../../test/harness/blocked.js'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'
import { setupRunMoves } from '../../test/harness/runs.js'
import { Session } from '../../test/harness/session.js'
import { setup } from '../../test/harness/setup.js'

it('FM_046: what is told is kept, with its call, until somebody has read it', async () => {
  const { prevent } = await bundleUnderTest('FM_046')

  const played = await prevent()

  expect(noteOf(played, 'P', 'parks its job')).toBe('parked')
  expect(noteOf(played, 'operator', 'approves what is about to be parked')).toBe('woken')
  expect(noteOf(played, 'A', 'lets them wait')).toBe('advanced, advanced, advanced')
  expect(played.violations).toEqual([])
})

const two = `
name: two
tasks:
  - name: each
    action: item
    with_items: [1, 2]
    next: [{ do: after }]
  - name: after
    action: after
`

it.each([
  ['before the advance that has not read it', 'before'],
  ['after the advance that it was told during', 'after'],
])('FM_046: an item that ends during an advance, and commits %s, is heard of by the next', async (_, commits) => {
  const world = await setupRunMoves()
  const { db, start, steps, takeItem, jobsOf, sql } = world
  await start(two)
  await steps.advanceAll()
  const [first, second] = [await takeItem('item'), await takeItem('item')]
  await finish(db, [{ ...first, resultText: '1' }])
  await steps.take()
  const finisher = await Session.open(world)
  await finisher.begin()
  await finish(finisher, [{ ...second, resultText: '1' }])
  if (commits === 'before') await finisher.commit()

  expect(await steps.advance()).toBe('advanced')
  if (commits === 'after') await finisher.commit()

  expect(await sql('select count(*) as letters from fencepost.inbox')).toEqual([{ letters: 1 }])
  expect(await steps.advanceAll()).toBe('advanced')
  expect(await jobsOf('after')).toBe(1)
  expect(await sql('select run_id from fencepost.call')).toEqual([])
})

const waits = {
  signal: 'wait_for: { signal: approved }',
  answer: 'action: core.ask\n    input: { title: approved }',
} as const
for (const [kind, wait] of Object.entries(waits) as ['signal' | 'answer', string][]) {
  it.each(['long before', 'after that was decided', 'while that is committed'])(
    `FM_046: the ${kind} that a run waits for is found if it is sent %s`,
    async (when) => {
      const world = await setupRunMoves()
      const { db, start, steps, runItems, stateOf } = world
      const run = await start(`
name: waiter
tasks:
  - name: before
    action: before
    next: [{ do: approved }]
  - name: approved
    ${wait}
`)
      const sender = await Session.open(world)
      const send = () => tellRun(sender, run, { kind, name: 'approved', payloadText: '{"by":"me"}', ordinal: 1 })
      await steps.advanceAll()
      if (when === 'long before') {
        expect(await send()).toBe('sent')
        await steps.advanceAll()
      }
      await runItems(['before'])
      await steps.take()
      if (when !== 'long before') {
        await sender.begin()
        expect(await send()).toBe('sent')
        if (when === 'after that was decided') await sender.commit()
      }
      expect(await steps.advance()).toBe('advanced')
      if (when === 'while that is committed') await sender.commit()

      await steps.advanceAll()

      expect(await stateOf(run)).toMatchObject({ state: 'succeeded' })
      expect(await world.sql(`select result from fencepost.task_run where task = 'approved'`)).toEqual([
        { result: { by: 'me' } },
      ])
      expect(await tellRun(db, run, { kind, name: 'approved', payloadText: 'null' })).toBe('ended')
    },
  )
}

/** A run that is about to end, and one that is about to wait for that end. */
async function setupWatch() {
  const world = await setupRunMoves()
  const { start, steps, runItems } = world
  const watched = await start(`
name: watched
tasks: [{ name: last, action: last }]
`)
  const watcher = await start(
    `
name: watcher
parameters: { run: string }
tasks:
  - { name: before, action: before, next: [{ do: watch }] }
  - { name: watch, wait_for: { run: "{{ parameters.run }}" } }
`,
    undefined,
    { run: watched },
  )
  await steps.advanceAll()
  const sessions = { watcher: await Session.open(world), watched: await Session.open(world) }
  const hands = { watcher: world.stepsOn(sessions.watcher), watched: world.stepsOn(sessions.watched) }
  await runItems(['before'])
  await hands.watcher.take()
  await runItems(['last'])
  await hands.watched.take()
  return { ...world, watched, watcher, sessions, hands }
}

it('FM_046: the end of a run that another is about to watch comes after that, and tells it', async () => {
  const { hands, sessions, steps, stateOf, watcher, watched, advance } = await setupWatch()
  await sessions.watcher.begin()
  expect(await hands.watcher.advance()).toBe('advanced')

  expect(await hands.watched.advance()).toBe('locked')
  await sessions.watcher.commit()
  await advance(11_000)
  await steps.advanceAll()
  await steps.advanceAll()

  expect(await stateOf(watched)).toMatchObject({ state: 'succeeded' })
  expect(await stateOf(watcher)).toMatchObject({ state: 'succeeded' })
})

it.each(['commit', 'rollback'] as const)(
  'FM_046: a run that is just ending, then to %s, is looked at again by who watches it',
  async (how) => {
    const { db, hands, sessions, steps, stateOf, watcher, watched, advance } = await setupWatch()
    await sessions.watched.begin()
    expect(await hands.watched.advance()).toBe('advanced')

    expect(await hands.watcher.advance()).toBe('advanced')
    await sessions.watched[how]()
    expect(await ringTimers(db)).toBe(1)
    await steps.advanceAll()
    expect(await stateOf(watcher)).toMatchObject({ state: how === 'commit' ? 'succeeded' : 'running' })
    await advance(11_000)
    await steps.advanceAll()

    expect(await stateOf(watched)).toMatchObject({ state: 'succeeded' })
    expect(await stateOf(watcher)).toMatchObject({ state: 'succeeded' })
  },
)

it.each(['park', 'wake'] as const)(
  'FM_046: of a park and a signal that meet in flight, %s first, the second waits for the first and sees it',
  async (firstMove) => {
    const bundle = await setup()
    const id = await bundle.add()
    const lease = await bundle.take()
    const [first, second] = [await Session.open(bundle), await Session.open(bundle)]
    const moves = {
      park: (on: Session) => park(on, lease, 'approved', null).then(({ answer }) => answer as string),
      wake: (on: Session) => wake(on, id, 'approved', '1') as Promise<string>,
    }
    await first.begin()
    expect(await moves[firstMove](first)).toBe(firstMove === 'park' ? 'parked' : 'kept')

    const later = moves[firstMove === 'park' ? 'wake' : 'park'](second)
    await untilBlocked(bundle.sql, second.pid, later)
    await first.commit()

    expect(await later).toBe(firstMove === 'park' ? 'woken' : 'signalled')
    expect(await bundle.placesOf(id)).toEqual([firstMove === 'park' ? 'ready' : 'leased'])
  },
)
