import { expect, it } from 'vitest'
import { claim, extend, start } from '../../src/store/lease.js'
import { fail, finish, release } from '../../src/store/settle.js'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'
import { setupGates } from '../../test/harness/gates.js'
import { Session } from '../../test/harness/session.js'

const group = { key: 'group:bulk', limit: 10, local: 1 }

it('FM_011: the limit per process is part of the claim: what there is no room for is not fetched', async () => {
  const { prevent } = await bundleUnderTest('FM_011')

  const played = await prevent()

  expect(noteOf(played, 'A', 'fetches two at a time')).toBe('fetched 1')
  expect(noteOf(played, 'A', 'gives back what it has no room for')).toBe('gave back 0')
  expect(noteOf(played, 'B', 'looks for work')).toBe('lease 2')
  expect(played.violations).toEqual([])
})

it('FM_011: a group that is full for a process does not keep it from the jobs behind it', async () => {
  const { gated, add, takeAll } = await setupGates()
  const [first] = [await gated(group), await gated(group)]
  const other = await add()
  const local = await gated({ ...group, key: 'group:other' })

  expect((await takeAll()).map(({ jobId }) => jobId)).toEqual([first, other, local])
  expect(await takeAll()).toEqual([])
  expect(await takeAll('default', 'w2')).toHaveLength(1)
})

it('FM_011: two claims of one process at the same time do not both find room', async () => {
  const { url, connect, db, gated, takeAll } = await setupGates()
  for (let n = 0; n < 2; n++) await gated(group)
  const first = await Session.open({ url, connect })
  await first.begin()
  expect(await claim(first, { queue: 'default', limit: 1, worker: 'w1' })).toHaveLength(1)

  expect(await claim(db, { queue: 'default', limit: 1, worker: 'w1' })).toEqual([])

  await first.commit()
  expect(await takeAll()).toEqual([])
})

it('FM_011: given back for another reason, a job moves its releases only, and its old lease touches nothing', async () => {
  const { db, gated, take, see, sound } = await setupGates()
  const id = await gated(group, { failuresMax: 1 })
  await fail(db, [{ ...(await take()), errorText: '{}', delayMs: 0, final: false }])
  const old = await take()
  await release(db, [old], 'shutdown')
  const lease = await take()

  expect(await start(db, [old])).toMatchObject([{ answer: 'stale' }])
  expect(await extend(db, [old])).toMatchObject([{ answer: 'gone' }])
  expect(await release(db, [old], 'shutdown')).toMatchObject([{ answer: 'already' }])
  expect(await finish(db, [{ ...lease, resultText: '{}' }])).toMatchObject([{ answer: 'finished' }])

  expect(await see(id)).toMatchObject({ outcome: 'succeeded', tries: 3, failures: 1, losses: 0, releases: 1 })
  await sound()
})
