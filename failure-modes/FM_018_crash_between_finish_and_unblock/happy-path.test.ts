import { expect, it } from 'vitest'
import { finish } from '../../src/store/settle.js'
import { setupGates } from '../../test/harness/gates.js'

it('FM_018: undisturbed, each finish hands its slot to the next, and the last one leaves no gate', async () => {
  const { db, gated, take, places, gate, sound } = await setupGates()
  const ids = [await gated(), await gated(), await gated()]

  for (const [n, id] of ids.entries()) {
    expect(await places(...ids.slice(n))).toEqual(['ready', ...ids.slice(n + 1).map(() => 'waiting')])
    const lease = await take()
    expect(lease.jobId).toBe(id)
    expect(await finish(db, [{ ...lease, resultText: '{}' }])).toMatchObject([{ answer: 'finished' }])
    await sound()
  }

  expect(await places(...ids)).toEqual(['succeeded', 'succeeded', 'succeeded'])
  expect(await gate()).toBeUndefined()
})
