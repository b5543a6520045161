import type { Json } from '../job/json.js'
import { durationMs } from '../task/duration.js'
import { isInline, isWait } from './built-in-actions.js'
import type { Definition, TaskDefinition } from './definition.js'
import { didYouMean, type Field, isText, listed } from './field.js'
import type { Act, Outcome } from './rehearsed-items.js'

/** What differs: `time_out` and units of durations in YAML, `timeOut` and milliseconds in TypeScript. */
export type Language = 'YAML' | 'TypeScript'

/** Reads the mocked results: what comes of which try of which item of which activation. */
export function compileResults(field: Field, definition: Definition, language: Language): Act {
  const tasks = new Map(definition.tasks.map((task) => [task.name, task]))
  const mocks = new Map<string, MockByOrdinal>()
  const hint = `Write the results by task: results: { ${definition.tasks[0]?.name ?? 'build'}: { result: … } }`
  for (const [name, mock] of field.isGiven ? (field.entries('a mapping of tasks', hint) ?? []) : []) {
    const task = tasks.get(name)
    if (!task) mock.addAtKey(`unknown task ${JSON.stringify(name)}`, nameHint(name, [...tasks.keys()]))
    else if (isMockable(mock, task)) mocks.set(name, compileTaskMock(mock, task, language))
  }
  const tries = new Map<string, number>()
  return ({ task, ordinal, item }) => {
    const mock = mocks.get(task)
    const ofOrdinal = mock?.ordinals.get(ordinal)
    const byItem = ofOrdinal ?? mock
    const outcomes = byItem?.items.get(item) ?? byItem?.outcomes ?? mock?.outcomes ?? []
    // A list goes on from one activation to the next, unless it is of one activation.
    const key = `${task}/${ofOrdinal ? ordinal : ''}/${item}`
    const count = tries.get(key) ?? 0
    tries.set(key, count + 1)
    return withTimeout(outcomes[Math.min(count, outcomes.length - 1)] ?? succeeded, tasks.get(task))
  }
}

const succeeded: Outcome = { result: null, afterMs: 0 }

/** A timeout comes when the task says. */
function withTimeout(outcome: Outcome, task: TaskDefinition | undefined): Outcome {
  return 'timeOut' in outcome ? { ...outcome, afterMs: task?.timeoutMs ?? outcome.afterMs } : outcome
}

export function nameHint(name: string, names: readonly string[]): string {
  const known = `The tasks are ${listed(names)}.`
  const nearest = didYouMean(name, names)
  return nearest === undefined ? known : `${nearest} ${known}`
}

function isMockable(field: Field, { name, action }: TaskDefinition): boolean {
  if (isInline(action)) {
    field.addAtKey(
      `${name} has the action ${action}, which is not mocked: it does what it does`,
      'Take it out of results.',
    )
  } else if (action === 'core.ask' || action === 'wait.approval') {
    field.addAtKey(`${name} asks for an answer`, `Write it under answers: ${name}: { … }`)
  } else if (action === 'wait.signal') {
    field.addAtKey(`${name} waits for a signal`, 'Write it under signals: - name: …')
  } else if (isWait(action) && action !== 'wait.run') {
    field.addAtKey(`${name} waits for a time, which comes by itself`, 'Take it out of results.')
  } else return true
  return false
}

interface MockByItem {
  readonly outcomes: readonly Outcome[] | undefined
  readonly items: ReadonlyMap<number, readonly Outcome[]>
}

interface MockByOrdinal extends MockByItem {
  readonly ordinals: ReadonlyMap<number, MockByItem>
}

function compileTaskMock(field: Field, task: TaskDefinition, language: Language): MockByOrdinal {
  const ordinals = new Map<number, MockByItem>()
  const given = isMapping(field) ? field.at('ordinals') : undefined
  for (const [key, mock] of given?.isGiven ? (given.entries('a mapping of activations, counted from 1') ?? []) : []) {
    if (/^[1-9]\d*$/.test(key)) ordinals.set(Number(key), compileItemsMock(mock, task, language, false))
    else mock.addAtKey(`${JSON.stringify(key)} is no activation`, 'Activations of a task are counted from 1.')
  }
  return { ...compileItemsMock(field, task, language, true), ordinals }
}

