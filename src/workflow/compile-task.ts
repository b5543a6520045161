import { defaults, limits } from '../limits.js'
import { compileAction, ownActions } from './actions.js'
import { commands, type Retry, type TaskDefinition } from './definition.js'
import type { ExpressionCheck } from './expression-check.js'
import { type Field, isText, type Shape } from './field.js'
import { compileItems } from './items.js'
import { compileNext } from './transitions.js'

const inNext = 'It belongs to a transition: next: [{ when: "{{ succeeded() }}", do: … }].'
const forward =
  'Tasks name what follows them, not what comes before: name this task in do of the tasks that it waits for, and give it join: all.'

const taskShape: Shape = {
  what: 'a task',
  keys: [
    'name',
    'action',
    'wait_for',
    'input',
    'with_items',
    'batch_size',
    'concurrency',
    'on_item_failure',
    'join',
    'delay',
    'timeout',
    'retry',
    'next',
  ],
  elsewhere: {
    id: 'Here it is called name.',
    uses: 'Here it is called action.',
    run: 'Here it is called action. It names a task that a worker has registered.',
    task: 'Here it is called action.',
    call: 'Here it is called action.',
    type: 'Here it is called action.',
    args: 'Here it is called input.',
    params: 'Here it is called input.',
    parameters: 'Here it is called input.',
    needs: forward,
    depends_on: forward,
    dependsOn: forward,
    after: forward,
    if: 'A condition belongs to the transition that leads here: when, in next of the task before.',
    when: 'A condition belongs to the transition that leads here: when, in next of the task before.',
    do: inNext,
    publish: inNext,
    on_success: 'Write next: [{ when: "{{ succeeded() }}", do: … }].',
    on_error: 'Write next: [{ when: "{{ failed() }}", do: … }].',
    on_failure: 'Write next: [{ when: "{{ failed() }}", do: … }].',
    on_complete: 'Write next: [{ do: … }], without when.',
    retries: 'Write retry: { count: … }.',
    items: 'Here it is called with_items.',
    foreach: 'Here it is called with_items.',
    for_each: 'Here it is called with_items.',
    loop: 'Here it is called with_items.',
    with: 'Here it is called input; a list to work through is with_items.',
    wait: 'Here it is called wait_for; to begin later, use delay.',
    description: 'Only the workflow has a description. Write a comment, which begins with #.',
  },
}

const retryShape: Shape = {
  what: 'retry',
  keys: ['count', 'delay', 'backoff', 'max_delay', 'when'],
  elsewhere: {
    attempts: 'count says how many times it is tried again: one less than the attempts.',
    max_attempts: 'count says how many times it is tried again: one less than the attempts.',
    limit: 'Here it is called count.',
    times: 'Here it is called count.',
    max: 'The longest delay is called max_delay, the number of retries count.',
    interval: 'Here it is called delay.',
    wait: 'Here it is called delay.',
    if: 'Here it is called when.',
  },
}

const joinsElsewhere: Readonly<Record<string, string>> = {
  any: 'For the first of them, write 1.',
  one: 'For the first of them, write 1.',
  first: 'For the first of them, write 1.',
}

const backoffsElsewhere: Readonly<Record<string, string>> = {
  constant: 'Here it is called fixed.',
  none: 'Here it is called fixed.',
  exp: 'Here it is called exponential.',
}

export function compileTask(task: Field, expressions: ExpressionCheck): TaskDefinition | undefined {
  if (!task.hasShape(taskShape, 'Write a task as - name: … with action: … below it.')) return undefined
  const items = compileItems(task, expressions)
  const { action, input } = compileAction(task)
  const own = Object.hasOwn(ownActions, action) ? ownActions[action] : undefined
  const shown = own?.shows && `the input of ${action} is shown`
  for (const key of ['input', 'wait_for']) {
    expressions.checkTemplate(task.at(key), items ? 'inputOfItem' : 'input', shown)
  }
  return {
    name: compileName(task) ?? '',
    action,
    input,
    join: compileJoin(task.at('join')),
    items,
    retry: refused(task.at('retry'), own?.noRetry, action) ? null : compileRetry(task.at('retry'), expressions),
    timeoutMs: refused(task.at('timeout'), own?.noTimeout, action) ? null : compileTimeout(task.at('timeout'), action),
    delayMs: (task.at('delay').isGiven ? task.at('delay').durationMs() : 0) ?? 0,
    next: compileNext(task.at('next'), expressions),
  }
}

function compileName(task: Field): string | undefined {
  const field = task.at('name')
  if (field.value === undefined)
    return task.add('a task has no name', 'Begin it with - name: …, by which others lead to it.')
  const name = field.text('the name of the task')
  if (name === undefined) return undefined
  const max = limits.workflowTaskNameLengthMax
  if (name.length > max)
    field.add(`the name of a task has ${name.length} characters, the limit is ${max}`, 'Choose a shorter one.')
  else if (commands.some((command) => command === name)) {
    field.add(
      `a task cannot be called ${name}`,
      `${name} is a command: in do it would not be known which is meant. Choose another name.`,
    )
  } else if (!/^[A-Za-z_][A-Za-z0-9_-]*$/.test(name)) {
    const better = name
      .trim()
      .replaceAll(/[^A-Za-z0-9_-]+/g, '_')
      .replace(/^(?=[\d-])/, '_')
    const suggestion = /[A-Za-z0-9]/.test(better) ? ` For example ${better}.` : ''
    field.add(
      `${JSON.stringify(name)} cannot be the name of a task`,
      `A name has letters, digits, _ and -, and begins with a letter or _.${suggestion}`,
    )
  }
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

function noJoinHint(value: unknown): string | undefined {
  if (value === 0 || value === false || value === 'none')
    return 'Without join it runs each time a task leads to it. Take join out for that.'
  return value === true ? 'Write join: all.' : undefined
}

/** An option that makes no sense with the action. */
function refused(field: Field, why: string | undefined, action: string): boolean {
  if (!field.isGiven || why === undefined) return false
  const name = action.startsWith('wait.') ? `wait_for ${action.slice('wait.'.length)}` : action
  field.addAtKey(`${field.label} makes no sense for ${name}: ${why}`, `Take ${field.label} out.`)
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
