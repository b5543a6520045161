import { expect, it } from 'vitest'
import { cancel, markOverrun, promoteDue } from '../../src/store/control.js'
import { enqueue } from '../../src/store/enqueue.js'
import { claim, loseExpired } from '../../src/store/lease.js'
import { fail, finish, release } from '../../src/store/settle.js'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'
import { gates, setupGates } from '../../test/harness/gates.js'
import { Session } from '../../test/harness/session.js'
import { aJob } from '../../test/harness/setup.js'

it('FM_040: rows first, gates last, and nobody waits for a gate: both go through', async () => {
  const { prevent } = await bundleUnderTest('FM_040')

  const played = await prevent()

  expect(noteOf(played, 'operator', 'cancels it')).toBe('requested')
  expect(noteOf(played, 'A', 'finishes it')).toBe('finished')
  expect(played.violations).toEqual([])
})

it('FM_040: with every gate locked by somebody, no move waits; what it has to say is left as a nudge', async () => {
  const { url, connect, sql, gated, takeAll, places, advance, turn, sound } = await setupGates()
  const limit = { limit: 4, overrunMs: 60_000 }
  for (let n = 0; n < 6; n++) await gated(limit)
  const [a, b, c] = await takeAll()
  const locker = await Session.open({ url, connect })
  await locker.begin()
  await locker.query('select 1 from fencepost.gate for update')
  const mover = await Session.open({ url, connect }) // gives up with an error if it has to wait

  const later = aJob({ gatesText: gates({ key: 'gate:k', limit: 4 }) })
  await enqueue(mover, [later])
  await finish(mover, [{ ...(a as NonNullable<typeof a>), resultText: '{}' }])
  await fail(mover, [{ ...(b as NonNullable<typeof b>), errorText: '{}', delayMs: 1, final: false }])
  await cancel(mover, [later.id], null)
  await release(mover, [c as NonNullable<typeof c>], 'shutdown')
  await claim(mover, { queue: 'default', limit: 10, worker: 'w2' })
  await advance(61_000)
  await markOverrun(mover)
  await loseExpired(mover)
  await promoteDue(mover)
  await locker.commit()

  await turn()
  expect(await sql('select key from fencepost.nudge')).toEqual([])
  expect(await places(later.id)).toEqual(['cancelled'])
  await sound()
})

it('FM_040: two jobs with the same two gates, settled and enqueued both ways round, never wait for one another', async () => {
  const { url, connect, add, takeAll, turn, sound } = await setupGates()
  const both = { gatesText: gates({ key: 'gate:a', limit: 2 }, { key: 'gate:b', limit: 2 }) }
  for (let n = 0; n < 4; n++) await add(both)
  const [one, other] = await takeAll()
  const [first, second] = [await Session.open({ url, connect }), await Session.open({ url, connect })]
  const finishOn = (session: Session, lease: typeof one) =>
    session.query(
      `select * from fencepost.finish(array[$1::uuid], array[$2::bigint], array[$3::bigint], array['1'::jsonb], true)`,
      [lease?.jobId, lease?.leaseId, lease?.nonce],
    )

  await first.begin()
  await second.begin()
  await finishOn(first, one)
  await finishOn(second, other)
  await enqueue(first, [aJob({ gatesText: gates({ key: 'gate:a', limit: 2 }) })], first.client)
  await enqueue(second, [aJob({ gatesText: gates({ key: 'gate:b', limit: 2 }) })], second.client)
  await second.commit()
  await first.commit()

  await turn()
  await sound()
})
