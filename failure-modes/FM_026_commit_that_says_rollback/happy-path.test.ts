import { expect, it } from 'vitest'
import { audit } from '../../src/audit/audit.js'
import { enqueue } from '../../src/store/enqueue.js'
import { finish } from '../../src/store/settle.js'
import { aJob, setup } from '../../test/harness/setup.js'

it('FM_026: undisturbed, what COMMIT says is true, also after an error that a savepoint has undone', async () => {
  const { db, take, see, sql } = await setup()
  await sql('create table orders (id int primary key)')
  const job = aJob()

  await db.transaction(async (tx) => {
    await tx.query('insert into orders values (1)')
    await tx.query('savepoint before_the_copy')
    await expect(tx.query('insert into orders values (1)')).rejects.toMatchObject({ code: '23505' })
    await tx.query('rollback to before_the_copy')
    await enqueue(db, [job], tx)
  })

  expect(await sql('select id from orders')).toEqual([{ id: 1 }])
  await finish(db, [{ ...(await take()), resultText: '{}' }])
  expect(await see(job.id)).toMatchObject({ outcome: 'succeeded', tries: 1, failures: 0, losses: 0, releases: 0 })
  expect(await sql('select * from fencepost.attempt')).toEqual([])
  expect(await audit(db)).toEqual({ ok: true, violations: 0, warnings: 0, findings: [], truncated: false })
})
