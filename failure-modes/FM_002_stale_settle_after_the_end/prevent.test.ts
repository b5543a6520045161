import { expect, it } from 'vitest'
import { audit } from '../../src/audit/audit.js'
import { cancel, retryEnded } from '../../src/store/control.js'
import { extend, loseExpired, start } from '../../src/store/lease.js'
import { fail, finish, park, release } from '../../src/store/settle.js'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'
import { setup } from '../../test/harness/setup.js'

it('FM_002: by the fence, a late failure is stale, and the job stays succeeded', async () => {
  const { prevent } = await bundleUnderTest('FM_002')

  const played = await prevent()

  expect(noteOf(played, 'B', 'commits the effect and the outcome')).toBe('finished')
  expect(noteOf(played, 'A', 'wakes up and reports a failure')).toBe('stale')
  expect(noteOf(played, 'rescuer', 'takes up what is left')).toBeUndefined()
  expect(played.violations).toEqual([])
})

it('FM_002: nothing that the old attempt can still say changes the outcome, and the first thing it said is kept', async () => {
  const { db, add, take, advance, placesOf, sql } = await setup()
  const id = await add()
  const a = await take({ worker: 'A' })
  await advance(31_000)
  await loseExpired(db)
  await finish(db, [{ ...(await take({ worker: 'B' })), resultText: '"B"' }])
  const outcome = await sql('select * from fencepost.finished')

  const failed = await fail(db, [{ ...a, errorText: '{"message":"late"}', delayMs: 0, final: true }])

  expect(failed).toMatchObject([{ answer: 'stale', outcome: 'succeeded' }])
  expect(await release(db, [a], 'shutdown')).toMatchObject([{ answer: 'stale', outcome: 'succeeded' }])
  expect(await park(db, a, 'approval', null)).toMatchObject({ answer: 'stale' })
  expect(await start(db, [a])).toMatchObject([{ answer: 'stale' }])
  expect(await extend(db, [a])).toMatchObject([{ answer: 'gone' }])
  expect(await sql('select * from fencepost.finished')).toEqual(outcome)
  expect(await placesOf(id)).toEqual(['finished'])
  expect(await sql('select worker, ending, late_ending, late from fencepost.attempt order by lease_id')).toEqual([
    { worker: 'A', ending: 'lost', late_ending: 'failed', late: { message: 'late' } },
    { worker: 'B', ending: 'succeeded', late_ending: null, late: null },
  ])
  expect(await audit(db)).toMatchObject({ ok: true, warnings: 0 })
})

it('FM_002: nobody else can undo a success either', async () => {
  const { db, add, take, sql } = await setup()
  const id = await add()
  await finish(db, [{ ...(await take()), resultText: '1' }])
  const outcome = await sql('select * from fencepost.finished')

  expect(await retryEnded(db, [id])).toMatchObject([{ answer: 'succeeded', outcome: 'succeeded' }])
  expect(await cancel(db, [id], null)).toMatchObject([{ answer: 'finished', outcome: 'succeeded' }])
  expect(await sql('select * from fencepost.finished')).toEqual(outcome)
})
