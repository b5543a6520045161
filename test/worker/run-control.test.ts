import { expect, it, onTestFinished, vi } from 'vitest'
import { setupRuns, workflowOf } from '../harness/workflows.js'

const steps = `
name: steps
parameters: { list: array }
tasks:
  - { name: first, action: echo, input: first, next: [{ do: each }] }
  - name: each
    action: echo
    with_items: "{{ parameters.list }}"
    concurrency: 2
    input: "{{ item }}"
    next: [{ when: "{{ succeeded() }}", do: last }]
  - { name: last, action: echo, input: last }
`
const list = ['a', 'b', 'c', 'd']

it('pauses before the next task, and goes on', async () => {
  const { start, fp, cues, ended, sql } = await setupRuns()
  cues.hold('first')
  const { id } = await start(steps, { list })
  await cues.saw(1)
  expect(await fp.workflows.pause(id)).toMatchObject({ answer: 'paused' })
  expect(await fp.workflows.pause(id)).toMatchObject({ answer: 'already' })
  cues.release('first')
  await vi.waitUntil(async () => (await sql('select 1 from fencepost.inbox')).length === 1, { timeout: 10_000 })
  await vi.waitUntil(async () => (await sql('select 1 from fencepost.call')).length === 0, { timeout: 10_000 })
  expect(await fp.workflows.run(id)).toMatchObject({ state: 'paused', taskRuns: [{ task: 'first', state: 'running' }] })
  expect(await fp.workflows.resume(id)).toMatchObject({ answer: 'resumed' })
  expect(await ended(id)).toMatchObject({ state: 'succeeded' })
  expect(cues.seen).toHaveLength(6)
})

it('pauses between items, and goes on with the rest', async () => {
  const { start, fp, cues, ended, sql } = await setupRuns()
  cues.hold(...list)
  const { id } = await start(steps, { list })
  await cues.saw(3)
  await fp.workflows.pause(id)
  cues.release('a', 'b')
  await vi.waitUntil(async () => (await sql('select 1 from fencepost.leased')).length === 0, { timeout: 10_000 })
  expect(await sql('select count(*) as n from fencepost.waiting')).toEqual([{ n: 2 }])
  cues.release('c', 'd')
  await fp.workflows.resume(id)
  expect(await ended(id)).toMatchObject({ state: 'succeeded' })
})

it.each(['allow_finish', 'cancel_running'] as const)('cancels: %s', async (mode) => {
  const { start, fp, cues, ended, sql } = await setupRuns()
  cues.hold(...list)
  const { id } = await start(steps, { list })
  await cues.saw(3)
  expect(await fp.workflows.cancel(id, { mode, reason: 'not wanted' })).toMatchObject({ answer: 'cancelling' })
  if (mode === 'allow_finish') {
    await vi.waitUntil(async () => (await sql('select 1 from fencepost.waiting')).length === 0, { timeout: 10_000 })
    expect(await sql('select count(*) as n from fencepost.leased')).toEqual([{ n: 2 }])
    cues.release('a', 'b')
  }
  expect(await ended(id)).toMatchObject({
    state: 'cancelled',
    message: 'not wanted',
    path: ['each#1 cancelled', 'first#1 succeeded'],
  })
  expect(await sql('select outcome, count(*) as n from fencepost.finished group by 1 order by 1')).toEqual(
    mode === 'allow_finish'
      ? [
          { outcome: 'succeeded', n: 3 },
          { outcome: 'cancelled', n: 2 },
        ]
      : [
          { outcome: 'succeeded', n: 1 },
          { outcome: 'cancelled', n: 4 },
        ],
  )
  expect(await fp.workflows.cancel(id)).toMatchObject({ answer: 'ended', state: 'cancelled' })
})

it('cancels what is paused, what waits, and what has not begun', async () => {
  const { start, fp, ended } = await setupRuns()
  const { id } = await start(`
name: idle
tasks:
  - { name: wait, wait_for: { signal: never } }
  - { name: later, action: echo, delay: 1h }
`)
  await vi.waitUntil(async () => (await fp.workflows.run(id)).taskRuns.length === 2, { timeout: 10_000 })
  await fp.workflows.pause(id)
  await fp.workflows.cancel(id)
  expect(await ended(id)).toMatchObject({ state: 'cancelled', path: ['later#1 cancelled', 'wait#1 cancelled'] })
})

const flaky = `
name: mendable
parameters: { list: array }
vars: { all: null }
tasks:
  - { name: side, action: echo, input: side, next: [{ do: join }] }
  - name: each
    action: flaky
    with_items: "{{ parameters.list }}"
    on_item_failure: fail
    input: "{{ item }}"
    next: [{ when: "{{ succeeded() }}", publish: { all: "{{ result() }}" }, do: join }]
  - { name: join, join: all, action: echo, input: joined }
output: "{{ vars.all }}"
`

