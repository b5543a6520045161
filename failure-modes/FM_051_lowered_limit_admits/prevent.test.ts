import { expect, it } from 'vitest'
import { finish } from '../../src/store/settle.js'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'
import { setupGates } from '../../test/harness/gates.js'

it('FM_051: nobody is let in until fewer run than the lowered limit; nobody is killed', async () => {
  const { prevent } = await bundleUnderTest('FM_051')

  const played = await prevent()

  expect(noteOf(played, 'D', 'looks for work')).toBe('nothing to claim')
  expect(noteOf(played, 'B', 'finishes')).toBe('finished')
  expect(noteOf(played, 'C', 'finishes')).toBe('finished')
  expect(noteOf(played, 'D', 'looks again')).toBe('lease 4')
  expect(played.violations).toEqual([])
})

const lowerings: Record<string, (sql: Awaited<ReturnType<typeof setupGates>>['sql']) => Promise<unknown>> = {
  'before any turn': async () => {},
  'after a turn': (sql) => sql('select fencepost.admit(null, true, true, 200)'),
}
for (const [name, between] of Object.entries(lowerings)) {
  it(`FM_051: five of five run, the limit becomes two, ${name}: the fourth that ends makes room, and the audit is clean`, async () => {
    const { db, sql, gated, takeAll, places, turn, sound } = await setupGates()
    const ids = []
    for (let n = 0; n < 7; n++) ids.push(await gated({ limit: 5 }))
    const leases = await takeAll()
    await sql(`select fencepost.set_limit('gate:k', 2)`)
    await between(sql)
    await sound()

    for (const [n, lease] of leases.slice(0, 4).entries()) {
      await finish(db, [{ ...lease, resultText: '{}' }])
      await turn()
      await sound()
      // After the fourth, one runs: there is room for one.
      expect(await places(...ids.slice(5))).toEqual([n < 3 ? 'waiting' : 'ready', 'waiting'])
    }
  })
}