function compileItemsMock(field: Field, task: TaskDefinition, language: Language, hasOrdinals: boolean): MockByItem {
  const items = new Map<number, readonly Outcome[]>()
  const more = ['items', ...(hasOrdinals ? ['ordinals'] : [])]
  const given = isMapping(field) ? field.at('items') : undefined
  if (given?.isGiven && task.items === null) given.addAtKey(`task ${task.name} has no with_items`, 'Leave items out.')
  else if (given?.isGiven) {
    for (const [key, mock] of entriesOf(given)) {
      if (/^\d+$/.test(key)) items.set(Number(key), compileOutcomes(mock, language, []))
      else mock.addAtKey(`${JSON.stringify(key)} is no item`, 'Items are counted from 0.')
    }
  }
  const isAboutOthers = isMapping(field) && Object.keys(field.value as object).every((key) => more.includes(key))
  return { outcomes: isAboutOthers ? undefined : compileOutcomes(field, language, more), items }
}

function entriesOf(field: Field): (readonly [string, Field])[] {
  const list = Array.isArray(field.value) ? field.list('a list') : undefined
  return list?.map((each, i) => [String(i), each] as const) ?? field.entries('a list, or a mapping of positions') ?? []
}

function isMapping(field: Field): boolean {
  return typeof field.value === 'object' && field.value !== null && !Array.isArray(field.value)
}

/** One, or those of successive tries. */
function compileOutcomes(field: Field, language: Language, more: readonly string[]): readonly Outcome[] {
  if (!Array.isArray(field.value)) return [compileOutcome(field, language, more)]
  const list = field.list('a list of results') ?? []
  if (list.length === 0)
    field.add('the list of results is empty', 'Give one result for each try; the last one holds for all that follow.')
  return list.map((each) => compileOutcome(each, language, []))
}

function compileOutcome(field: Field, language: Language, more: readonly string[]): Outcome {
  const timeOut = language === 'YAML' ? 'time_out' : 'timeOut'
  const keys = ['result', 'fail', timeOut, 'after', ...more]
  const hint = `Write { result: … }, { fail: { message: … } } or { ${timeOut}: true }.`
  if (!isMapping(field)) {
    field.refuse('a mapping with result, fail or '.concat(timeOut), hint)
    return succeeded
  }
  field.hasShape({ what: 'a mocked result', keys, elsewhere: resultElsewhere(timeOut, field, keys) })
  const given = ['result', 'fail', timeOut].filter((key) => field.at(key).value !== undefined)
  if (given.length > 1) field.add(`a try has one end, and here are ${listed(given)}`, hint)
  const afterMs = compileAfter(field.at('after'), language)
  if (field.at(timeOut).isGiven && field.at(timeOut).flag(false)) return { timeOut: true, afterMs }
  if (field.at('fail').isGiven) return { fail: compileFailure(field.at('fail')), afterMs }
  return { result: (field.at('result').value ?? null) as Json, afterMs }
}

/** What is no word of ours is most likely a part of what the task returns. */
function resultElsewhere(timeOut: string, field: Field, keys: readonly string[]): Record<string, string> {
  const unknown = Object.keys(field.value as object).filter((key) => didYouMean(key, keys) === undefined)
  const returned = unknown.map((key) => [key, `What the task returns stands under result: { result: { ${key}: … } }`])
  return {
    ...(Object.fromEntries(returned) as Record<string, string>),
    error: 'fail',
    failed: 'fail',
    status: `Say it by the key: result, fail or ${timeOut}.`,
    return: 'result',
    output: 'result',
    timeout: `Here it is called ${timeOut}: true.`,
    timed_out: `Here it is called ${timeOut}: true.`,
    delay: 'after',
  }
}

function compileFailure(field: Field): { readonly message: string; readonly code?: string } {
  if (isText(field.value)) return { message: field.value }
  if (!field.hasShape({ what: 'fail', keys: ['message', 'code'], elsewhere: {} })) return { message: '' }
  if (field.at('message').value === undefined) field.add('fail needs a message', 'Write fail: { message: … }')
  const message = field.at('message').value === undefined ? '' : (field.at('message').text() ?? '')
  const code = field.at('code').isGiven ? field.at('code').text() : undefined
  return { message, ...(code !== undefined && { code }) }
}

export function compileAfter(field: Field, language: Language): number {
  if (!field.isGiven) return 0
  if (language === 'TypeScript' && typeof field.value === 'number') return durationMs(field.value, 'after')
  return field.durationMs() ?? 0
}
