import { expect, it } from 'vitest'
import { audit } from '../../src/audit/audit.js'
import { task } from '../../src/index.js'
import { definitionOf } from '../../src/lab/run-steps.js'
import { anything, setupWorker } from '../../test/worker/setup.js'

it('FM_010: undisturbed, the join runs once, when the last of its edges has fired', async () => {
  const { fp, db, sql } = await setupWorker()
  const done: string[] = []
  const tasks = ['pack', 'charge', 'ship'].map((name) => task(name, { input: anything, run: () => done.push(name) }))
  const definition = definitionOf(`
name: orders
tasks:
  - { name: pack, action: pack, next: [{ do: ship }] }
  - { name: charge, action: charge, next: [{ do: ship }] }
  - { name: ship, action: ship, join: all }
`)
  await fp.work(tasks, { poll: '20ms' })

  const run = await fp.workflows.start({ definition, tasks, workflows: [] }, {})
  await run.result({ timeout: '20s' })

  expect([...done].sort()).toEqual(['charge', 'pack', 'ship'])
  expect(done[2]).toBe('ship')
  expect(await sql(`select state, error from fencepost.run`)).toEqual([{ state: 'succeeded', error: null }])
  expect(await sql('select run_id from fencepost.call union all select run_id from fencepost.inbox')).toEqual([])
  expect(await audit(db)).toEqual({ ok: true, violations: 0, warnings: 0, findings: [], truncated: false })
})
