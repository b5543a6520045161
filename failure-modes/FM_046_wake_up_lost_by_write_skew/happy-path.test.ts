import { expect, it } from 'vitest'
import { audit } from '../../src/audit/audit.js'
import { task } from '../../src/index.js'
import { definitionOf } from '../../src/lab/run-steps.js'
import { anything, setupWorker } from '../../test/worker/setup.js'

it('FM_046: undisturbed, whoever waits for a signal, for a person or for another run goes on when it is there', async () => {
  const { fp, db, sql } = await setupWorker()
  const before = task('before', { input: anything, run: () => 'done' })
  const start = (text: string, parameters = {}) =>
    fp.workflows.start({ definition: definitionOf(text), tasks: [before], workflows: [] }, parameters)
  await fp.work([before], { poll: '20ms' })

  const waiter = await start(`
name: waiter
tasks:
  - { name: before, action: before, next: [{ do: signal }] }
  - { name: signal, wait_for: { signal: go }, next: [{ do: question }] }
  - { name: question, action: core.ask, input: { title: Really? } }
output: { told: "{{ tasks.signal.result }}" }
`)
  const watcher = await start(
    `
name: watcher
parameters: { run: string }
tasks: [{ name: watch, wait_for: { run: "{{ parameters.run }}" } }]
output: { state: "{{ tasks.watch.result.state }}" }
`,
    { run: waiter.id },
  )
  const waiting = async () =>
    (await sql(`select task from fencepost.task_run where state = 'waiting' order by task`)).map(
      ({ task: name }) => name,
    )
  await expect.poll(waiting).toEqual(['signal', 'watch'])
  await fp.workflows.signal(waiter.id, 'go', 42)
  await expect.poll(waiting).toEqual(['question', 'watch'])
  await fp.workflows.answer(waiter.id, 'question')

  expect(await waiter.result({ timeout: '20s' })).toEqual({ told: 42 })
  expect(await watcher.result({ timeout: '20s' })).toEqual({ state: 'succeeded' })
  expect(await sql('select watched from fencepost.watch')).toEqual([])
  expect(await sql('select run_id from fencepost.call union all select run_id from fencepost.inbox')).toEqual([])
  expect(await audit(db)).toEqual({ ok: true, violations: 0, warnings: 0, findings: [], truncated: false })
})
