import { expect, it } from 'vitest'
import { audit } from '../../src/audit/audit.js'
import { task } from '../../src/index.js'
import { newJobId } from '../../src/job/job-id.js'
import { loseExpired } from '../../src/store/lease.js'
import { finish, release } from '../../src/store/settle.js'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'
import { setup } from '../../test/harness/setup.js'
import { anything, door, setupWorker } from '../../test/worker/setup.js'
import { definitionOf } from '../../src/lab/run-steps.js'
import { untilBlockedBy } from '../../test/harness/blocked.js'
import { Session } from '../../test/harness/session.js'

it('FM_012: what is given back is free, what was lost unstarted is, too, and no failure is charged for a crash', async () => {
  const { prevent } = await bundleUnderTest('FM_012')

  const played = await prevent()

  expect(noteOf(played, 'A', 'gives both back on SIGTERM')).toBe('released, released')
  expect(noteOf(played, 'B', 'leases both, starts one')).toBe('leases 3 and 4, failures 0 and 0')
  expect(noteOf(played, 'C', 'takes the leases back')).toBe('lease 3 lost, lease 4 released')
  expect(noteOf(played, 'C', 'commits both')).toBe('lease 5, finished; lease 6, finished')
  expect(played.violations).toEqual([])
})

/** A job that no failure and no loss is forgiven. */
const noBudget = { failuresMax: 0, lossesMax: 0 }
const deploys = 10

it.each([
  ['started', true],
  ['unstarted', false],
])('FM_012: a job without any budget can be given back %s by every deploy', async (_, started) => {
  const { db, add, take, see } = await setup()
  const id = await add(noBudget)

  for (let n = 0; n < deploys; n++) {
    expect(await release(db, [await take({ started })], 'shutdown')).toMatchObject([{ answer: 'released' }])
  }

  expect(await see(id)).toMatchObject({ place: 'ready', tries: deploys, failures: 0, losses: 0, releases: deploys })
  await finish(db, [{ ...(await take()), resultText: '1' }])
  expect(await see(id)).toMatchObject({ outcome: 'succeeded' })
  expect(await audit(db)).toMatchObject({ ok: true, warnings: 0 })
})

it('FM_012: a job without any budget can lose every lease before its handler starts', async () => {
  const { db, add, take, advance, see, sql } = await setup()
  const id = await add(noBudget)

  for (let n = 0; n < deploys; n++) {
    await take({ started: false })
    await advance(31_000)
    expect(await loseExpired(db)).toMatchObject([{ answer: 'released' }])
  }

  expect(await see(id)).toMatchObject({ place: 'ready', tries: deploys, failures: 0, losses: 0, releases: deploys })
  expect(await sql('select distinct ending, reason from fencepost.attempt')).toEqual([
    { ending: 'released', reason: 'lease_ran_out_before_start' },
  ])
  expect(await audit(db)).toMatchObject({ ok: true, warnings: 0 })
})

it('FM_012: a crash while the handler runs is charged to the losses and leaves the failures alone', async () => {
  const { db, add, take, advance, see } = await setup()
  const id = await add({ failuresMax: 0, lossesMax: 1 })
  await take()
  await advance(31_000)

  expect(await loseExpired(db)).toMatchObject([{ answer: 'lost' }])

  expect(await see(id)).toMatchObject({ place: 'ready', failures: 0, losses: 1, releases: 0 })
})

it('FM_012: a handler that throws because the shutdown tells it to stop has not failed', async () => {
  const { fp, see } = await setupWorker()
  const gate = door()
  const obedient = task('obedient', {
    input: anything,
    retry: { limit: 0 },
    run: (_, job) =>
      new Promise((_resolve, reject) => {
        job.signal.addEventListener('abort', () => reject(new Error('told to stop')))
        void gate.pass()
      }),
  })
  const worker = await fp.work([obedient], { poll: '20ms', grace: 0 })
  const running = gate.reached()
  const job = await fp.enqueue(obedient, null)
  await running

  await worker.stop()

  expect(await see(job.id)).toMatchObject({ place: 'ready', failures: 0, losses: 0, releases: 1 })
})

const fan = definitionOf(`
name: fan
tasks:
  - name: each
    action: obedient
    with_items: [1, 2, 3]
    next: [{ do: after }]
  - name: after
    action: after
`)

it('FM_012: a worker that stops while items of a run are under way, and in the middle of an advance, charges nobody for it', async () => {
  const world = await setupWorker()
  const { fp, sql } = world
  const gate = door()
  let reached = 0
  const obedient = task('obedient', {
    input: anything,
    retry: { limit: 0 },
    run: (_, job) =>
      new Promise((resolve, reject) => {
        reached++
        job.signal.addEventListener('abort', () => reject(new Error('told to stop')))
        void gate.pass().then(() => resolve('done'))
      }),
  })
  const after = task('after', { input: anything, run: () => 'after' })
  const workflow = { definition: fan, tasks: [obedient, after], workflows: [] }
  const worker = await fp.work([obedient, after], { poll: '20ms', grace: 0 })
  const first = await fp.workflows.start(workflow, {})
  await expect.poll(() => reached, { timeout: 10_000 }).toBe(3)
  // The second run’s first advance waits for somebody who has not committed.
  const second = newJobId()
  const other = await Session.open(world)
  await other.begin()
  await other.query(`select fencepost.enqueue('obedient', id => fencepost.item_id($1, 'each', 1, 0))`, [second])
  await fp.workflows.start(workflow, {}, { id: second })
  await untilBlockedBy(sql, other)

  const stopped = worker.stop()
  await other.rollback()
  expect(await stopped).toMatchObject({ released: 3 })

  expect(await sql('select state, advance_tries, busy_until from fencepost.run')).toEqual(
    [1, 2].map(() => ({ state: 'running', advance_tries: 0, busy_until: null })),
  )
  expect(await sql('select distinct failures, losses from fencepost.jobs')).toEqual([{ failures: 0, losses: 0 }])
  gate.open()
  const next = await world.client()
  await next.work([obedient, after], { poll: '20ms' })
  for (const id of [first.id, second]) await next.result(id, { timeout: '20s' })
  expect(
    await sql('select run_task, failures, losses, count(*) as jobs from fencepost.jobs group by 1, 2, 3 order by 1'),
  ).toEqual([
    { run_task: 'after', failures: 0, losses: 0, jobs: 2 },
    { run_task: 'each', failures: 0, losses: 0, jobs: 6 },
  ])
})
