import { expect, it, onTestFinished, vi } from 'vitest'
import { setupRuns, workflowOf } from '../harness/workflows.js'

const until = (check: () => Promise<boolean>) => vi.waitUntil(check, { timeout: 10_000, interval: 50 })

const child = `
name: child
tasks:
  - { name: one, action: echo, input: one, next: [{ do: two }] }
  - { name: two, action: echo, input: two }
`
const parent = `
name: parent
tasks:
  - { name: sub, action: workflow.child }
`

it('cancel_running after allow_finish asks what runs to stop', async () => {
  const { start, fp, cues, ended } = await setupRuns()
  cues.hold('a')
  onTestFinished(() => cues.release('a'))
  const { id } = await start(`
name: w
tasks:
  - { name: long, action: echo, input: a }
`)
  await cues.saw(1)
  await fp.workflows.cancel(id, { mode: 'allow_finish' })
  await until(async () => (await fp.workflows.run(id)).taskRuns[0]?.stopped === 1)
  expect(await fp.workflows.cancel(id, { mode: 'cancel_running' })).toMatchObject({ answer: 'cancelling' })
  expect(await ended(id)).toMatchObject({ state: 'cancelled' })
})

it('a cancel of a run that is failing asks what runs to stop', async () => {
  const { start, fp, cues, ended } = await setupRuns()
  cues.hold('a')
  onTestFinished(() => cues.release('a'))
  const { id } = await start(`
name: w
tasks:
  - { name: long, action: echo, input: a }
  - { name: bad, action: fail, input: b }
`)
  await cues.saw(2)
  await until(async () => (await fp.workflows.run(id)).state === 'failing')
  await fp.workflows.cancel(id)
  expect(await ended(id)).toMatchObject({ state: 'cancelled' })
})

it('a run that is failing and comes to its timeout stops what runs', async () => {
  const { start, fp, cues, ended } = await setupRuns()
  cues.hold('a')
  onTestFinished(() => cues.release('a'))
  const { id } = await start(`
name: w
timeout: 2s
tasks:
  - { name: long, action: echo, input: a }
  - { name: bad, action: fail, input: b }
`)
  await until(async () => (await fp.workflows.run(id)).state === 'failing')
  expect(await ended(id)).toMatchObject({ state: 'failed' })
})

it('a paused run with a sub-workflow can be cancelled with allow_finish', async () => {
  const { start, fp, cues, ended, tasks } = await setupRuns()
  await fp.workflows.deploy(workflowOf(child, tasks))
  cues.hold('one')
  const { id } = await start(parent)
  await cues.saw(1)
  await fp.workflows.pause(id)
  await fp.workflows.cancel(id, { mode: 'allow_finish' })
  cues.release('one')
  expect(await ended(id)).toMatchObject({ state: 'cancelled' })
})

it('begins no item after a cancel of a paused run was answered', async () => {
  const { start, fp, cues, sql } = await setupRuns()
  cues.hold('a')
  onTestFinished(() => cues.release('a'))
  const { id } = await start(`
name: w
tasks:
  - { name: each, action: echo, with_items: [a, b, c], concurrency: 1, input: "{{ item }}" }
`)
  await cues.saw(1)
  await fp.workflows.pause(id)
  cues.release('a')
  await until(async () => (await sql('select 1 from fencepost.leased')).length === 0)
  // Nobody advances runs just now; workers only take turns.
  await sql(`update fencepost.run set busy_until = now() + interval '3 seconds'`)
  await sql(
    `create function keep_busy() returns trigger language plpgsql as $$ begin new.busy_until := now() + interval '3 seconds'; return new; end $$`,
  )
  await sql('create trigger keep_busy before update on fencepost.run for each row execute function keep_busy()')
  await fp.workflows.cancel(id)
  // With the answer, there is nothing left that a worker could begin.
  expect(await sql(`select place from fencepost.jobs where place <> 'finished'`)).toEqual([])
  await sql('drop trigger keep_busy on fencepost.run')
  expect(cues.seen).toEqual(['a'])
})

