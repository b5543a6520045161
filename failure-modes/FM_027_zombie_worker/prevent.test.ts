import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { audit } from '../../src/audit/audit.js'
import { task } from '../../src/index.js'
import { extend, loseExpired } from '../../src/store/lease.js'
import { finish } from '../../src/store/settle.js'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'
import { setup } from '../../test/harness/setup.js'
import { anything, door, setupWorker } from '../../test/worker/setup.js'

it('FM_027: a resumed worker is told that its lease is gone, its commit is stale, and the other’s outcome stands', async () => {
  const { prevent } = await bundleUnderTest('FM_027')

  const played = await prevent()

  // It was really stopped: its heartbeat was asked for before the lease ran out, and came after B had committed.
  expect(noteOf(played, 'A', 'is stopped before its heartbeat')).toBe('SIGSTOP')
  expect(noteOf(played, 'B', 'takes the lease back')).toBe('lease 1 lost')
  expect(noteOf(played, 'B', 'commits')).toBe('finished')
  expect(noteOf(played, 'A', 'is resumed, its heart beats')).toBe('gone, the job is finished')
  expect(noteOf(played, 'A', 'commits, too')).toBe('stale, rolled back')
  expect(played.violations).toEqual([])
})

const naive = readFileSync(join(import.meta.dirname, 'naive.sql'), 'utf8')
const [naiveExtend, naiveFinish] = naive.split(/(?=^create or replace )/m).slice(1) as [string, string]

/** A's lease was lost, and B has it now; with one layer of the guard replaced, if one is given. */
async function aZombie(withoutLayer = 'select 1') {
  const bundle = await setup()
  await bundle.sql(withoutLayer)
  const id = await bundle.add()
  const a = await bundle.take({ worker: 'A' })
  await bundle.advance(31_000)
  await loseExpired(bundle.db)
  const b = await bundle.take({ worker: 'B' })
  return { ...bundle, id, a, b, outcomes: () => bundle.sql('select worker, result from fencepost.finished') }
}

it('FM_027: while the other attempt runs, too, the heartbeat finds nothing, and keeps nobody’s lease alive', async () => {
  const { db, a, advance, sql } = await aZombie()
  const lease = await sql('select * from fencepost.leased')
  await advance(20_000)

  expect(await extend(db, [a])).toMatchObject([{ answer: 'gone' }])

  expect(await sql('select * from fencepost.leased')).toEqual(lease)
})

it('FM_027: the heartbeat alone, with an outcome that can be written again, leaves the zombie without a lease', async () => {
  const { db, id, a, b, outcomes, placesOf } = await aZombie(naiveFinish)
  await finish(db, [{ ...b, resultText: '"B"' }])

  expect(await extend(db, [a])).toMatchObject([{ answer: 'gone' }])
  expect(await finish(db, [{ ...a, resultText: '"A"' }])).toMatchObject([{ answer: 'stale' }])

  expect(await outcomes()).toEqual([{ worker: 'B', result: 'B' }])
  expect(await placesOf(id)).toEqual(['finished'])
})

it('FM_027: the key of the outcome alone, with a lease that was written anew, refuses the second outcome', async () => {
  const { db, id, a, b, outcomes, placesOf } = await aZombie(naiveExtend)
  await finish(db, [{ ...b, resultText: '"B"' }])
  expect(await extend(db, [a])).toMatchObject([{ answer: 'extended' }])

  await expect(finish(db, [{ ...a, resultText: '"A"' }])).rejects.toMatchObject({ cause: { code: '23505' } })

  expect(await outcomes()).toEqual([{ worker: 'B', result: 'B' }])
  // Against this one, the job in two places, there is no second layer; but it is found.
  expect(await placesOf(id)).toEqual(['leased', 'finished'])
  const { findings } = await audit(db)
  expect(findings.map(({ invariant, problem }) => `${invariant}: ${problem}`)).toContain(
    'INV_006: in 2 places: finished, leased',
  )
})

it('FM_027: a worker that is told so aborts its handler, and settles nothing', async () => {
  const { fp, see, loseAll } = await setupWorker()
  const gate = door()
  let aborted: unknown
  const charge = task('charge', {
    input: anything,
    run: (_, job) =>
      new Promise((resolve) => {
        job.signal.addEventListener('abort', () => {
          aborted = job.signal.reason
          resolve('too late')
        })
        void gate.pass()
      }),
  })
  const zombie = await fp.work([charge], { poll: '20ms', grace: '30s' })
  const running = gate.reached()
  const job = await fp.enqueue(charge, null)
  await running

  const stopped = zombie.stop() // it claims nothing more, and waits for its handler
  await loseAll()
  await stopped

  expect(aborted).toMatchObject({ message: expect.stringContaining('lease_lost') as string })
  expect(await see(job.id)).toMatchObject({ place: 'ready', tries: 1, failures: 0, losses: 1, releases: 0 })
})
