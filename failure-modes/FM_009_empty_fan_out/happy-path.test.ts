import { expect, it } from 'vitest'
import { audit } from '../../src/audit/audit.js'
import { task } from '../../src/index.js'
import { definitionOf } from '../../src/lab/run-steps.js'
import { anything, setupWorker } from '../../test/worker/setup.js'

it('FM_009: undisturbed, a run is done with however many items there are, none included', async () => {
  const { fp, db, sql } = await setupWorker()
  const check = task('check', { input: anything, run: (input) => input })
  const definition = definitionOf(`
name: orders
parameters: { list: array }
tasks:
  - name: each
    action: check
    with_items: "{{ parameters.list }}"
    input: "{{ item }}"
output: { all: "{{ tasks.each.result }}" }
`)
  await fp.work([check], { poll: '20ms' })

  for (const list of [[], [1], [1, 2, 3]]) {
    const run = await fp.workflows.start({ definition, tasks: [check], workflows: [] }, { list })
    expect(await run.result({ timeout: '20s' })).toEqual({ all: list })
  }

  expect(await sql('select run_id from fencepost.call union all select run_id from fencepost.inbox')).toEqual([])
  expect(await audit(db)).toEqual({ ok: true, violations: 0, warnings: 0, findings: [], truncated: false })
})
