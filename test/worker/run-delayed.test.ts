import { expect, it } from 'vitest'
import { setupRuns, workflowOf } from '../harness/workflows.js'

it('a list that begins after 200 other tasks of the same advance keeps its items', async () => {
  const { run } = await setupRuns()
  const others = Array.from({ length: 201 }, (_, n) => `  - { name: t${n}, action: core.noop }`).join('\n')
  const { output } = await run(`
name: w
vars: { all: null }
tasks:
${others}
  - name: each
    action: echo
    with_items: [a, b, c]
    input: "{{ item }}"
    next: [{ publish: { all: "{{ result() }}" } }]
output: "{{ vars.all }}"
`)
  expect(output).toEqual(['a', 'b', 'c'])
})

it('a list of sub-workflows that begins late is made some at a time, without an advance for nothing', async () => {
  const { start, fp, tasks, ended } = await setupRuns()
  await fp.workflows.deploy(
    workflowOf('{ name: double, parameters: { n: number }, tasks: [{ name: idle, action: core.noop }] }', tasks),
  )
  const { id } = await start(`
name: w
tasks:
  - { name: each, delay: 50ms, action: workflow.double, with_items: [1, 2, 3, 4], concurrency: 2, input: { n: "{{ item }}" } }
`)
  expect(await ended(id)).toMatchObject({ state: 'succeeded', path: ['each#1 succeeded'] })
  // Its start, its delay, and each of the four that ended.
  expect((await fp.workflows.run(id)).revision).toBeLessThanOrEqual(6)
})
