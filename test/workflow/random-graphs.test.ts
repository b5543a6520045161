import { expect, it } from 'vitest'
import { compileWorkflow } from '../../src/workflow/compile.js'
import type { Definition } from '../../src/workflow/definition.js'
import { playInMemory } from '../../src/workflow/memory-play.js'
import { interpret } from '../worker/graphs/interpreter.js'
import { type Behaviour, child, childComesTo, randomFrom, randomWorkflow } from '../worker/graphs/random-workflow.js'

// The same is played by processes that are killed in test/worker/processes; here it takes a millisecond for each.
it.each(Array.from({ length: 40 }, (_, n) => n))('random workflow %i comes to what its definition says', (seed) => {
  const workflow = randomWorkflow(seed, 'child')
  const expected = interpret(workflow, { 'workflow.child': childComesTo }, () => 0)
  const random = randomFrom(seed)
  const { state, output, taskRuns } = playInMemory(compiled(workflow), {
    parameters: {},
    startMs: 0,
    act: ({ input }, attempt) => {
      const { value, failures } = input as unknown as Behaviour
      const afterMs = Math.floor(random() * 1_000)
      return attempt <= failures ? { fail: { message: 'as it was told' }, afterMs } : { result: value, afterMs }
    },
    answers: new Map(),
    signals: [],
    played: new Map([['child', compiled(child)]]),
  })
  const seen: Record<string, string[]> = {}
  for (const task of taskRuns) (seen[task.task] ??= [])[task.ordinal - 1] = task.state
  expect(state).toBe(expected.state)
  if (state === 'succeeded') expect({ seen, output }).toEqual({ seen: expected.activations, output: expected.output })
  // A run that fails stops: nothing that it did may be more than what it would have done.
  else
    for (const [task, times] of Object.entries(seen))
      expect(times.length).toBeLessThanOrEqual(expected.activations[task]?.length ?? 0)
})

function compiled(data: unknown): Definition {
  const result = compileWorkflow(data)
  if ('problems' in result) throw new Error(result.problems.map(({ message }) => message).join('\n'))
  return result.definition
}
