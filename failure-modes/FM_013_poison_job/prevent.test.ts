import { expect, it } from 'vitest'
import { audit } from '../../src/audit/audit.js'
import { task } from '../../src/index.js'
import { loseExpired } from '../../src/store/lease.js'
import { fail, finish } from '../../src/store/settle.js'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'
import { setup } from '../../test/harness/setup.js'
import { anything, next, setupWorker } from '../../test/worker/setup.js'

it('FM_013: the losses run out with the third worker, and the fourth finds nothing to die of', async () => {
  const { prevent } = await bundleUnderTest('FM_013')

  const played = await prevent()

  for (const worker of ['A', 'B', 'C']) expect(noteOf(played, worker, 'leases it and dies of it')).toBe('killed')
  expect(noteOf(played, 'D', 'takes the lease back')).toBe('lease 3 failed')
  expect(noteOf(played, 'D', 'looks for work')).toBe('nothing to claim')
  expect(played.violations).toEqual([])
})

/** A job that two workers may die of, and one worker after the other that does. */
async function aPoison() {
  const bundle = await setup()
  const id = await bundle.add({ failuresMax: 3, lossesMax: 2 })
  return {
    ...bundle,
    id,
    dieOfIt: async (worker: string) => {
      await bundle.take({ worker })
      await bundle.advance(31_000)
      return (await loseExpired(bundle.db)).map(({ answer }) => answer)
    },
  }
}

it('FM_013: the outcome says why, and the log names every worker that has died of it', async () => {
  const { db, id, dieOfIt, placesOf, see, sql } = await aPoison()

  expect([await dieOfIt('A'), await dieOfIt('B'), await dieOfIt('C')]).toEqual([['lost'], ['lost'], ['failed']])

  expect(await placesOf(id)).toEqual(['finished'])
  expect(await see(id)).toMatchObject({ outcome: 'failed', reason: 'losses_exhausted', losses: 3, failures: 0 })
  expect(await sql('select worker, ending from fencepost.attempt order by lease_id')).toEqual([
    { worker: 'A', ending: 'lost' },
    { worker: 'B', ending: 'lost' },
    { worker: 'C', ending: 'lost' },
  ])
  expect(await audit(db)).toMatchObject({ ok: true, warnings: 0 })
})

it('FM_013: a job whose workers died of something else still succeeds within its losses', async () => {
  const { db, id, dieOfIt, take, see } = await aPoison()
  await dieOfIt('A')
  await dieOfIt('B')

  expect(await finish(db, [{ ...(await take()), resultText: '1' }])).toMatchObject([{ answer: 'finished' }])

  expect(await see(id)).toMatchObject({ outcome: 'succeeded', tries: 3, losses: 2, failures: 0 })
  expect(await audit(db)).toMatchObject({ ok: true, warnings: 0 })
})

it('FM_013: a failure between two deaths does not make the dead forgotten', async () => {
  const { db, id, dieOfIt, take, see } = await aPoison()
  await dieOfIt('A')
  await dieOfIt('B')
  await fail(db, [{ ...(await take()), errorText: '{}', delayMs: 0, final: false }])

  expect(await dieOfIt('C')).toEqual(['failed'])

  expect(await see(id)).toMatchObject({ outcome: 'failed', reason: 'losses_exhausted', losses: 3, failures: 1 })
})

it('FM_013: a worker that ends such a job tells of it by an event', async () => {
  const { fp, add, take, advance } = await setupWorker()
  const id = await add({ task: 'poison', lossesMax: 0 })
  await take({ worker: 'A' })
  await advance(31_000)
  const lost = next(fp, 'lost')

  await fp.work([task('poison', { input: anything, run: () => 'never reached' })], { poll: '20ms' })

  expect(await lost).toMatchObject({ jobId: id, worker: 'A', started: true, outcome: 'failed' })
})