it('begins no task of a sub-workflow after a cancel was answered', async () => {
  const { start, fp, cues, sql, tasks } = await setupRuns()
  await fp.workflows.deploy(workflowOf(child, tasks))
  cues.hold('one')
  const { id } = await start(parent)
  await cues.saw(1)
  // Whoever advances the parent is slow; whoever advances the child is not.
  await sql(
    `create function keep_busy() returns trigger language plpgsql as $$ begin if new.parent_id is null then new.busy_until := now() + interval '3 seconds'; end if; return new; end $$`,
  )
  await sql('create trigger keep_busy before update on fencepost.run for each row execute function keep_busy()')
  await fp.workflows.cancel(id)
  cues.release('one')
  await until(
    async () =>
      (await sql('select 1 from fencepost.run where parent_id = $1 and ended_at is not null', [id])).length > 0,
  )
  await sql('drop trigger keep_busy on fencepost.run')
  expect(cues.seen).toEqual(['one'])
})

it('a list of sub-workflows that begins after a delay is whole', async () => {
  const { start, fp, ended, tasks } = await setupRuns()
  await fp.workflows.deploy(
    workflowOf(
      `
name: double
parameters: { n: number }
tasks: [{ name: idle, action: core.noop }]
output: "{{ parameters.n * 2.0 }}"
`,
      tasks,
    ),
  )
  const { id } = await start(`
name: w
vars: { all: null }
tasks:
  - name: each
    delay: 50ms
    action: workflow.double
    with_items: [1, 2, 3, 4]
    concurrency: 2
    input: { n: "{{ item }}" }
    next: [{ publish: { all: "{{ result() }}" } }]
output: "{{ vars.all }}"
`)
  expect(await ended(id)).toMatchObject({ state: 'succeeded', output: [2, 4, 6, 8] })
})

it('a rerun goes on with what the failure had cut off', async () => {
  const { start, fp, cues, ended } = await setupRuns()
  cues.hold('slow')
  const { id } = await start(`
name: w
tasks:
  - { name: slow, action: echo, input: slow, next: [{ do: after }] }
  - { name: after, action: echo, input: after }
  - { name: bad, action: flaky, input: { failures: 1 } }
`)
  await cues.saw(1)
  await until(async () => (await fp.workflows.run(id)).state === 'failing')
  cues.release('slow')
  expect(await ended(id)).toMatchObject({ state: 'failed', path: ['bad#1 failed', 'slow#1 succeeded'] })
  await fp.workflows.rerun(id, { from: 'bad' })
  // `after` was never begun because `bad` failed. Now nothing has failed: it succeeds with `after`, or not at all.
  expect(await ended(id)).toMatchObject({
    state: 'succeeded',
    path: ['after#1 succeeded', 'bad#1 succeeded', 'slow#1 succeeded'],
  })
})

it('a rerun has the timeout of the run again', async () => {
  const { start, fp, ended } = await setupRuns()
  const { id } = await start(`
name: w
timeout: 500ms
tasks:
  - { name: wait, wait_for: { signal: never } }
`)
  expect(await ended(id)).toMatchObject({ code: 'FP_RUN_TIMED_OUT' })
  await fp.workflows.rerun(id, { from: 'wait' })
  await until(async () => (await fp.workflows.run(id)).taskRuns.length === 2)
  expect((await fp.workflows.run(id)).timers).toMatchObject([{ kind: 'deadline' }])
})

it('a sub-workflow whose parameters are too large fails its task', async () => {
  const { run, fp, tasks } = await setupRuns()
  await fp.workflows.deploy(
    workflowOf(
      `
name: big
parameters: { text: string }
tasks: [{ name: idle, action: core.noop }]
`,
      tasks,
    ),
  )
  const ended = await run(
    `
name: w
parameters: { text: string }
tasks:
  - { name: sub, action: workflow.big, input: { text: "{{ parameters.text + parameters.text }}" }, next: [{ when: "{{ failed() }}", do: noop }] }
`,
    { text: 'x'.repeat(800_000) },
  )
  expect(ended).toMatchObject({ state: 'succeeded', path: ['sub#1 failed'] })
})

it('tells the same items of a task that stopped early, then and later', async () => {
  const { run, fp, tasks } = await setupRuns()
  await fp.workflows.deploy(
    workflowOf(
      `
name: bad
tasks: [{ name: no, action: core.fail, input: { message: no } }]
`,
      tasks,
    ),
  )
  const { vars } = await run(`
name: w
vars: { then: null, later: null }
tasks:
  - name: each
    action: workflow.bad
    with_items: [1, 2, 3]
    concurrency: 1
    next: [{ when: "{{ failed() }}", publish: { then: "{{ size(result()) }}" }, do: after }]
  - { name: after, action: echo, input: 1, next: [{ publish: { later: "{{ size(tasks.each.result) }}" } }] }
`)
  expect(vars['then']).toEqual(vars['later'])
})