it('reruns from the task that failed: only what did not succeed is tried again, and the join fires once', async () => {
  const { start, fp, ended, sql, cues } = await setupRuns()
  const { id } = await start(flaky, { list: [{ failures: 0 }, { failures: 1 }, { failures: 0 }] })
  expect(await ended(id)).toMatchObject({ state: 'failed', path: ['each#1 failed', 'side#1 succeeded'] })
  await fp.workflows.rerun(id, { from: 'each' })
  expect(await ended(id)).toMatchObject({
    state: 'succeeded',
    output: [0, 1, 0],
    path: ['each#1 succeeded', 'join#1 succeeded', 'side#1 succeeded'],
  })
  expect(await sql('select count(*) as n from fencepost.job where run_task = $1', ['each'])).toEqual([{ n: 3 }])
  expect(cues.seen).toEqual(['side', 'joined'])
})

const batches = `
name: batches
parameters: { list: array }
tasks:
  - name: each
    action: workflow.batch
    with_items: "{{ parameters.list }}"
    on_item_failure: fail
    concurrency: 2
    timeout: 10s
    input: { n: "{{ item }}", odd: "{{ item % 2 == 1 }}" }
output: "{{ tasks.each.result }}"
`
/** Version 1 fails for odd numbers; the second does not. */
const batch = (odd: string) => `
name: batch
parameters: { n: integer, odd: boolean }
tasks:
  - { name: first, action: echo, input: "{{ parameters.n }}", next: [{ do: then }] }
  - { name: then, action: core.noop, next: [{ when: "{{ ${odd} }}", do: bad }, { when: "{{ !(${odd}) }}", do: good }] }
  - { name: bad, action: core.fail, input: { message: odd } }
  - { name: good, join: all, action: echo, input: "{{ 'done ' + string(parameters.n) }}" }
output: "{{ tasks.good.result }}"
`

it('reruns a list of sub-workflows: those that succeeded keep their results, the others are made anew', async () => {
  const { start, fp, ended, sql, cues, tasks } = await setupRuns()
  await fp.workflows.deploy(workflowOf(batch('parameters.odd'), tasks))
  const { id } = await start(batches, { list: [0, 2, 1, 3, 4] })
  expect(await ended(id)).toMatchObject({ state: 'failed', path: ['each#1 failed'] })
  const before = cues.seen.length

  await fp.workflows.deploy(workflowOf(batch('false'), tasks))
  await fp.workflows.rerun(id, { from: 'each' })

  expect(await ended(id)).toMatchObject({
    state: 'succeeded',
    output: ['done 0', 'done 2', 'done 1', 'done 3', 'done 4'],
    path: ['each#1 succeeded'],
  })
  expect(cues.seen.slice(before)).not.toContain(0)
  expect(cues.seen.slice(before)).not.toContain(2)
  const runs = await sql('select 1 from fencepost.run where parent_id = $1', [id])
  expect(runs).toHaveLength(5)
  expect(await sql("select 1 from fencepost.timer where kind = 'timeout'")).toEqual([])

  await fp.workflows.rerun(id, { from: 'each', reset: true })
  expect(await ended(id)).toMatchObject({ state: 'succeeded', path: ['each#1 succeeded', 'each#2 succeeded'] })
})

it('a list of sub-workflows that is rerun has its timeout again, and is cancelled and rerun like any other', async () => {
  const { start, fp, ended, cues, tasks, advanceClock } = await setupRuns()
  await fp.workflows.deploy(workflowOf(batch('false'), tasks))
  cues.hold(1, 2)
  onTestFinished(() => cues.release(1, 2))
  const { id } = await start(batches, { list: [0, 1, 2, 3] })
  const counts = async () => {
    const [each] = (await fp.workflows.run(id)).taskRuns
    return `${each?.succeeded} of ${each?.dispatched}, ${each?.state}`
  }
  await vi.waitUntil(async () => (await counts()) === '1 of 3, running', { timeout: 10_000 })
  await advanceClock(10_000)
  expect(await ended(id)).toMatchObject({ state: 'failed', path: ['each#1 timed_out'] })

  await fp.workflows.rerun(id, { from: 'each' })
  await vi.waitUntil(async () => (await counts()) === '1 of 3, running', { timeout: 10_000 })
  await advanceClock(10_000)
  expect(await ended(id)).toMatchObject({ state: 'failed', path: ['each#1 timed_out'] })

  await fp.workflows.rerun(id, { from: 'each' })
  await vi.waitUntil(async () => (await counts()) === '1 of 3, running', { timeout: 10_000 })
  await fp.workflows.cancel(id)
  expect(await ended(id)).toMatchObject({ state: 'cancelled' })
  cues.release(1, 2)
  await fp.workflows.rerun(id, { from: 'each' })
  expect(await ended(id)).toMatchObject({ state: 'succeeded', output: ['done 0', 'done 1', 'done 2', 'done 3'] })
  expect(cues.seen.filter((n) => n === 0)).toHaveLength(1)
})

