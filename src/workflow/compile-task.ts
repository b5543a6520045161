import { defaults, limits } from '../limits.js'
import { compileAction, refusals } from './actions.js'
import type { Retry, TaskDefinition } from './definition.js'
import type { ExpressionCheck } from './expression-check.js'
import { type Elsewhere, type Field, isText, type Shape } from './field.js'
import { compileItems } from './items.js'
import { nameProblem } from './names.js'
import { taskShape } from './task-shape.js'
import { compileNext } from './transitions.js'

const retryShape: Shape = {
  what: 'retry',
  keys: ['count', 'delay', 'backoff', 'max_delay', 'when'],
  elsewhere: {
    attempts: 'count says how many times it is tried again: one less than the attempts.',
    max_attempts: 'count says how many times it is tried again: one less than the attempts.',
    limit: 'count',
    times: 'count',
    max: 'The longest delay is called max_delay, the number of retries count.',
    interval: 'delay',
    wait: 'delay',
    if: 'when',
  },
}

const joinsElsewhere: Elsewhere = {
  any: 'For the first of them, write 1.',
  one: 'For the first of them, write 1.',
  first: 'For the first of them, write 1.',
}

const backoffsElsewhere: Elsewhere = {
  constant: 'fixed',
  none: 'fixed',
  exp: 'exponential',
}

export function compileTask(task: Field, expressions: ExpressionCheck): TaskDefinition | undefined {
  if (!task.hasShape(taskShape, 'Write a task as - name: … with action: … below it.')) return undefined
  const items = compileItems(task, expressions)
  const { action, input } = compileAction(task)
  const { noRetry, noTimeout, noItems, shows } = refusals(action)
  refuse(task.at('with_items'), noItems, action, eachHint)
  for (const key of ['input', 'wait_for']) {
    expressions.checkTemplate(task.at(key), items ? 'inputOfItem' : 'input', shows)
  }
  return {
    name: compileName(task) ?? '',
    action,
    input,
    join: compileJoin(task.at('join')),
    items,
    retry: refuse(task.at('retry'), noRetry, action) ? null : compileRetry(task.at('retry'), expressions),
    timeoutMs: refuse(task.at('timeout'), noTimeout, action) ? null : compileTimeout(task.at('timeout'), action),
    delayMs: (task.at('delay').isGiven ? task.at('delay').durationMs() : 0) ?? 0,
    next: compileNext(task.at('next'), expressions),
  }
}

const namelessHint = 'Begin it with - name: …, by which others lead to it.'

function compileName(task: Field): string | undefined {
  const field = task.at('name')
  if (field.value === undefined) {
    return task.hasKey('name', taskShape) ? undefined : task.add('a task has no name', namelessHint)
  }
  const name = typeof field.value === 'number' ? String(field.value) : field.text('the name of the task', namelessHint)
  if (name === undefined) return undefined
  const problem = nameProblem(name, 'task', 'a task')
  if (problem) field.add(problem.message, problem.hint)
  return name
}

function compileJoin(field: Field): TaskDefinition['join'] {
  const { value } = field
  if (!field.isGiven) return null
  if (value === 'all') return value
  if (typeof value === 'number' && Number.isInteger(value) && value > 0) return value
  const hint = isText(value) && /^\d+$/.test(value) ? 'Leave out the quotes.' : joinsElsewhere[String(value)]
  field.refuse('all, or the number of tasks before it that it waits for', hint ?? noJoinHint(value))
  return null
}

function noJoinHint(value: unknown): string {
  if (value === true) return 'Write join: all.'
  return 'Write join: all, or a number from 1. Without join it runs each time that a task leads to it.'
}

const eachHint = 'For each item, call a workflow that waits: action: workflow.<name>.'

/** Whether an option makes no sense with the action, which then is noted. */
function refuse(field: Field, why: string | undefined, action: string, hint?: string): boolean {
  if (!field.isGiven || why === undefined) return false
  const name = action.startsWith('wait.') ? `wait_for ${action.slice('wait.'.length)}` : action
  field.addAtKey(`${field.label} makes no sense for ${name}: ${why}`, hint ?? `Take ${field.label} out.`)
  return true
}

function compileTimeout(field: Field, action: string): number | null {
  if (!field.isGiven) return null
  // What a worker runs is timed by its process; a wait or a workflow is timed by the database.
  const isTimedHere = !/^(wait|workflow)\./.test(action)
  return field.durationMs(limits.timeoutMsMin, isTimedHere ? limits.timerMsMax : limits.durationMsMax) ?? null
}

function compileRetry(field: Field, expressions: ExpressionCheck): Retry | null {
  if (!field.isGiven) return null
  const short =
    typeof field.value === 'number'
      ? `Write retry: { count: ${field.value} }.`
      : 'Such as retry: { count: 3, delay: 5s }.'
  if (!field.hasShape(retryShape, short)) return null
  const given = <Value>(key: string, read: (member: Field) => Value | undefined, otherwise: Value): Value =>
    field.at(key).isGiven ? (read(field.at(key)) ?? otherwise) : otherwise
  const delayMs = given('delay', (delay) => delay.durationMs(), defaults.retryDelayMs)
  const maxDelayMs = given('max_delay', (max) => max.durationMs(), Math.max(defaults.retryDelayMsMax, delayMs))
  if (maxDelayMs < delayMs)
    field
      .at('max_delay')
      .add(
        'max_delay is shorter than delay',
        'Every delay would be cut to it. Write delay alone, or a longer max_delay.',
      )
  return {
    count: given('count', (count) => count.integer(0, limits.retryLimitMax), defaults.retryLimit),
    delayMs,
    backoff: given<Retry['backoff']>(
      'backoff',
      (backoff) => backoff.oneOf(['fixed', 'linear', 'exponential'], backoffsElsewhere),
      defaults.retryBackoff,
    ),
    maxDelayMs,
    when: given<string | null>('when', (when) => expressions.checkOne(when, 'retry'), null),
  }
}
