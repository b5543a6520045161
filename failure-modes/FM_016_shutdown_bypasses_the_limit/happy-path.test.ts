import { expect, it } from 'vitest'
import { audit } from '../../src/audit/audit.js'
import { task } from '../../src/index.js'
import { anything, door, setupWorker } from '../../test/worker/setup.js'

it('FM_016: undisturbed, what a worker gives back at its shutdown is run by the next one, alone, and then who waited', async () => {
  const { fp, client, db, see } = await setupWorker()
  const gate = door()
  const ran: unknown[] = []
  const charge = task('charge', {
    input: anything,
    gate: { key: 'card', limit: 1 },
    async run(input, job) {
      ran.push(input)
      if (job.signal.aborted || ran.length > 1) return input
      const aborted = new Promise((_resolve, reject) => job.signal.addEventListener('abort', reject))
      return Promise.race([gate.pass(), aborted])
    },
  })
  const first = await fp.enqueue(charge, 'first')
  const second = await fp.enqueue(charge, 'second')
  const reached = gate.reached()
  const worker = await fp.work([charge], { poll: '20ms', grace: '0s' })
  await reached

  await worker.stop()
  expect(await see(first.id)).toMatchObject({ place: 'ready', failures: 0, losses: 0, releases: 1 })
  expect(await see(second.id)).toMatchObject({ place: 'waiting' })
  const other = await client()
  await other.work([charge], { poll: '20ms' })

  expect(await second.result({ timeout: '10s' })).toBe('second')
  expect(ran).toEqual(['first', 'first', 'second'])
  expect(await see(first.id)).toMatchObject({ outcome: 'succeeded', tries: 2, failures: 0, losses: 0, releases: 1 })
  expect(await audit(db)).toEqual({ ok: true, violations: 0, warnings: 0, findings: [], truncated: false })
})
