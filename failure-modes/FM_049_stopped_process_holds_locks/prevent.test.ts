import { expect, it } from 'vitest'
import { finish } from '../../src/store/settle.js'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'
import { setupGates } from '../../test/harness/gates.js'
import { Session } from '../../test/harness/session.js'

it('FM_049: the fence and the COMMIT are one message: a process that is stopped holds nothing', async () => {
  const { prevent } = await bundleUnderTest('FM_049')

  const played = await prevent()

  expect(noteOf(played, 'A', 'finishes it in a transaction with its effect')).toBe('finished')
  expect(noteOf(played, 'A', 'is stopped before it has said COMMIT')).toBe('SIGSTOP')
  expect(noteOf(played, 'B', 'finishes the second')).toBe('finished')
  expect(noteOf(played, 'C', 'looks for work')).toBe('lease 3')
  expect(noteOf(played, 'A', 'is resumed')).toBe('nothing open')
  expect(played.violations).toEqual([])
})

it('FM_049: the other layer alone: who finishes in two messages and stops keeps its own slot, and no other', async () => {
  const { url, connect, db, sql, gated, take, places, turn, advance, sound } = await setupGates()
  const limit = { limit: 2 }
  const ids = [await gated(limit), await gated(limit), await gated(limit), await gated(limit)]
  const [stopped, other] = [await take(), await take()]
  const session = await Session.open({ url, connect })
  await session.begin()
  await finish(session, [{ ...stopped, resultText: '{}' }], session.client) // and no COMMIT

  await finish(db, [{ ...other, resultText: '{}' }])
  expect(await places(...ids)).toEqual(['leased', 'succeeded', 'ready', 'waiting'])
  await advance(31_000)
  await sql('select fencepost.lose()') // its row is locked: its fate is not decided yet
  await finish(db, [{ ...(await take()), resultText: '{}' }])
  expect(await places(...ids)).toEqual(['leased', 'succeeded', 'succeeded', 'ready'])

  await session.rollback() // the server does that when the connection is gone
  await sql('select fencepost.lose()')
  await turn()
  expect(await places(...ids)).toEqual(['ready', 'succeeded', 'succeeded', 'ready'])
  await sound()
})
