import { expect, it } from 'vitest'
import { task } from '../../src/index.js'
import { anything, door, setupWorker } from '../../test/worker/setup.js'
import { audit } from '../../src/audit/audit.js'

it('FM_015: undisturbed, a job that waited is admitted with the end of the one before it', async () => {
  const { fp, db, see, sql } = await setupWorker()
  const gate = door()
  const charge = task('charge', {
    input: anything,
    gate: { key: 'card', limit: 1 },
    async run(input) {
      if (input === 'first') await gate.pass()
      return input
    },
  })
  const reached = gate.reached()
  const first = await fp.enqueue(charge, 'first')
  await fp.work([charge], { poll: '20ms' })
  await reached
  const second = await fp.enqueue(charge, 'second')
  expect(await see(second.id)).toMatchObject({ place: 'waiting' })

  gate.open()

  expect(await second.result({ timeout: '10s' })).toBe('second')
  expect(await see(first.id)).toMatchObject({ outcome: 'succeeded', tries: 1 })
  expect(await sql('select key from fencepost.nudge')).toEqual([])
  expect(await audit(db)).toEqual({ ok: true, violations: 0, warnings: 0, findings: [], truncated: false })
})
