import { randomUUID } from 'node:crypto'
import { expect, it } from 'vitest'
import { cancel, markOverrun, promoteDue, retryEnded, wake, yieldPaused } from '../../src/store/control.js'
import { enqueue } from '../../src/store/enqueue.js'
import { pause, resume, setLimit, skip } from '../../src/store/gates.js'
import { claim, extend, type Lease, loseExpired, start } from '../../src/store/lease.js'
import { fail, finish, hold, park, release } from '../../src/store/settle.js'
import { createQueue, deleteQueue, purgeQueue, setQueue } from '../../src/store/sqs-queues.js'
import {
  advance,
  cancelRun,
  pauseRun,
  putWorkflow,
  rerun,
  resumeRun,
  ringTimers,
  startRun,
  takeCalls,
  tellRun,
} from '../../src/store/runs.js'
import { beginStep, endStep } from '../../src/store/step.js'
import { takeTurnStoring } from '../../src/store/turn.js'
import { reapExpired } from '../../src/store/worker.js'
import { definitionOf } from '../../src/lab/run-steps.js'
import { sqlFilesUnderTest } from '../harness/guard-removal.js'
import { setupRunMoves } from '../harness/runs.js'
import { Session } from '../harness/session.js'
import { aJob, setup } from '../harness/setup.js'
import { plainSettings, setupSqs } from '../harness/sqs.js'

const claimOne = { queues: [{ queue: 'default', limit: 1, starts: 1 }], room: 1, suspect: false }
const settingNow = 'show synchronous_commit'

const moves: Record<string, (session: Session, lease: Lease) => Promise<unknown>> = {
  'enqueue commits durably where the session has synchronous_commit off': (s) => enqueue(s, [aJob()]),
  'enqueue of several commits durably where the session has synchronous_commit off': (s) =>
    enqueue(s, [aJob(), aJob({ delayMs: 1 })]),
  'enqueue of several that are alike commits durably where the session has synchronous_commit off': (s) =>
    enqueue(s, [aJob(), aJob()], undefined, true),
  'enqueue with a claim commits durably where the session has synchronous_commit off': (s) =>
    takeTurnStoring(s, { worker: 'w1', turn: 1, tasks: ['test'], claim: claimOne }, [aJob()]),
  'claim commits durably where the session has synchronous_commit off': (s) =>
    claim(s, { queue: 'default', limit: 1, worker: 'w1' }),
  'start commits durably where the session has synchronous_commit off': (s, lease) => start(s, [lease]),
  'extend commits durably where the session has synchronous_commit off': (s, lease) => extend(s, [lease]),
  'finish commits durably where the session has synchronous_commit off': (s, lease) =>
    finish(s, [{ ...lease, resultText: '1' }]),
  'fail commits durably where the session has synchronous_commit off': (s, lease) =>
    fail(s, [{ ...lease, errorText: '1', delayMs: 0, final: false }]),
  'release commits durably where the session has synchronous_commit off': (s, lease) => release(s, [lease], 'x'),
  'lose commits durably where the session has synchronous_commit off': (s) => loseExpired(s),
  'reap commits durably where the session has synchronous_commit off': (s) => reapExpired(s, 0),
  'park commits durably where the session has synchronous_commit off': (s, lease) => park(s, lease, 'go', null),
  'begin_step commits durably where the session has synchronous_commit off': (s, lease) =>
    beginStep(s, lease, 'pay', null, true),
  'end_step commits durably where the session has synchronous_commit off': (s, lease) =>
    endStep(s, lease, 'pay', { resultText: '1' }),
  'hold commits durably where the session has synchronous_commit off': (s, lease) => hold(s, lease, 60_000),
  'wake commits durably where the session has synchronous_commit off': (s, lease) => wake(s, lease.jobId, 'go', '1'),
  'promote commits durably where the session has synchronous_commit off': (s) => promoteDue(s),
  'cancel commits durably where the session has synchronous_commit off': (s, lease) => cancel(s, [lease.jobId], null),
  'retry commits durably where the session has synchronous_commit off': (s, lease) => retryEnded(s, [lease.jobId]),
  'set_limit commits durably where the session has synchronous_commit off': (s) => setLimit(s, 'gate:k', 2),
  'pause commits durably where the session has synchronous_commit off': (s) => pause(s, 'gate:k'),
  'resume commits durably where the session has synchronous_commit off': (s) => resume(s, 'gate:k'),
  'skip commits durably where the session has synchronous_commit off': (s, lease) => skip(s, lease.jobId),
  'overrun commits durably where the session has synchronous_commit off': (s) => markOverrun(s),
  'yield_paused commits durably where the session has synchronous_commit off': (s) => yieldPaused(s),
}

