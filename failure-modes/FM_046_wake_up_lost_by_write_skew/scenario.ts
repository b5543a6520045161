import type { Actor } from '../../src/lab/actor.js'
import { committedThenKilled, type Inspection } from '../../src/lab/inspection.js'
import { goesOn, scenario, scene, step } from '../../src/lab/scenario.js'
import { wake } from '../../src/store/control.js'
import type { Fence } from '../../src/job/places.js'
import { park } from '../../src/store/settle.js'

const watcher = `
name: watcher
parameters: { run: string }
tasks:
  - name: before
    action: before
    next: [{ do: watch }]
  - name: watch
    wait_for: { run: "{{ parameters.run }}" }
`
const fan = `
name: fan
tasks:
  - name: each
    action: item
    with_items: [1, 2]
    next: [{ do: after }]
  - name: after
    action: after
`
const waiter = `
name: waiter
tasks:
  - name: before
    action: before
    next: [{ do: wait }]
  - name: wait
    wait_for: { signal: approved }
`
const watched = `
name: watched
tasks:
  - name: last
    action: last
`

async function startAll(producer: Actor): Promise<string> {
  const { runs } = producer
  const [first, second, third, fourth] = producer.runIds as [string, string, string, string]
  await runs.start(first, watcher, { run: fourth })
  await runs.start(second, fan)
  await runs.start(third, waiter)
  await runs.start(fourth, watched)
  return runs.advanceAll()
}

/** Claims so many jobs of a task, and ends them. */
async function doSome(worker: Actor, task: string, count: number): Promise<string> {
  for (let n = 0; n < count; n++) {
    await worker.claim([task])
    await worker.applyAndFinish()
  }
  return 'finished'
}

async function parkOrFinish(worker: Actor): Promise<string> {
  const lease = worker.lease as Fence
  if (lease.jobId !== worker.jobIds[0]) return worker.applyAndFinish()
  const { answer } = await park(worker.db, lease, 'approved', null)
  return answer === 'signalled' ? worker.applyAndFinish() : answer
}

const said = { signal: 'signals the one that is about to wait', approval: 'approves what is about to be parked' }

/** Who waits for what has happened. What nobody has sent, because its sender was killed, is waited for with good reason. */
async function missed(found: Inspection): Promise<string[]> {
  const wasSent = (does: string) =>
    ['sent', 'woken', 'kept', committedThenKilled].includes(found.notes.get(`operator: ${does}`) ?? '')
  const states = await found.sql<{ workflow: string; ended: boolean }>(
    'select workflow, ended_at is not null as ended from fencepost.run',
  )
  const waits = (workflow: string) => states.some((run) => run.workflow === workflow && !run.ended)
  const job = await found.job()
  return [
    ...(waits('watcher') && !waits('watched') ? ['INV_005: a run waits for another that has ended'] : []),
    ...(waits('fan') ? ['INV_009: a task waits for items that have all ended'] : []),
    ...(waits('waiter') && wasSent(said.signal) ? ['INV_005: a run waits for a signal that was sent'] : []),
    ...(job?.place === 'parked' && wasSent(said.approval) ? ['INV_005: a job waits for a signal that was sent'] : []),
  ]
}

export default scenario({
  id: 'FM_046',
  name: 'Wake-up lost by write skew',
  story: 'Four go to sleep, each while the one that is to wake it looks and finds nobody asleep.',
  invariants: ['INV_005', 'INV_009'],
  jobs: 1,
  runs: 4,
  steps: [
    scene('producer', 'starts four runs', startAll),
    scene('D', 'does what comes before', (d) => doSome(d, 'before', 2)),
    scene('D', 'does the first of two items', (d) => doSome(d, 'item', 1)),
    scene('B', 'leases the second', (b) => b.claim(['item'])),
    scene('C', 'leases the task of the watched run', (c) => c.claim(['last'])),
    scene('producer', 'enqueues a job', (p) => p.enqueue()),
    scene('P', 'leases it', (p) => p.claim()),
    step('A', 'reads what three runs were told', (a) => a.runs.take()),
    step('B', 'ends the second item', (b) => b.applyAndFinish()),
    step('operator', said.signal, (o) => o.runs.signal(o.runIds[2] as string, 'approved')),
    step('P', 'parks its job', parkOrFinish, { pause: 'held' }),
    step('operator', said.approval, (o) => wake(o.db, o.jobIds[0] as string, 'approved', 'null')),
    step('C', 'ends the task of the watched run', (c) => c.applyAndFinish()),
    step('A', 'lets them wait', (a) => a.runs.advance(), { pause: 'held' }),
    step('C', 'ends the watched run', (c) => c.runs.advanceAll()),
    goesOn('P', 'commits as parked'),
    goesOn('A', 'commits'),
  ],
  handle: parkOrFinish,
  check: async (found) => {
    const usual = await found.usualSuspects()
    return [...(await missed(found)), ...usual.filter((problem) => !/left (running|in parked)/.test(problem))]
  },
})
