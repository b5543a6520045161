import { expect, it } from 'vitest'
import { audit } from '../../src/audit/audit.js'
import { task } from '../../src/index.js'
import { anything, door, next, setupWorker } from '../../test/worker/setup.js'

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
