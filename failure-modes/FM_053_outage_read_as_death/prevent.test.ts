import { expect, it } from 'vitest'
import { extend } from '../../src/store/lease.js'
import { finish } from '../../src/store/settle.js'
import { reapExpired } from '../../src/store/worker.js'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'
import { setup } from '../../test/harness/setup.js'

it('FM_053: after a gap in its own pulse the reaper gives every lease one more length to show that it lives', async () => {
  const { prevent } = await bundleUnderTest('FM_053')

  const played = await prevent()

  expect(noteOf(played, 'maintenance', 'looks, first of all when it is back')).toBe('nothing to take back')
  expect(noteOf(played, 'A', 'beats for all, as soon as it can')).toBe('extended, extended, extended')
  expect(noteOf(played, 'maintenance', 'looks again')).toBe('nothing to take back')
  expect(noteOf(played, 'A', 'finishes all three')).toBe('finished, finished, finished')
  expect(played.violations).toEqual([])
})

it.each([
  ['ahead', 3_600_000],
  ['back', -3_600_000],
])('FM_053: a clock that jumps an hour %s charges nobody', async (_, ms) => {
  const { db, add, take, advance, see } = await setup()
  const id = await add()
  await reapExpired(db, 500)
  const lease = await take()

  await advance(ms)

  expect(await reapExpired(db, 500)).toEqual([])
  expect(await extend(db, [lease])).toMatchObject([{ answer: 'extended' }])
  expect(await finish(db, [{ ...lease, resultText: '{}' }])).toMatchObject([{ answer: 'finished' }])
  expect(await see(id)).toMatchObject({ outcome: 'succeeded', losses: 0, releases: 0 })
})

it('FM_053: a worker that died in the outage is found one lease later, and charged once', async () => {
  const { db, add, take, advance, see } = await setup()
  const id = await add()
  await reapExpired(db, 500)
  await take()
  await advance(120_000)
  await reapExpired(db, 500)

  const lost = []
  for (let passed = 0; passed < 35_000; passed += 5_000) {
    await advance(5_000)
    lost.push(...(await reapExpired(db, 500)))
  }

  expect(lost).toMatchObject([{ jobId: id, answer: 'lost' }])
  expect(await see(id)).toMatchObject({ place: 'ready', losses: 1 })
})
