import { expect, it } from 'vitest'
import { extend, loseExpired } from '../../src/store/lease.js'
import { finish } from '../../src/store/settle.js'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'
import { setupGates } from '../../test/harness/gates.js'
import { Session } from '../../test/harness/session.js'

it('FM_048: the heartbeat passes over the busy row, and the other leases go on', async () => {
  const { prevent } = await bundleUnderTest('FM_048')

  const played = await prevent()

  expect(noteOf(played, 'A', 'its heart beats')).toBe('busy, extended, extended')
  expect(noteOf(played, 'B', 'takes back what has run out')).toBe('nothing to take back')
  expect(noteOf(played, 'A', 'commits the first')).toBe('finished')
  expect(played.violations).toEqual([])
})

it('FM_048: a row that is busy past its own lease is not taken back either, and 50 beside it keep their slots', async () => {
  const { url, connect, db, gated, takeAll, advance, gate, sound } = await setupGates()
  for (let n = 0; n < 51; n++) await gated({ limit: 51 })
  const leases = await takeAll()
  const busy = await Session.open({ url, connect })
  await busy.begin()
  await finish(busy, [{ ...(leases[0] as (typeof leases)[0]), resultText: '{}' }], busy.client)

  for (let beat = 0; beat < 3; beat++) {
    await advance(20_000)
    const answers = (await extend(db, leases)).map(({ answer }) => answer)
    expect(answers.filter((answer) => answer === 'extended')).toHaveLength(50)
    expect(answers.filter((answer) => answer === 'busy')).toHaveLength(1)
    expect(await loseExpired(db)).toEqual([])
  }

  await busy.commit()
  expect(await gate()).toMatchObject({ held: 51 }) // one of them is told as freed by a nudge
  await sound()
})
