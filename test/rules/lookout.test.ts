import { expect, it } from 'vitest'
import { noticesPerSecondMax } from '../../src/worker/lookout.js'

it('a worker is notified the less often the longer its turns take, before it looks by itself', () => {
  const turnsMs = [0.1, 0.5, 1, 4, 10, 1_000, undefined]
  expect(turnsMs.map((turnMs) => noticesPerSecondMax(turnMs))).toEqual([500, 400, 200, 50, 20, 20, 20])
})
