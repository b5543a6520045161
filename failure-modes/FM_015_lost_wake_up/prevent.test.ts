import { expect, it } from 'vitest'
import { finish } from '../../src/store/settle.js'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'
import { gates, setupGates } from '../../test/harness/gates.js'
import { Session } from '../../test/harness/session.js'
import { aJob } from '../../test/harness/setup.js'

it('FM_015: the slot is handed to who waits, and nobody waits at a free gate', async () => {
  const { prevent } = await bundleUnderTest('FM_015')

  const played = await prevent()

  expect(noteOf(played, 'B', 'enqueues another and finds the card busy')).toBe('waiting')
  expect(noteOf(played, 'A', 'finishes, and looks who is next')).toBe('finished')
  expect(noteOf(played, 'C', 'looks for work')).toBe('lease 2')
  expect(played.violations).toEqual([])
})

const inItsMiddle = [
  { name: 'in a statement of its own', own: true },
  { name: 'in a transaction of the caller’s', own: false },
]
for (const { name, own } of inItsMiddle) {
  it(`FM_015: a slot that is returned while an enqueue ${name} has not committed is told by a nudge, and not lost`, async () => {
    const { url, connect, db, gated, take, places, turn, nudges, sound } = await setupGates()
    await gated()
    const holder = await take()
    const b = await Session.open({ url, connect })
    const second = aJob()
    await b.begin()
    await b.query(
      `select * from fencepost.enqueue_many(array[$1::uuid], array['test'], array['{}'::jsonb], array['default'],
         array[0::smallint], array[0::bigint], array[3::smallint], array[3::smallint], array[30000], array[$2::jsonb], $3)`,
      [second.id, gates({ key: 'gate:k' }), own],
    )

    await finish(db, [{ ...holder, resultText: '{}' }])
    await b.commit()

    expect(await places(second.id)).toEqual(['waiting'])
    expect(await nudges()).toEqual(['gate:k'])
    await turn()
    expect(await places(second.id)).toEqual(['ready'])
    expect(await nudges()).toEqual([])
    await sound()
  })
}
