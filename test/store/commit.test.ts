import { expect, it } from 'vitest'
import { finish, finishLast, hold } from '../../src/store/settle.js'
import { forged, setup } from '../harness/setup.js'

async function setupEffect() {
  const bundle = await setup()
  await bundle.sql('create table effect (n integer)')
  return {
    ...bundle,
    effects: async () => (await bundle.sql('select n from effect')).length,
  }
}

it('commits the work and the outcome together, with the fence as the last word', async () => {
  const { db, add, take, see, effects } = await setupEffect()
  const id = await add()
  const lease = await take()

  await db.transactionEndingWith(
    'read committed',
    async (tx) => void (await tx.query('insert into effect values (1)')),
    (mark, schema) => finishLast({ ...lease, resultText: `{"it's": "quoted \\\\"}` }, mark, schema),
  )

  expect(await effects()).toBe(1)
  expect(await see(id)).toMatchObject({ outcome: 'succeeded' })
})

it('rolls the work back if the lease is not held', async () => {
  const { db, add, take, see, effects } = await setupEffect()
  const id = await add()
  const lease = await take()

  const commit = db.transactionEndingWith(
    'read committed',
    async (tx) => void (await tx.query('insert into effect values (1)')),
    (mark, schema) => finishLast({ ...forged(lease), resultText: '1' }, mark, schema),
  )

  await expect(commit).rejects.toMatchObject({ code: 'FP_LEASE_LOST' })
  expect(await effects()).toBe(0)
  expect(await see(id)).toMatchObject({ place: 'leased' })
})

it('rolls the work back if this very lease has finished already', async () => {
  const { db, add, take, effects } = await setupEffect()
  await add()
  const lease = await take()
  await finish(db, [{ ...lease, resultText: '1' }])

  const commit = db.transactionEndingWith(
    'read committed',
    async (tx) => void (await tx.query('insert into effect values (1)')),
    (mark, schema) => finishLast({ ...lease, resultText: '1' }, mark, schema),
  )

  await expect(commit).rejects.toMatchObject({ code: 'FP_JOB_COMMITTED' })
  expect(await effects()).toBe(0)
})

it('does not finish a job whose work has ended the transaction by itself', async () => {
  const { db, add, take, see } = await setupEffect()
  const id = await add()
  const lease = await take()

  const commit = db.transactionEndingWith(
    'read committed',
    async (tx) => void (await tx.query('rollback')),
    (mark, schema) => finishLast({ ...lease, resultText: '1' }, mark, schema),
  )

  await expect(commit).rejects.toMatchObject({ code: 'FP_TRANSACTION_ENDED' })
  expect(await see(id)).toMatchObject({ place: 'leased' })
})

it('does not take a COMMIT that says ROLLBACK for success', async () => {
  const { db, add, take, see } = await setupEffect()
  const id = await add()
  const lease = await take()

  const commit = db.transactionEndingWith(
    'read committed',
    async (tx) => void (await tx.query('select 1 / 0').catch(() => {})),
    (mark, schema) => finishLast({ ...lease, resultText: '1' }, mark, schema),
  )

  await expect(commit).rejects.toMatchObject({ code: 'FP_TRANSACTION_ROLLED_BACK' })
  expect(await see(id)).toMatchObject({ place: 'leased' })
})

it('holds a lease for as long as asked, never shorter than before, and only by its fence', async () => {
  const { db, add, take, sql } = await setupEffect()
  await add()
  const lease = await take()
  const left = () =>
    sql<{ seconds: number }>(
      'select round(extract(epoch from expires_at - fencepost.clock()))::int as seconds from fencepost.leased',
    ).then(([row]) => row?.seconds)

  expect(await hold(db, forged(lease), 120_000)).toBe(false)
  expect(await left()).toBe(30)
  expect(await hold(db, lease, 120_000)).toBe(true)
  expect(await left()).toBe(120)
  expect(await hold(db, lease, 10_000)).toBe(true)
  expect(await left()).toBe(120)
})
