import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { Execution } from '../../src/worker/executor.js'
import { Held } from '../../src/worker/held.js'

/** All that is asked of one here. */
function anExecution(): Execution {
  return { heldAt: -1 } as Execution
}

it('holds what a Set would hold, whoever leaves first, and twice', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.boolean(), fc.nat({ max: 9 }))), (changes) => {
      const executions = Array.from({ length: 10 }, anExecution)
      const [held, model] = [new Held(), new Set<Execution>()]
      for (const [adds, n] of changes) {
        const execution = executions[n] as Execution
        if (!adds) {
          held.delete(execution)
          model.delete(execution)
        } else if (!model.has(execution)) {
          held.add(execution)
          model.add(execution)
        }
      }
      expect(new Set(held.all())).toEqual(model)
      expect(held.all()).toHaveLength(model.size)
    }),
  )
})

it('tells of those of now, whoever leaves meanwhile', () => {
  const held = new Held()
  const executions = Array.from({ length: 3 }, anExecution)
  for (const execution of executions) held.add(execution)

  const all = held.all()
  for (const execution of all) held.delete(execution)

  expect(all).toEqual(executions)
  expect(held.all()).toEqual([])
})
