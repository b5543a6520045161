import { expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { fencepost, task, type Fencepost } from '../../src/index.js'
import { compiledWorkflow } from '../harness/workflows.js'
import { setup } from '../harness/setup.js'

async function setupRuns(options: { workers?: number } = {}) {
  const { url, sql } = await setup()
  const fp = await fencepost({ database: url, migrate: false })
  onTestFinished(() => fp.close())
  const seen: string[] = []
  const double = task('double', {
    input: z.object({ n: z.number() }),
    run: ({ n }) => {
      seen.push(`double ${n}`)
      return n * 2
    },
  })
  const fail = task('fail', {
    input: z.any(),
    retry: { limit: 0 },
    run: () => {
      throw new Error('no luck')
    },
  })
  fp.on('error', ({ during, error }) => console.log(during, error))
  for (let n = 0; n < (options.workers ?? 1); n++) await fp.work([double, fail], { poll: '50ms' })
  return { fp, sql, seen }
}

it('runs a chain', async () => {
  const { fp } = await setupRuns()
  const { result } = await fp.workflows.start(
    compiledWorkflow(`
name: chain
parameters: { n: integer }
vars: { a: 0 }
tasks:
  - name: one
    action: double
    input: { n: "{{ parameters.n }}" }
    next:
      - publish: { a: "{{ result() }}" }
        do: two
  - name: two
    action: double
    input: { n: "{{ vars.a }}" }
output: { n: "{{ tasks.two.result }}" }
`),
    { n: 3 },
  )
  expect(await result({ timeout: '5s' })).toEqual({ n: 12 })
})

it('runs the items of a list, and what follows once', async () => {
  const { fp, sql } = await setupRuns({ workers: 2 })
  const run = await fp.workflows.start(
    compiledWorkflow(`
name: fan
parameters: { list: array }
vars: { all: null }
tasks:
  - name: each
    action: double
    with_items: "{{ parameters.list }}"
    concurrency: 3
    input: { n: "{{ item + index }}" }
    next:
      - when: "{{ succeeded() }}"
        publish: { all: "{{ result() }}" }
        do: after
  - name: after
    action: core.echo
    input: { sum: "{{ sum(vars.all) }}" }
output: { all: "{{ vars.all }}", sum: "{{ tasks.after.result.sum }}" }
`),
    { list: Array.from({ length: 50 }, (_, n) => n) },
  )
  const all = Array.from({ length: 50 }, (_, n) => 4 * n)
  expect(await run.result({ timeout: '10s' })).toEqual({ all, sum: all.reduce((a, b) => a + b, 0) })
  expect(await sql('select task, ordinal, state, total, succeeded from fencepost.task_run order by task')).toMatchObject([
    { task: 'after', ordinal: 1, state: 'succeeded' },
    { task: 'each', ordinal: 1, state: 'succeeded', total: 50, succeeded: 50 },
  ])
})

it('fails with the error of a task that nobody deals with', async () => {
  const { fp } = await setupRuns()
  const run = await fp.workflows.start(
    compiledWorkflow(`
name: failing
tasks:
  - name: one
    action: fail
    next: [{ when: "{{ succeeded() }}", do: two }]
  - name: two
    action: core.noop
output: { status: "{{ tasks.one.status }}", two: "{{ tasks.two.status }}" }
`),
    {},
  )
  await expect(run.result({ timeout: '5s' })).rejects.toThrow(/task one failed: no luck/)
  expect(await fp.workflows.run(run.id)).toMatchObject({ state: 'failed', output: { status: 'failed', two: null } })
})
