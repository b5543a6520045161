import { expect, it } from 'vitest'
import { cancel } from '../../src/store/control.js'
import { release } from '../../src/store/settle.js'
import { untilBlocked } from '../../test/harness/blocked.js'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'
import { Session } from '../../test/harness/session.js'
import { setup } from '../../test/harness/setup.js'

it('FM_045: cancel looks again, with a new snapshot, until it has found the job', async () => {
  const { prevent } = await bundleUnderTest('FM_045')

  const played = await prevent()

  expect(noteOf(played, 'operator', 'cancels it')).toBe('is held up in the middle')
  expect(noteOf(played, 'operator', 'is told')).toBe('cancelled')
  expect(noteOf(played, 'B', 'takes up what is due')).toBe('nothing to claim')
  expect(played.violations).toEqual([])
})

it('FM_045: of three that are cancelled together, the one that hops is found, and the others once only', async () => {
  const bundle = await setup()
  const { db, sql, add, take, placesOf, see } = bundle
  const ids = [await add(), await add(), await add()]
  const lease = await take()
  const [worker, person] = [await Session.open(bundle), await Session.open(bundle)]
  await worker.begin()
  await release(worker, [lease], 'shutdown') // leased to ready, where cancel has looked before
  const answer = cancel(person, ids, null)
  await untilBlocked(sql, person.pid, answer)
  await worker.commit()

  expect((await answer).map((each) => each.answer)).toEqual(['cancelled', 'cancelled', 'cancelled'])
  for (const id of ids) expect(await placesOf(id)).toEqual(['finished'])
  expect(await see(lease.jobId)).toMatchObject({ outcome: 'cancelled', tries: 1, releases: 1 })
  expect((await cancel(db, ids, null)).map((each) => each.answer)).toEqual(['finished', 'finished', 'finished'])
})
