import { expect, it } from 'vitest'
import { audit } from '../../src/audit/audit.js'
import { cancel } from '../../src/store/control.js'
import { loseExpired } from '../../src/store/lease.js'
import { takeTurn } from '../../src/store/turn.js'
import { task } from '../../src/index.js'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'
import { setupGates } from '../../test/harness/gates.js'
import { anything, door, setupWorker } from '../../test/worker/setup.js'

it('FM_037: each settles by its own word: four have finished, one is cancelled, nobody is charged', async () => {
  const { prevent } = await bundleUnderTest('FM_037')

  const played = await prevent()

  expect(noteOf(played, 'A', 'is told by its heartbeat')).toBe('5 extended, 1 to end')
  expect(noteOf(played, 'A', 'settles the batch')).toBe('4 finished, 1 cancelled')
  expect(played.violations).toEqual([])
})

it('FM_037: in one turn, a stale, a failed, a cancelled and a released word change their own jobs only', async () => {
  const { db, add, take, advance, see, sound, emptyTurn } = await setupGates()
  const ids = [await add({ leaseMs: 1_000 })]
  const stale = await take()
  await advance(2_000)
  await loseExpired(db)
  const held = await take({ worker: 'w2' }) // the same job, by another worker
  for (let n = 0; n < 4; n++) ids.push(await add())
  const [failed, cancelled, released, finished] = [await take(), await take(), await take(), await take()]
  await cancel(db, [cancelled.jobId], null)

  const told = await takeTurn(db, {
    ...emptyTurn(),
    finish: [stale, finished].map((lease) => ({ ...lease, resultText: '{}' })),
    fail: [{ ...failed, errorText: '{}', delayMs: 60_000, final: false }],
    release: [
      { ...cancelled, reason: 'cancelled' },
      { ...released, reason: 'shutdown' },
    ],
  })

  expect(told.finish).toMatchObject([{ leaseId: stale.leaseId, answer: 'stale' }])
  expect(told.fail).toMatchObject([{ leaseId: failed.leaseId, answer: 'retrying' }])
  expect(await see(held.jobId)).toMatchObject({ place: 'leased', tries: 2, failures: 0, losses: 1, releases: 0 })
  expect(await see(failed.jobId)).toMatchObject({ place: 'delayed', failures: 1, losses: 0, releases: 0 })
  expect(await see(cancelled.jobId)).toMatchObject({ outcome: 'cancelled', failures: 0, losses: 0 })
  expect(await see(released.jobId)).toMatchObject({ place: 'ready', failures: 0, losses: 0, releases: 1 })
  expect(await see(finished.jobId)).toMatchObject({ outcome: 'succeeded', failures: 0, losses: 0, releases: 0 })
  await sound()
})

it('FM_037: a real worker ends one cancelled handler of five, and the others run on uncharged', async () => {
  const { fp, db, sql, see } = await setupWorker()
  const gate = door()
  const charge = task('charge', {
    input: anything,
    run: async (n, job) => {
      if (n !== 2) return gate.pass()
      await new Promise((resolve) => job.signal.addEventListener('abort', resolve))
      throw job.signal.reason
    },
  })
  const claimed = new Promise<void>((resolve) => {
    let count = 0
    fp.on('claimed', () => ++count === 5 && resolve())
  })
  const ended = new Promise((resolve) => fp.on('cancelled', resolve))
  const jobs = await fp.enqueueMany(
    charge,
    [0, 1, 2, 3, 4].map((input) => ({ input })),
  )
  await fp.work([charge], { poll: '20ms', concurrency: 5 })
  await claimed
  await fp.cancel(jobs[2]?.id as string)
  await ended
  gate.open()

  for (const [n, job] of jobs.entries()) if (n !== 2) await job.result({ timeout: '20s' })
  expect(await see(jobs[2]?.id as string)).toMatchObject({ outcome: 'cancelled', failures: 0 })
  expect(
    await sql(`select distinct failures, losses, releases from fencepost.finished where outcome = 'succeeded'`),
  ).toEqual([{ failures: 0, losses: 0, releases: 0 }])
  expect(await audit(db)).toMatchObject({ ok: true, warnings: 0 })
})
