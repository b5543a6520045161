import { expect, it } from 'vitest'
import { sweepMessages } from '../../src/store/sqs-messages.js'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'
import { setup } from '../../test/harness/setup.js'

it('FM_042: only what its queue says it keeps no longer expires, with an outcome; what runs, and jobs, stay', async () => {
  const { prevent } = await bundleUnderTest('FM_042')

  const played = await prevent()

  expect(noteOf(played, 'server', 'sweeps what is too old')).toBe('1 swept')
  expect(noteOf(played, 'consumer', 'is done with the first')).toBe('#1 deleted')
  expect(noteOf(played, 'worker', 'is back, and runs the report')).toBe('finished')
  expect(played.violations).toEqual([])
})

it('FM_042: a job of ten years ago is where it was, in whatever place, whoever sweeps', async () => {
  const { db, add, take, advance, placesOf } = await setup()
  const [leased, ready, delayed] = [await add(), await add(), await add({ delayMs: 1_000 })]
  await take()
  await advance(10 * 365 * 86_400_000)

  expect(await sweepMessages(db, 0)).toBe(0)

  expect(await placesOf(leased)).toEqual(['leased'])
  expect(await placesOf(ready)).toEqual(['ready'])
  expect(await placesOf(delayed)).toEqual(['delayed'])
})
