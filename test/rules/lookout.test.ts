import { expect, it } from 'vitest'
import { areTooMany, askAgainMs } from '../../src/worker/lookout.js'

it('a worker is notified the less often the longer its turns take, before it looks by itself', () => {
  const noticesMax = (turnMs: number) => {
    let notices = 0
    while (notices < 1_000 && !areTooMany(Array.from({ length: notices + 1 }, () => turnMs))) notices++
    return notices
  }
  const turnsMs = [0.125, 1, 2, 4, 10, 50, 1_000, Number.POSITIVE_INFINITY]
  expect(turnsMs.map(noticesMax)).toEqual([50, 50, 50, 50, 20, 20, 20, 20])
})

it('a worker to which a hundred jobs come in a second is notified of them, though a turn takes long now and then', () => {
  expect(areTooMany(Array.from({ length: 25 }, (_, n) => (n === 20 ? 100 : 3)))).toBe(false)
})

it('a worker that was notified too often as soon as it asked leaves it at that for a minute', () => {
  expect([40, 999, 1_000, 3_600_000].map(askAgainMs)).toEqual([60_000, 60_000, 1_000, 1_000])
})
