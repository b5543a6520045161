import { expect, it } from 'vitest'
import { audit } from '../../src/audit/audit.js'
import { task } from '../../src/index.js'
import { anything, door, next, setupWorker } from '../../test/worker/setup.js'
import { definitionOf } from '../../src/lab/run-steps.js'

it('FM_031: undisturbed, a running handler is told of its cancel, a waiting job never runs, and others go on', async () => {
  const { fp, db, see, sql } = await setupWorker()
  const gate = door()
  const ran: unknown[] = []
  const charge = task('charge', {
    input: anything,
    async run(input, job) {
      ran.push(input)
      if (input !== 'running') return input
      const aborted = new Promise((_resolve, reject) => job.signal.addEventListener('abort', reject))
      return Promise.all([gate.pass(), aborted])
    },
  })
  const waiting = await fp.enqueue(charge, 'waiting', { delay: '1h' })
  const running = await fp.enqueue(charge, 'running')
  const reached = gate.reached()
  await fp.work([charge], { poll: '20ms' })
  await reached

  expect(await fp.cancel(waiting.id)).toMatchObject({ answer: 'cancelled' })
  const cancelled = next(fp, 'cancelled')
  expect(await fp.cancel(running.id)).toMatchObject({ answer: 'requested' })

  expect(await cancelled).toEqual({ jobId: running.id, task: 'charge', queue: 'default' })
  const other = await fp.enqueue(charge, 'other')
  expect(await other.result({ timeout: '10s' })).toBe('other')
  expect(ran).toEqual(['running', 'other'])
  expect(await see(waiting.id)).toMatchObject({ outcome: 'cancelled', tries: 0, reason: 'cancelled' })
  expect(await see(running.id)).toMatchObject({ outcome: 'cancelled', tries: 1, failures: 0, losses: 0, releases: 1 })
  expect(await see(other.id)).toMatchObject({ outcome: 'succeeded', tries: 1 })
  expect(await sql('select ending, reason from fencepost.attempt')).toEqual([
    { ending: 'released', reason: 'cancelled' },
  ])
  expect(await audit(db)).toEqual({ ok: true, violations: 0, warnings: 0, findings: [], truncated: false })
})

it('FM_031: undisturbed, the cancel of a run stops what runs, and nothing follows', async () => {
  const { fp, db, sql } = await setupWorker()
  const gate = door()
  const charge = task('charge', {
    input: anything,
    run: (_, job) =>
      Promise.all([gate.pass(), new Promise((_resolve, reject) => job.signal.addEventListener('abort', reject))]),
  })
  const definition = definitionOf(`
name: orders
tasks:
  - { name: charge, action: charge, next: [{ do: again }] }
  - { name: again, action: charge }
`)
  const reached = gate.reached()
  await fp.work([charge], { poll: '20ms' })
  const run = await fp.workflows.start({ definition, tasks: [charge], workflows: [] }, {})
  await reached

  expect(await fp.workflows.cancel(run.id, { reason: 'no longer wanted' })).toMatchObject({ answer: 'cancelling' })

  await expect.poll(async () => (await fp.workflows.run(run.id)).state, { timeout: 20_000 }).toBe('cancelled')
  expect(await fp.workflows.run(run.id)).toMatchObject({ error: { message: 'no longer wanted' } })
  expect(await sql('select run_task, outcome, failures, losses from fencepost.jobs')).toEqual([
    { run_task: 'charge', outcome: 'cancelled', failures: 0, losses: 0 },
  ])
  expect(await fp.workflows.cancel(run.id)).toMatchObject({ answer: 'ended', state: 'cancelled' })
  expect(await audit(db)).toEqual({ ok: true, violations: 0, warnings: 0, findings: [], truncated: false })
})
