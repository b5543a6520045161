import { expect, it } from 'vitest'
import { audit } from '../../src/audit/audit.js'
import { claim, start } from '../../src/store/lease.js'
import { finish } from '../../src/store/settle.js'
import { setup } from '../../test/harness/setup.js'

it('FM_041: undisturbed, two workers of one queue each take the jobs of their own tasks', async () => {
  const { db, add, see, sql } = await setup()
  const jobs = { mail: await add({ task: 'mail' }), charge: await add({ task: 'charge' }) }

  for (const name of ['charge', 'mail'] as const) {
    const leases = await claim(db, { queue: 'default', limit: 5, worker: name, tasks: [name] })
    expect(leases).toMatchObject([{ jobId: jobs[name], task: name }])
    await start(db, leases)
    await finish(
      db,
      leases.map((lease) => ({ ...lease, resultText: '{}' })),
    )
  }

  for (const id of Object.values(jobs))
    expect(await see(id)).toMatchObject({ outcome: 'succeeded', tries: 1, failures: 0, losses: 0, releases: 0 })
  expect(await sql('select * from fencepost.attempt')).toEqual([])
  expect(await audit(db)).toEqual({ ok: true, violations: 0, warnings: 0, findings: [], truncated: false })
})
