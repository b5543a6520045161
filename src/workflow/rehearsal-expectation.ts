import { isDeepStrictEqual } from 'node:util'
import type { Json } from '../job/json.js'
import type { Definition } from './definition.js'
import { didYouMean, type Field, isText, listed, type Shape } from './field.js'
import type { Rehearsed } from './rehearsal.js'
import { nameHint } from './rehearsal-results.js'
import { type RunState, runStates } from './run.js'

/** What a case expects; of what is undefined, nothing. */
export interface Expectation {
  readonly state: RunState
  readonly path: readonly string[] | undefined
  readonly waits: readonly string[] | undefined
  readonly output: Json | undefined
  /** Those that are named; others may be anything. */
  readonly vars: Readonly<Record<string, Json>>
  readonly inputs: Readonly<Record<string, Json>>
  /** A part of the message, or some of what the error holds. */
  readonly error: string | Readonly<Record<string, Json>> | undefined
}

/** Something that is not as expected; `what` such as `output`, or `vars.image`. */
export interface Mismatch {
  readonly what: string
  readonly expected: Json
  readonly actual: Json
}

const shape: Shape = {
  what: 'expect',
  keys: ['state', 'path', 'output', 'vars', 'error', 'waits', 'inputs'],
  elsewhere: {
    status: 'state',
    tasks: 'The tasks in the order in which they began are called path.',
    outcome: 'state',
    result: 'output',
    outputs: 'output',
    variables: 'vars',
  },
}

export function compileExpectation(field: Field, definition: Definition): Expectation {
  const none = { path: undefined, waits: undefined, output: undefined, vars: {}, inputs: {}, error: undefined }
  if (!field.isGiven || !field.hasShape(shape, 'Write expect: { state: …, path: […], output: … }')) {
    return { state: 'succeeded', ...none }
  }
  const names = definition.tasks.map(({ name }) => name)
  const output = field.at('output').value as Json | undefined
  const error = field.at('error')
  if (error.isGiven && !isText(error.value)) error.entries('text, or a mapping with code, message, task')
  return {
    state: stateOf(field),
    path: namesIn(field.at('path'), names),
    waits: namesIn(field.at('waits'), names),
    output,
    vars: valuesIn(field.at('vars'), Object.keys(definition.vars), 'var'),
    inputs: valuesIn(field.at('inputs'), names, 'task'),
    error: error.isGiven ? (error.value as NonNullable<Expectation['error']>) : undefined,
  }
}

/** Without a word on it, that the run succeeds; that it fails if an error is expected, and waits if waits are. */
function stateOf(field: Field): RunState {
  if (field.at('state').isGiven) return field.at('state').oneOf(runStates) ?? 'succeeded'
  if (field.at('waits').isGiven) return 'running'
  return field.at('error').isGiven ? 'failed' : 'succeeded'
}

function namesIn(field: Field, names: readonly string[]): readonly string[] | undefined {
  if (!field.isGiven) return undefined
  return (field.list('a list of tasks') ?? []).flatMap((each) => {
    const name = each.text('the name of a task')
    if (name !== undefined && !names.includes(name))
      each.add(`unknown task ${JSON.stringify(name)}`, nameHint(name, names))
    return name ?? []
  })
}

function valuesIn(field: Field, names: readonly string[], kind: 'var' | 'task'): Record<string, Json> {
  if (!field.isGiven) return {}
  const entries = field.entries(`a mapping of ${kind}s`) ?? []
  for (const [name, each] of entries) {
    if (names.includes(name)) continue
    const known = names.length === 0 ? `There are no ${kind}s.` : `The ${kind}s are ${listed(names)}.`
    each.addAtKey(`unknown ${kind} ${JSON.stringify(name)}`, didYouMean(name, names) ?? known)
  }
  return Object.fromEntries(entries.map(([name, each]) => [name, each.value as Json]))
}

/** In the order in which people look: how it ended, which way it went, what came of it. */
export function mismatchesOf(expected: Expectation, actual: Rehearsed): Mismatch[] {
  const found: Mismatch[] = []
  const compare = (what: string, wanted: Json | undefined, got: Json | undefined) => {
    if (wanted !== undefined && !isDeepStrictEqual(wanted, got ?? null))
      found.push({ what, expected: wanted, actual: got ?? null })
  }
  compare('state', expected.state, actual.state)
  compare('path', expected.path, actual.path)
  compare('waits', expected.waits, actual.waits)
  const { error } = expected
  const got = actual.error as Readonly<Record<string, Json>> | null
  if (!isText(error)) {
    for (const [key, value] of Object.entries(error ?? {})) compare(`error.${key}`, value, got?.[key])
  } else if (!actual.error?.message.includes(error)) compare('error', error, actual.error?.message)
  compare('output', expected.output, actual.output)
  for (const [name, value] of Object.entries(expected.vars)) compare(`vars.${name}`, value, actual.vars[name])
  for (const [name, value] of Object.entries(expected.inputs)) compare(`inputs.${name}`, value, actual.inputs[name])
  return found
}
