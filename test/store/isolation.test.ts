import { expect, it } from 'vitest'
import { fencepost, task } from '../../src/index.js'
import { anything } from '../worker/setup.js'
import { setup } from '../harness/setup.js'

it('admits through gates where the default isolation is serializable, and leaves that to the caller’s transactions', async () => {
  const { url, sql } = await setup()
  await sql(
    `do $$ begin execute format('alter database %I set default_transaction_isolation to serializable', current_database()); end $$`,
  )
  await using fp = await fencepost({ database: url, migrate: false })
  const gated = task('gated', { input: anything, gate: { key: 'k' }, run: (n) => n })
  const level = await fp.transaction(async (tx) => (await tx.query('show transaction_isolation')).rows)
  expect(level).toEqual([{ transaction_isolation: 'serializable' }])

  await fp.work([gated], { poll: '20ms' })
  const jobs = await fp.enqueueMany(
    gated,
    [1, 2, 3].map((n) => ({ input: n })),
  )
  expect(await Promise.all(jobs.map((job) => job.result({ timeout: '20s' })))).toEqual([1, 2, 3])
})
