import { expect, it } from 'vitest'
import { audit } from '../../src/audit/audit.js'
import { task } from '../../src/index.js'
import { definitionOf } from '../../src/lab/run-steps.js'
import { anything, setupWorker } from '../../test/worker/setup.js'

it('FM_008: undisturbed, what follows is made in the transaction that consumes the last letter', async () => {
  const { fp, db, sql } = await setupWorker()
  const tasks = ['check', 'validate'].map((name) => task(name, { input: anything, run: () => name }))
  const definition = definitionOf(`
name: orders
tasks:
  - name: check
    action: check
    with_items: [1, 2]
    next: [{ do: validate }]
  - name: validate
    action: validate
output: { results: "{{ tasks.check.result }}", last: "{{ tasks.validate.result }}" }
`)
  await fp.work(tasks, { poll: '20ms' })

  const run = await fp.workflows.start({ definition, tasks, workflows: [] }, {})

  expect(await run.result({ timeout: '20s' })).toEqual({ results: ['check', 'check'], last: 'validate' })
  expect(
    await sql(
      `select j.xmin::text = t.xmin::text as together from fencepost.job j
       join fencepost.task_run t on t.run_id = j.run_id and t.task = 'check' where j.run_task = 'validate'`,
    ),
  ).toEqual([{ together: true }])
  expect(await sql('select run_id from fencepost.call union all select run_id from fencepost.inbox')).toEqual([])
  expect(await audit(db)).toEqual({ ok: true, violations: 0, warnings: 0, findings: [], truncated: false })
})
