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

it('asks nothing again of which it is not known whether it was done', async () => {
  let statements = 0
  const coalescer = new Coalescer<number, number>({
    run: async () => {
      statements++
      throw new FencepostError('FP_COMMIT_UNKNOWN')
    },
    weight: () => 1,
  })

  const ends = await Promise.allSettled([1, 2, 3].map((ask) => coalescer.ask(ask)))

  expect(ends.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
  expect(statements).toBe(1)
})

it('keeps asks apart that must not meet in one statement, and lets nobody pass them', async () => {
  const statements: string[][] = []
  const coalescer = new Coalescer<string, string>({
    run: async (asks) => {
      statements.push([...asks])
      return asks
    },
    weight: () => 1,
    apart: (ask) => [ask[0] as string],
  })

  await Promise.all(['a1', 'b1', 'a2', 'c1'].map((ask) => coalescer.ask(ask)))

  expect(statements).toEqual([
    ['a1', 'b1'],
    ['a2', 'c1'],
  ])
})

it('puts no more into one statement than that can hold', async () => {
  const statements: number[][] = []
  const coalescer = new Coalescer<number, number>({
    run: async (asks) => {
      statements.push([...asks])
      return asks
    },
    weight: () => 300,
  })

  await Promise.all([1, 2].map((ask) => coalescer.ask(ask)))

  expect(statements).toEqual([[1], [2]])
})
