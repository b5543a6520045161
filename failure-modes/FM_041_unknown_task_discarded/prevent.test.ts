import { expect, it } from 'vitest'
import { audit } from '../../src/audit/audit.js'
import { task } from '../../src/index.js'
import { claim } from '../../src/store/lease.js'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'
import { setup } from '../../test/harness/setup.js'
import { anything, next, setupWorker } from '../../test/worker/setup.js'

it('FM_041: a worker takes back the lease of a job that it does not know, and leaves the job to one that does', async () => {
  const { prevent } = await bundleUnderTest('FM_041')

  const played = await prevent()

  expect(noteOf(played, 'B', 'takes the lease back')).toBe('lease 1 lost')
  expect(noteOf(played, 'B', 'does not know it, looks for work')).toBe('nothing to claim')
  expect(noteOf(played, 'C', 'knows the task, looks for work')).toBe('lease 2, finished')
  expect(played.violations).toEqual([])
})

it('FM_041: jobs of an unknown task at the head of the queue do not hide those behind them, and are not touched', async () => {
  const { db, add, see, sql } = await setup()
  const unknown = [await add({ task: 'new' }), await add({ task: 'new', priority: -1 })]
  const known = await add({ task: 'old' })
  const before = await sql('select * from fencepost.ready where task = $1 order by seq', ['new'])

  const request = { queue: 'default', limit: 1, worker: 'w1', tasks: ['old'] }
  expect(await claim(db, request)).toMatchObject([{ jobId: known }])
  expect(await claim(db, request)).toEqual([])

  expect(await sql('select * from fencepost.ready where task = $1 order by seq', ['new'])).toEqual(before)
  for (const id of unknown) expect(await see(id)).toMatchObject({ place: 'ready', tries: 0, releases: 0 })
})

it('FM_041: a real worker does the same in the middle of a deploy', async () => {
  const { fp, client, db, add, take, advance, see } = await setupWorker()
  const [mail, charge] = [
    task('mail', { input: anything, run: () => 'sent' }),
    task('charge', { input: anything, run: () => 'charged' }),
  ]
  const id = await add({ task: 'charge' })
  await take({ worker: 'A' })
  await advance(31_000)
  const lost = next(fp, 'lost')

  await fp.work([mail], { poll: '20ms' })
  expect(await lost).toMatchObject({ jobId: id, task: 'charge', queue: 'default', outcome: null })
  // It has looked for work since, and found some.
  expect(await (await fp.enqueue(mail, null)).result({ timeout: '10s' })).toBe('sent')
  expect(await see(id)).toMatchObject({ place: 'ready', tries: 1, failures: 0, losses: 1 })

  const deployed = await client()
  await deployed.work([charge], { poll: '20ms' })
  expect(await deployed.result(id, { timeout: '10s' })).toBe('charged')
  expect(await audit(db)).toMatchObject({ ok: true, warnings: 0 })
})
