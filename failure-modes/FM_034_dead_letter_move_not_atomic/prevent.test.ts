import { expect, it } from 'vitest'
import { retryEnded } from '../../src/store/control.js'
import { loseExpired } from '../../src/store/lease.js'
import { fail } from '../../src/store/settle.js'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'
import { Session } from '../../test/harness/session.js'
import { setup } from '../../test/harness/setup.js'

it('FM_034: moved in one statement, a job whose worker is killed is among the dead letters', async () => {
  const { prevent } = await bundleUnderTest('FM_034')

  const played = await prevent()

  expect(noteOf(played, 'A', 'fails it for good, and is killed in the middle')).toBe(
    'committed, then killed before the reply',
  )
  expect(noteOf(played, 'rescuer', 'takes up what is left')).toBeUndefined()
  expect(played.violations).toEqual([])
})

it('FM_034: on its way into the dead letters and out of them, the job is seen in exactly one place', async () => {
  const bundle = await setup()
  const { add, take, placesOf } = bundle
  const worker = await Session.open(bundle)
  const id = await add()
  const failure = { ...(await take()), errorText: '{}', delayMs: 0, final: true }

  await worker.begin()
  expect(await fail(worker, [failure])).toMatchObject([{ answer: 'failed' }])
  expect(await placesOf(id)).toEqual(['leased'])
  await worker.rollback()
  expect(await placesOf(id)).toEqual(['leased'])
  expect(await fail(worker, [failure])).toMatchObject([{ answer: 'failed' }])
  expect(await placesOf(id)).toEqual(['finished'])

  await worker.begin()
  expect(await retryEnded(worker, [id])).toMatchObject([{ answer: 'retried' }])
  expect(await placesOf(id)).toEqual(['finished'])
  await worker.rollback()
  expect(await placesOf(id)).toEqual(['finished'])
  expect(await retryEnded(worker, [id])).toMatchObject([{ answer: 'retried' }])
  expect(await placesOf(id)).toEqual(['ready'])
})

it('FM_034: a job that has used up its losses goes the same way', async () => {
  const bundle = await setup()
  const { add, take, advance, placesOf, see } = bundle
  const reaper = await Session.open(bundle)
  const id = await add({ lossesMax: 0 })
  await take()
  await advance(31_000)

  await reaper.begin()
  expect(await loseExpired(reaper)).toMatchObject([{ answer: 'failed' }])
  expect(await placesOf(id)).toEqual(['leased'])
  await reaper.commit()

  expect(await placesOf(id)).toEqual(['finished'])
  expect(await see(id)).toMatchObject({ outcome: 'failed', reason: 'losses_exhausted', losses: 1 })
})
