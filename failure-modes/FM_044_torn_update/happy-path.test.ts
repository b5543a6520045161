import { expect, it } from 'vitest'
import { audit } from '../../src/audit/audit.js'
import { task } from '../../src/index.js'
import { anything, setupWorker } from '../../test/worker/setup.js'

it('FM_044: undisturbed, a step’s result follows its effect, and the outcome comes with the last write', async () => {
  const { fp, db, see, sql } = await setupWorker()
  await sql('create table effect (name text)')
  const pay = task('pay', {
    input: anything,
    async run(_, job) {
      const reserved = await job.step('reserve', async () => {
        await sql(`insert into effect values ('reserved')`)
        return 7
      })
      return job.commit(async (tx) => {
        await tx.query(`insert into effect values ('paid')`)
        return { reserved }
      })
    },
  })
  await fp.work([pay], { poll: '20ms' })

  const job = await fp.enqueue(pay, null)

  expect(await job.result({ timeout: '10s' })).toEqual({ reserved: 7 })
  expect(await sql('select name from effect')).toEqual([{ name: 'reserved' }, { name: 'paid' }])
  expect(await sql('select name, result from fencepost.step where done_at is not null')).toEqual([
    { name: 'reserve', result: 7 },
  ])
  expect(await see(job.id)).toMatchObject({ outcome: 'succeeded', tries: 1, failures: 0, losses: 0, releases: 0 })
  expect(await sql('select * from fencepost.attempt')).toEqual([])
  expect(await audit(db)).toEqual({ ok: true, violations: 0, warnings: 0, findings: [], truncated: false })
})