it('reruns with a reset: all items anew, under a new ordinal', async () => {
  const { start, fp, ended } = await setupRuns()
  const { id } = await start(flaky, { list: [{ failures: 0 }, { failures: 0 }] })
  expect(await ended(id)).toMatchObject({ state: 'succeeded' })
  await fp.workflows.rerun(id, { from: 'each', reset: true })
  expect(await ended(id)).toMatchObject({
    state: 'succeeded',
    path: ['each#1 succeeded', 'each#2 succeeded', 'join#1 succeeded', 'join#2 succeeded', 'side#1 succeeded'],
  })
})

it('says why it does not rerun', async () => {
  const { start, fp, cues, ended } = await setupRuns()
  cues.hold('first')
  const { id } = await start(steps, { list: [] })
  await cues.saw(1)
  await expect(fp.workflows.rerun(id, { from: 'first' })).rejects.toMatchObject({ code: 'FP_RUN_STATE' })
  cues.release('first')
  await ended(id)
  await expect(fp.workflows.rerun(id, { from: 'frist' })).rejects.toMatchObject({
    hint: expect.stringContaining('first'),
  })
  await expect(fp.workflows.rerun('01890000-0000-7000-8000-00000000dead', { from: 'first' })).rejects.toMatchObject({
    code: 'FP_RUN_UNKNOWN',
  })
})

it('an item is not retried by itself', async () => {
  const { run, fp, sql } = await setupRuns()
  const { id } = await run(`
name: failing
tasks: [{ name: one, action: fail }]
`)
  const [item] = await sql<{ id: string }>('select id from fencepost.job where run_id = $1', [id])
  expect(await fp.retry(item?.id as string)).toEqual({ answer: 'item' })
})

const child = `
name: child
parameters: { n: { type: integer, required: true } }
tasks:
  - { name: work, action: echo, input: "{{ parameters.n }}", next: [{ when: "{{ result() > 100 }}", do: fail }] }
output: { doubled: "{{ parameters.n * 2 }}" }
`
const parent = (items: string) => `
name: parent
tasks:
  - name: each
    action: workflow.child
    with_items: ${items}
    concurrency: 2
    input: { n: "{{ item }}" }
    next: [{ when: "{{ succeeded() }}", do: after }]
  - { name: after, action: core.echo, input: "{{ tasks.each.result.map(r, r.doubled) }}" }
output: "{{ tasks.after.result }}"
`

it('runs workflows as items, some at a time, and passes their outputs and failures on', async () => {
  const { start, fp, ended, tasks, sql, cues } = await setupRuns()
  await fp.workflows.deploy(workflowOf(child, tasks))
  cues.hold(1, 2, 3)
  const good = await start(parent('[1, 2, 3]'))
  await cues.saw(2)
  expect(await sql('select count(*) as n from fencepost.run where parent_id is not null')).toEqual([{ n: 2 }])
  cues.release(1, 2, 3)
  expect(await ended(good.id)).toMatchObject({ state: 'succeeded', output: [2, 4, 6] })
  const bad = await start(parent('[1, 101]'))
  expect(await ended(bad.id)).toMatchObject({ state: 'failed', code: 'FP_ITEMS_FAILED' })
  const unfit = await start(parent('[1, a]'))
  expect(await ended(unfit.id)).toMatchObject({
    state: 'failed',
    message: expect.stringContaining('must be a whole number'),
  })
})

it('cancels the runs that are its items with it', async () => {
  const { start, fp, ended, tasks, sql, cues } = await setupRuns()
  await fp.workflows.deploy(workflowOf(child, tasks))
  cues.hold(1, 2)
  const { id } = await start(parent('[1, 2]'))
  await cues.saw(2)
  await fp.workflows.cancel(id)
  expect(await ended(id)).toMatchObject({ state: 'cancelled' })
  expect(await sql('select distinct state from fencepost.run')).toEqual([{ state: 'cancelled' }])
})

it('a run that waits for a workflow that is not there fails, and says so', async () => {
  const { start, ended } = await setupRuns()
  const { id } = await start(parent('[1]'))
  expect(await ended(id)).toMatchObject({
    state: 'failed',
    message: expect.stringContaining('there is no workflow child'),
  })
})
