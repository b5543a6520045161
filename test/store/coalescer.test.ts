import { expect, it } from 'vitest'
import { FencepostError } from '../../src/errors.js'
import { Coalescer } from '../../src/store/coalescer.js'

/** Asks are numbers, and answered with ten times that. `held` are those whose statement does not end. */
function setupCoalescer({ held = [], broken = [] }: { held?: number[]; broken?: number[] } = {}) {
  const statements: number[][] = []
  const coalescer = new Coalescer<number, number>({
    run: async (asks) => {
      statements.push([...asks])
      if (asks.some((ask) => held.includes(ask))) await new Promise(() => {})
      if (asks.some((ask) => broken.includes(ask))) throw new FencepostError('FP_ID_CONFLICT')
      return asks.map((ask) => ask * 10)
    },
    weight: () => 1,
  })
  return { coalescer, statements }
}

it('puts what is asked together into one statement', async () => {
  const { coalescer, statements } = setupCoalescer()

  expect(await Promise.all([1, 2, 3].map((ask) => coalescer.ask(ask)))).toEqual([10, 20, 30])

  expect(statements).toEqual([[1, 2, 3]])
})

it('does not wait for ever for a statement that does not end', async () => {
  const { coalescer, statements } = setupCoalescer({ held: [1] })
  void coalescer.ask(1)
  await expect.poll(() => statements).toEqual([[1]])

  expect(await coalescer.ask(2)).toBe(20)
  expect(await Promise.all([3, 4].map((ask) => coalescer.ask(ask)))).toEqual([30, 40])
})

it('asks each alone if one of them may be to blame', async () => {
  const { coalescer } = setupCoalescer({ broken: [2] })

  const ends = await Promise.allSettled([1, 2, 3].map((ask) => coalescer.ask(ask)))

  expect(ends.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
})
