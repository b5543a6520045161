import { expect, it } from 'vitest'
import { audit } from '../../src/audit/audit.js'
import { task } from '../../src/index.js'
import { definitionOf } from '../../src/lab/run-steps.js'
import { anything, setupWorker } from '../../test/worker/setup.js'

it('FM_054: undisturbed, a run with a sub-run uses up no tries', async () => {
  const { fp, db, sql } = await setupWorker()
  const pay = task('pay', { input: anything, run: () => 'paid' })
  const workflow = (text: string) => ({ definition: definitionOf(text), tasks: [pay], workflows: [] })
  const payouts = workflow(`
name: payouts
tasks: [{ name: pay, action: pay }]
output: "{{ tasks.pay.result }}"
`)
  const month = workflow(`
name: month
tasks: [{ name: payouts, action: workflow.payouts }]
output: "{{ tasks.payouts.result }}"
`)
  await fp.work([pay], { poll: '20ms' })
  await fp.workflows.deploy(payouts)

  const run = await fp.workflows.start(month, {})

  expect(await run.result({ timeout: '20s' })).toBe('paid')
  expect(await sql('select distinct advance_tries, busy_until from fencepost.run')).toEqual([
    { advance_tries: 0, busy_until: null },
  ])
  expect(await audit(db)).toEqual({ ok: true, violations: 0, warnings: 0, findings: [], truncated: false })
})
