import { expect, it, vi } from 'vitest'
import { promoteDue } from '../../src/store/control.js'
import { ringTimers } from '../../src/store/runs.js'
import { reapExpired } from '../../src/store/worker.js'
import { setupRuns } from '../harness/workflows.js'

const paid = `
name: paid
tasks:
  - { name: before, action: echo, input: before, next: [{ do: wait }] }
  - { name: wait, wait_for: { signal: paid }, next: [{ do: after }] }
  - { name: after, action: core.echo, input: "{{ tasks.wait.result.cents }}" }
output: "{{ tasks.after.result }}"
`

it('waits for a signal, and holds no worker meanwhile', async () => {
  const { start, fp, sql, ended } = await setupRuns()
  const { id } = await start(paid)
  await waiting(fp, id, 'wait')
  expect(await sql('select 1 from fencepost.leased')).toEqual([])
  await fp.workflows.signal(id, 'paid', { cents: 500 })
  expect(await ended(id)).toMatchObject({ state: 'succeeded', output: 500 })
  await expect(fp.workflows.signal(id, 'paid')).rejects.toMatchObject({ code: 'FP_RUN_STATE' })
})

it('keeps a signal that comes before anything waits for it, and gives each to one wait', async () => {
  const { start, fp, cues, ended } = await setupRuns()
  cues.hold('before')
  const { id } = await start(`
name: early
tasks:
  - { name: before, action: echo, input: before, next: [{ do: [first, second] }] }
  - { name: first, wait_for: { signal: go } }
  - { name: second, wait_for: { signal: go } }
output: "{{ [tasks.first.result, tasks.second.result] }}"
`)
  await cues.saw(1)
  await fp.workflows.signal(id, 'go', 1)
  await fp.workflows.signal(id, 'other', 2)
  cues.release('before')
  await waiting(fp, id, 'second')
  await fp.workflows.signal(id, 'go', 3)
  expect(await ended(id)).toMatchObject({ state: 'succeeded', output: [1, 3] })
})

it('a wait that takes longer than its timeout has timed out', async () => {
  const { run } = await setupRuns()
  const ended = await run(`
name: impatient
tasks:
  - name: wait
    wait_for: { signal: never }
    timeout: 50ms
    next: [{ when: "{{ timed_out() }}", do: late }, { when: "{{ succeeded() }}", do: fail }]
  - { name: late, action: core.noop }
`)
  expect(ended).toMatchObject({ state: 'succeeded', path: ['late#1 succeeded', 'wait#1 timed_out'] })
})

const approval = `
name: approval
tasks:
  - name: approve
    wait_for:
      approval:
        title: Ship it?
        form: { approved: { type: boolean, required: true }, note: string }
        expires: 2h
    next:
      - { when: "{{ succeeded() && result().approved }}", do: ship }
      - { when: "{{ timed_out() }}", do: lapse }
  - { name: ship, action: core.echo, input: "{{ tasks.approve.result.note }}" }
  - { name: lapse, action: core.noop }
output: "{{ has(tasks.ship) ? tasks.ship.result : 'lapsed' }}"
`

it('asks a person, checks the answer, and goes on with it', async () => {
  const { start, fp, ended } = await setupRuns()
  const { id } = await start(approval)
  await waiting(fp, id, 'approve')
  await expect(fp.workflows.answer(id, 'approve', { note: 'ok' })).rejects.toMatchObject({
    code: 'FP_ANSWER_INVALID',
    message: expect.stringContaining('approved is required'),
  })
  await expect(fp.workflows.answer(id, 'aprove', { approved: true })).rejects.toMatchObject({
    hint: expect.stringContaining('Did you mean approve'),
  })
  await fp.workflows.answer(id, 'approve', { approved: true, note: 'go' })
  expect(await ended(id)).toMatchObject({ state: 'succeeded', output: 'go' })
})

it('keeps an answer that comes before the question', async () => {
  const { fp, ended, tasks, start } = await setupRuns()
  const { id } = await start(
    approval.replace('tasks:', 'tasks:\n  - { name: gate, wait_for: { signal: open }, next: [{ do: approve }] }'),
  )
  await waiting(fp, id, 'gate')
  await fp.workflows.answer(id, 'approve', { approved: true, note: 'early' })
  await fp.workflows.signal(id, 'open')
  expect(await ended(id)).toMatchObject({ state: 'succeeded', output: 'early' })
  expect(tasks).toHaveLength(3)
})

it('an approval expires, by the clock of the database', async () => {
  const { start, fp, advanceClock, ended } = await setupRuns()
  const { id } = await start(approval)
  await waiting(fp, id, 'approve')
  await advanceClock(2 * 3_600_000)
  expect(await ended(id)).toMatchObject({
    state: 'succeeded',
    output: 'lapsed',
    path: ['approve#1 timed_out', 'lapse#1 succeeded'],
  })
})

it('sleeps, and waits for a time, without a worker', async () => {
  const { start, fp, sql, advanceClock, ended } = await setupRuns()
  const { id } = await start(`
name: sleepy
tasks:
  - { name: sleep, action: core.sleep, input: { for: 1h } }
  - { name: until, wait_for: { time: "2000-01-01T00:00:00Z" } }
`)
  await waiting(fp, id, 'sleep')
  await vi.waitUntil(
    async () =>
      (await fp.workflows.run(id)).taskRuns.some(({ task, state }) => task === 'until' && state === 'succeeded'),
    { timeout: 10_000 },
  )
  expect(await sql('select 1 from fencepost.job')).toEqual([])
  await advanceClock(3_600_000)
  expect(await ended(id)).toMatchObject({ state: 'succeeded' })
})

it('no maintenance takes a waiting run for dead', async () => {
  const { start, fp, db, advanceClock, ended } = await setupRuns()
  const { id } = await start(paid)
  await waiting(fp, id, 'wait')
  for (let day = 0; day < 3; day++) {
    await advanceClock(86_400_000)
    await promoteDue(db)
    await ringTimers(db)
    await reapExpired(db, 0)
  }
  expect((await fp.workflows.run(id)).state).toBe('running')
  await fp.workflows.signal(id, 'paid', { cents: 1 })
  expect(await ended(id)).toMatchObject({ state: 'succeeded', output: 1 })
})

it('waits for the end of another run', async () => {
  const { start, fp, ended } = await setupRuns()
  const other = await start(paid)
  const waitFor = `
name: watcher
parameters: { run: string }
tasks: [{ name: wait, wait_for: { run: "{{ parameters.run }}" } }]
output: "{{ tasks.wait.status }}"
`
  const watcher = await start(waitFor, { run: other.id })
  await waiting(fp, watcher.id, 'wait')
  await waiting(fp, other.id, 'wait')
  await fp.workflows.signal(other.id, 'paid', { cents: 1 })
  expect(await ended(watcher.id)).toMatchObject({ state: 'succeeded', output: 'succeeded' })
  const late = await start(waitFor, { run: other.id })
  expect(await ended(late.id)).toMatchObject({ state: 'succeeded' })
  const lost = await start(waitFor, { run: '01890000-0000-7000-8000-00000000dead' })
  expect(await ended(lost.id)).toMatchObject({ state: 'failed', message: expect.stringContaining('there is no run') })
})

type Fp = Awaited<ReturnType<typeof setupRuns>>['fp']

async function waiting(fp: Fp, id: string, task: string): Promise<void> {
  const isWaiting = async () =>
    (await fp.workflows.run(id)).taskRuns.some((each) => each.task === task && each.state === 'waiting')
  await vi.waitUntil(isWaiting, { timeout: 10_000 })
}
