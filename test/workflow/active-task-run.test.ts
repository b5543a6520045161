import { describe, expect, it } from 'vitest'
import {
  type Active,
  isMade,
  itemsAtOnce,
  itemsTrouble,
  newTaskRun,
  roomFor,
} from '../../src/workflow/active-task-run.js'
import { planOf } from '../../src/workflow/plan.js'
import { workflowOf } from '../harness/workflow-of.js'

function taskRun(action: string, more: Partial<Active> = {}): Active {
  const { definition } = workflowOf(`name: w\ntasks: [{ name: a, action: ${action} }]`)
  return { ...newTaskRun(planOf(definition).tasks.get('a')!, 1, null), ...more }
}

describe('the room for more items', () => {
  it.each<[string, string, Partial<Active>, number]>([
    ['of runs is what others leave of the concurrency', 'workflow.x', { concurrency: 3, dispatched: 1 }, 2],
    ['grows with those that succeeded', 'workflow.x', { concurrency: 3, dispatched: 3, succeeded: 2 }, 2],
    ['grows with those that failed', 'workflow.x', { concurrency: 3, dispatched: 5, succeeded: 2, failed: 1 }, 1],
    ['is none while as many run', 'workflow.x', { concurrency: 3, dispatched: 4, succeeded: 1 }, 0],
    ['is never less than none', 'workflow.x', { concurrency: 1, dispatched: 3 }, 0],
    ['of runs without a concurrency is that of one advance', 'workflow.x', { dispatched: 9 }, itemsAtOnce],
    ['of jobs is not our business: they have a gate', 'echo', { concurrency: 1, dispatched: 9 }, itemsAtOnce],
  ])('%s', (_, action, counts, room) => {
    expect(roomFor(taskRun(action, counts))).toBe(room)
  })
})

describe('nothing is to be made of a task run', () => {
  it.each<[string, Partial<Active>, boolean]>([
    ['that has ended', { ended: true, total: 2 }, true],
    ['that waits', { state: 'waiting', total: 2 }, true],
    ['that stops', { stop: 'unstarted', total: 2 }, true],
    ['all of whose items are made', { total: 2, dispatched: 2 }, true],
    ['that has no room', { total: 2, dispatched: 1, concurrency: 1 }, true],
    ['unless it runs and has items left', { total: 2, dispatched: 1, concurrency: 2 }, false],
  ])('%s', (_, more, made) => {
    expect(isMade(taskRun('workflow.x', more))).toBe(made)
  })
})

it.each<[string, Active['error'], string]>([
  ['with the place of the first', { message: 'no', item: 0 }, 'the first: item 0: no'],
  ['without a place, if it is not known', { message: 'no' }, 'the first: no'],
])('the error of a list counts what did not succeed, and tells %s', (_, error, first) => {
  const trouble = itemsTrouble(taskRun('echo', { failed: 2, total: 3, error }))
  expect(trouble).toEqual({
    ...error,
    code: 'FP_ITEMS_FAILED',
    message: `2 of 3 items did not succeed; ${first}`,
  })
})
