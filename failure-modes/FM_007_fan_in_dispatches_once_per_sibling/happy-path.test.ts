import { expect, it } from 'vitest'
import { audit } from '../../src/audit/audit.js'
import { task } from '../../src/index.js'
import { definitionOf } from '../../src/lab/run-steps.js'
import { anything, setupWorker } from '../../test/worker/setup.js'

it('FM_007: undisturbed, five items run three at a time, and validate runs once, after the last of them', async () => {
  const { fp, db, sql } = await setupWorker()
  const done: unknown[] = []
  let [running, most] = [0, 0]
  let threeRun = () => {}
  const three = new Promise<void>((resolve) => {
    threeRun = resolve
  })
  const check = task('check', {
    input: anything,
    async run(input) {
      most = Math.max(most, ++running)
      if (running === 3) threeRun()
      await three // so many at once, and then as they come
      running--
      done.push(input)
    },
  })
  const validate = task('validate', { input: anything, run: () => done.length })
  const definition = definitionOf(`
name: orders
tasks:
  - name: check
    action: check
    with_items: [1, 2, 3, 4, 5]
    concurrency: 3
    input: "{{ item }}"
    next: [{ do: validate }]
  - name: validate
    action: validate
output: { checked: "{{ tasks.validate.result }}" }
`)
  await fp.work([check, validate], { poll: '20ms' })

  const run = await fp.workflows.start({ definition, tasks: [check, validate], workflows: [] }, {})

  expect(await run.result({ timeout: '20s' })).toEqual({ checked: 5 })
  expect(new Set(done)).toEqual(new Set([1, 2, 3, 4, 5]))
  expect(most).toBe(3)
  expect(
    await sql('select task, ordinal, state, total, succeeded, failed from fencepost.task_run order by task'),
  ).toEqual([
    { task: 'check', ordinal: 1, state: 'succeeded', total: 5, succeeded: 5, failed: 0 },
    { task: 'validate', ordinal: 1, state: 'succeeded', total: 1, succeeded: 1, failed: 0 },
  ])
  expect(await sql('select run_id from fencepost.call union all select run_id from fencepost.inbox')).toEqual([])
  expect(await sql('select * from fencepost.attempt')).toEqual([])
  expect(await audit(db)).toEqual({ ok: true, violations: 0, warnings: 0, findings: [], truncated: false })
})
