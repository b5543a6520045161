import { expect, it } from 'vitest'
import { fail, finish } from '../../src/store/settle.js'
import { loseExpired } from '../../src/store/lease.js'
import { forged, setup } from '../harness/setup.js'

it('ends a job as succeeded, with its result and no attempt row for a first try', async () => {
  const { db, add, take, see, placesOf, sql } = await setup()
  const id = await add()
  const lease = await take()

  const [answer] = await finish(db, [{ ...lease, resultText: '{"ok":true}' }])

  expect(answer).toMatchObject({ answer: 'finished', outcome: 'succeeded', duplicate: false })
  expect(await see(id)).toMatchObject({ place: 'finished', outcome: 'succeeded', tries: 1, failures: 0, losses: 0, releases: 0 })
  expect(await placesOf(id)).toEqual(['finished'])
  expect(await sql('select * from fencepost.attempt')).toEqual([])
  expect(await sql('select result from fencepost.finished')).toEqual([{ result: { ok: true } }])
})

it('answers already to the same lease, and changes nothing', async () => {
  const { db, add, take, sql } = await setup()
  await add()
  const lease = await take()
  await finish(db, [{ ...lease, resultText: '1' }])

  const [answer] = await finish(db, [{ ...lease, resultText: '2' }])

  expect(answer).toMatchObject({ answer: 'already', outcome: 'succeeded', duplicate: false })
  expect(await sql('select result from fencepost.finished')).toEqual([{ result: 1 }])
  expect(await sql('select * from fencepost.attempt')).toEqual([])
})

it('refuses a lease whose nonce is another', async () => {
  const { db, add, take, placesOf } = await setup()
  const id = await add()
  const lease = await take()

  const [answer] = await finish(db, [{ ...forged(lease), resultText: '1' }])

  expect(answer).toMatchObject({ answer: 'stale', outcome: null })
  expect(await placesOf(id)).toEqual(['leased'])
})

it('refuses a lost lease, keeps what it said, and does not touch the newer attempt', async () => {
  const { db, add, take, advance, placesOf, sql } = await setup()
  const id = await add()
  const old = await take({ worker: 'old' })
  await advance(31_000)
  await loseExpired(db)
  const current = await take({ worker: 'new' })

  const [late] = await finish(db, [{ ...old, resultText: '"late"' }])
  expect(late).toMatchObject({ answer: 'stale', outcome: null, duplicate: false })
  expect(await placesOf(id)).toEqual(['leased'])

  const [done] = await finish(db, [{ ...current, resultText: '"good"' }])
  expect(done).toMatchObject({ answer: 'finished', duplicate: true })
  expect(await sql('select ending, late_ending, late, worker from fencepost.attempt order by lease_id')).toEqual([
    { ending: 'lost', late_ending: 'succeeded', late: 'late', worker: 'old' },
    { ending: 'succeeded', late_ending: null, late: null, worker: 'new' },
  ])
})

it('is not undone by a later fail of the same lease', async () => {
  const { db, add, take, see } = await setup()
  const id = await add()
  const lease = await take()
  await finish(db, [{ ...lease, resultText: '1' }])

  const [answer] = await fail(db, [{ ...lease, errorText: '{}', delayMs: 0, final: false }])

  expect(answer).toMatchObject({ answer: 'stale', outcome: 'succeeded' })
  expect(await see(id)).toMatchObject({ place: 'finished', outcome: 'succeeded', failures: 0 })
})

it('settles a batch in which some are stale', async () => {
  const { db, add, take } = await setup()
  const ids = [await add(), await add(), await add()]
  const leases = [await take(), await take(), await take()]
  await finish(db, [{ ...(leases[1] as (typeof leases)[0]), resultText: '1' }])

  const answers = await finish(db, leases.map((lease, i) => ({ ...(i === 2 ? forged(lease) : lease), resultText: '1' })))

  expect(new Map(answers.map(({ jobId, answer }) => [jobId, answer]))).toEqual(
    new Map([
      [ids[0], 'finished'],
      [ids[1], 'already'],
      [ids[2], 'stale'],
    ]),
  )
})
