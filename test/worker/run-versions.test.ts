import { expect, it, onTestFinished, vi } from 'vitest'
import { z } from 'zod'
import { fencepost, task, workflow } from '../../src/index.js'
import { setup } from '../harness/setup.js'
import { setupRuns, workflowOf } from '../harness/workflows.js'

const version = (word: string) => `
name: greeting
tasks:
  - { name: wait, wait_for: { signal: go }, next: [{ do: say }] }
  - { name: say, action: core.echo, input: ${word} }
output: "{{ tasks.say.result }}"
`

it('pins a run to the version that it started with', async () => {
  const { start, fp, ended, sql } = await setupRuns()
  const first = await start(version('hello'))
  const second = await start(version('goodbye'))
  const third = await start(version('hello')) // the same definition is the same version
  expect(await sql('select version from fencepost.run order by created_at')).toEqual([
    { version: 1 },
    { version: 2 },
    { version: 1 },
  ])
  const newest = await fp.workflows.start('greeting', {}) // the one that was deployed last
  for (const { id } of [first, second, third, newest]) await fp.workflows.signal(id, 'go')
  expect((await ended(first.id)).output).toBe('hello')
  expect((await ended(second.id)).output).toBe('goodbye')
  expect((await ended(third.id)).output).toBe('hello')
  expect((await ended(newest.id)).output).toBe('hello')
  await expect(fp.workflows.start('greting', {})).rejects.toMatchObject({
    code: 'FP_WORKFLOW_UNKNOWN',
    hint: 'Did you mean greeting?',
  })
})

it('pauses and resumes the runs that are its items with it', async () => {
  const { start, fp, ended, tasks } = await setupRuns()
  await fp.workflows.deploy(workflowOf(version('hello'), tasks))
  const { id } = await start(`
name: outer
tasks: [{ name: inner, action: workflow.greeting }]
output: "{{ tasks.inner.result }}"
`)
  const child = () =>
    vi.waitUntil(async () => (await fp.workflows.runs({ workflow: 'greeting' }))[0], { timeout: 10_000 })
  const { id: childId } = await child()
  await fp.workflows.pause(id)
  expect(await child()).toMatchObject({ state: 'paused', parentId: id })
  await fp.workflows.signal(childId, 'go')
  await fp.workflows.resume(id)
  expect(await ended(id)).toMatchObject({ state: 'succeeded', output: 'hello' })
})

it('starts in a transaction of the caller’s, or not at all', async () => {
  const { fp, tasks, ended } = await setupRuns()
  const flow = workflowOf('name: quick\ntasks: [{ name: only, action: core.noop }]', tasks)
  await fp.workflows.deploy(flow)
  const undone = await fp
    .transaction(async (tx) => {
      const { id } = await fp.workflows.start(flow, {}, { tx })
      throw Object.assign(new Error('no'), { id })
    })
    .catch((error: { id: string }) => error.id)
  await expect(fp.workflows.run(undone)).rejects.toMatchObject({ code: 'FP_RUN_UNKNOWN' })
  const { id } = await fp.transaction((tx) => fp.workflows.start(flow, {}, { tx }))
  expect(await ended(id)).toMatchObject({ state: 'succeeded' })
})

it('an item goes through the gates of its task, also when another worker could advance the run', async () => {
  const { url, sql } = await setup()
  const keyed = task('keyed', {
    input: z.object({ tenant: z.string(), n: z.number() }),
    gate: { key: ({ tenant }) => tenant, limit: 1 },
    run: ({ n }) => n,
  })
  const other = task('other', { input: z.any(), run: () => null })
  const stranger = await fencepost({ database: url, migrate: false })
  const fp = await fencepost({ database: url, migrate: false })
  onTestFinished(() => Promise.all([fp.close(), stranger.close()]).then(() => {}))
  await stranger.work([other], { poll: '20ms' })
  const flow = workflow('by-tenant', {
    parameters: { list: 'array' },
    tasks: { each: { action: keyed, withItems: '{{ parameters.list }}', concurrency: 2, input: '{{ item }}' } },
    output: '{{ tasks.each.result }}',
  })
  const run = await fp.workflows.start(flow, {
    list: Array.from({ length: 6 }, (_, n) => ({ tenant: `t${n % 2}`, n })),
  })
  expect(await sql('select needs from fencepost.run')).toEqual([{ needs: ['keyed'] }])
  await fp.work([keyed], { poll: '20ms' })
  expect(await run.result({ timeout: '20s' })).toEqual([0, 1, 2, 3, 4, 5])
  const gates = await sql<{ keys: string[] }>(
    `select distinct fencepost.gate_keys(gates) as keys from fencepost.job order by 1`,
  )
  expect(gates.map(({ keys }) => keys.map((key) => key.replace(run.id, '…')))).toEqual([
    ['gate: run/…/each/1', 'gate:t0'],
    ['gate: run/…/each/1', 'gate:t1'],
  ])
})