for (const [name, move] of Object.entries(moves)) {
  it(name, async () => {
    const bundle = await setup()
    await bundle.add()
    const lease = await bundle.take()
    const session = await Session.open(bundle)
    await session.query('set synchronous_commit = off')
    await session.begin()

    await move(session, lease)

    expect(await session.query(settingNow)).toEqual([{ synchronous_commit: 'on' }])
    await session.commit()
    // For the transaction only: the session is the caller's.
    expect(await session.query(settingNow)).toEqual([{ synchronous_commit: 'off' }])
  })
}

const nap = `
name: nap
tasks: [{ name: nap, action: core.sleep, input: { for: 10s } }]
`
const runMoves: Record<string, (session: Session, run: string) => Promise<unknown>> = {
  'put_workflow commits durably where the session has synchronous_commit off': (s) =>
    putWorkflow(s, definitionOf(nap), 'another'),
  'start_run commits durably where the session has synchronous_commit off': (s) =>
    startRun(s, { id: randomUUID(), workflow: 'nap', version: 1, parametersText: '{}', needs: [] }),
  'take_calls commits durably where the session has synchronous_commit off': (s) => takeCalls(s, [], 20),
  'advance commits durably where the session has synchronous_commit off': (s) => advance(s, []),
  'ring commits durably where the session has synchronous_commit off': (s) => ringTimers(s),
  'pause_run commits durably where the session has synchronous_commit off': (s, run) => pauseRun(s, run),
  'resume_run commits durably where the session has synchronous_commit off': (s, run) => resumeRun(s, run),
  'cancel_run commits durably where the session has synchronous_commit off': (s, run) =>
    cancelRun(s, run, 'cancel_running', undefined),
  'tell_run commits durably where the session has synchronous_commit off': (s, run) =>
    tellRun(s, run, { kind: 'signal', name: 'go', payloadText: 'null' }),
  'rerun commits durably where the session has synchronous_commit off': (s, run) =>
    rerun(s, run, 'nap', { reset: false, later: [] }),
}

for (const [name, move] of Object.entries(runMoves)) {
  it(name, async () => {
    const world = await setupRunMoves()
    const run = await world.start(nap)
    const session = await Session.open(world)
    await session.query('set synchronous_commit = off')
    await session.begin()

    await move(session, run)

    expect(await session.query(settingNow)).toEqual([{ synchronous_commit: 'on' }])
  })
}

const queueMoves: Record<string, (session: Session) => Promise<unknown>> = {
  'sqs_create commits durably where the session has synchronous_commit off': (s) =>
    createQueue(s, 'another', plainSettings, {}),
  'sqs_set commits durably where the session has synchronous_commit off': (s) =>
    setQueue(s, 'q', plainSettings, { ...plainSettings, delaySeconds: 1 }),
  'sqs_purge commits durably where the session has synchronous_commit off': (s) => purgeQueue(s, 'q', 60_000),
  'sqs_delete_queue commits durably where the session has synchronous_commit off': (s) => deleteQueue(s, 'q'),
}

for (const [name, move] of Object.entries(queueMoves)) {
  it(name, async () => {
    const session = await Session.open(await setupSqs())
    await session.query('set synchronous_commit = off')
    await session.begin()

    await move(session)

    expect(await session.query(settingNow)).toEqual([{ synchronous_commit: 'on' }])
  })
}

it('leaves settings other than off alone', async () => {
  const bundle = await setup()
  const session = await Session.open(bundle)
  for (const setting of ['remote_apply', 'remote_write', 'local', 'on']) {
    await session.begin()
    await session.query(`set local synchronous_commit = ${setting}`)
    await enqueue(session, [aJob(), aJob()])

    expect(await session.query(settingNow)).toEqual([{ synchronous_commit: setting }])
    await session.rollback()
  }
})

it('counts time from the clock on the wall, not from the start of the transaction', async () => {
  const bundle = await setup()
  await bundle.sql(sqlFilesUnderTest().moves.get('clock') as string) // the real one, in place of the tests'
  await bundle.add()
  const session = await Session.open(bundle)
  await session.begin()
  await session.query('select 1')
  const [later] = await bundle.sql<{ at: string }>('select clock_timestamp()::text as at')

  await claim(session, { queue: 'default', limit: 1, worker: 'w1' })

  expect(await session.query('select claimed_at > $1 as after from fencepost.leased', [later?.at])).toEqual([
    { after: true },
  ])
})