it.each(['fail', 'continue'])(
  'a list of sub-workflows that takes too long has timed out, with on_item_failure %s',
  async (onFailure) => {
    const { start, ended, advanceClock, fp, cues, tasks } = await setupRuns()
    const each =
      'name: each\nparameters: { n: integer }\ntasks: [{ name: one, action: echo, input: "{{ parameters.n }}" }]'
    await fp.workflows.deploy(workflowOf(each, tasks))
    cues.hold(1)
    const { id } = await start(`
name: w
tasks:
  - name: all
    action: workflow.each
    with_items: [0, 1, 2]
    concurrency: 2
    on_item_failure: ${onFailure}
    timeout: 10s
    input: { n: "{{ item }}" }
    next: [{ when: "{{ timed_out() }}", do: late }]
  - { name: late, action: core.echo, input: "{{ tasks.all.error.code + ' ' + tasks.all.status }}" }
output: "{{ tasks.late.result }}"
`)
    await until(async () => (await fp.workflows.run(id)).taskRuns[0]?.succeeded === 2)
    await advanceClock(10_000)
    const { state, output, path } = await ended(id)
    expect({ state, output, path }).toEqual({
      state: 'succeeded',
      output: 'FP_TIMED_OUT timed_out',
      path: ['all#1 timed_out', 'late#1 succeeded'],
    })
    const { items } = await fp.workflows.taskResult(id, 'all')
    expect(items?.map(({ status }) => status)).toEqual(['succeeded', 'cancelled', 'succeeded'])
  },
)

it('a list of sub-workflows one of which had failed before the time was over has failed', async () => {
  const { start, ended, advanceClock, fp, cues, tasks } = await setupRuns()
  const each = `
name: each
parameters: { n: integer }
tasks:
  - { name: one, action: echo, input: "{{ parameters.n }}", next: [{ when: "{{ parameters.n == 0 }}", do: no }] }
  - { name: no, action: core.fail, input: { message: no } }
`
  await fp.workflows.deploy(workflowOf(each, tasks))
  cues.hold(1)
  const { id } = await start(`
name: w
tasks:
  - { name: all, action: workflow.each, with_items: [0, 1], timeout: 10s, input: { n: "{{ item }}" } }
`)
  await until(async () => (await fp.workflows.run(id)).taskRuns[0]?.failed === 1)
  await advanceClock(10_000)
  const { path, message, code } = await ended(id)
  expect({ path, code }).toEqual({ path: ['all#1 failed'], code: 'FP_ITEMS_FAILED' })
  expect(message).toMatch(/the first: item 0: task no failed: no/)
})

it('says of a run, and not of a job, that it has not ended in time, or ended badly', async () => {
  const { start, fp } = await setupRuns()
  const { id, result } = await start(`
name: w
tasks: [{ name: wait, wait_for: { signal: go } }]
`)
  await expect(result({ timeout: 10 })).rejects.toMatchObject({
    code: 'FP_RESULT_TIMEOUT',
    message: `It did not end within the time waited: ${id} after 10 ms`,
    hint: expect.stringContaining('fencepost workflow show'),
  })
  await fp.workflows.cancel(id)
  await expect(result({ timeout: '20s' })).rejects.toThrow(`It ended without success: ${id} cancelled: cancelled`)
})

it('refuses a run deeper than runs may be in each other, and names the chain', async () => {
  const { run, sql } = await setupRuns()
  const { state, code, message } = await run(`
name: matryoshka
tasks: [{ name: open, action: workflow.matryoshka }]
`)
  expect({ state, code }).toEqual({ state: 'failed', code: 'FP_RUN_TOO_DEEP' })
  expect(message).toMatch(/^task open failed: task open failed: .*: runs may be 32 deep in each other, /)
  expect(message).toMatch(/matryoshka → matryoshka → matryoshka → … → matryoshka → matryoshka → matryoshka$/)
  expect(await sql('select count(*) as n from fencepost.run')).toEqual([{ n: 32 }])
})
