import type { Json } from '../job/json.js'
import { checkMoment } from './action-inputs.js'
import type { Definition, Parameter, TaskDefinition } from './definition.js'
import { didYouMean, type Field, isText, listed, type Shape, isTemplate } from './field.js'
import type { Scene } from './memory-play.js'
import { checkedValues, type ValueProblem } from './parameters.js'
import { compileAfter, compileResults, type Language, nameHint } from './rehearsal-results.js'

const sceneShape: Shape = {
  what: 'a case',
  keys: ['parameters', 'results', 'answers', 'signals', 'now'],
  elsewhere: {
    params: 'parameters',
    input: 'parameters',
    inputs: 'Here it is called parameters; what tasks are called with belongs to expect.',
    mocks: 'results',
    tasks: 'results',
    approvals: 'answers',
    expected: 'expect',
    state: 'It belongs to expect.',
    path: 'It belongs to expect.',
    output: 'It belongs to expect.',
  },
}

/** When a run starts if the case does not say. */
const startDefault = '2000-01-01T00:00:00Z'

/** Reads what a case says of the way; `more` are keys that are read elsewhere. */
export function compileScene(
  field: Field,
  definition: Definition,
  language: Language,
  more: readonly string[] = [],
): Scene | undefined {
  if (!field.hasShape({ ...sceneShape, keys: [...more, ...sceneShape.keys] })) return undefined
  const now = field.at('now')
  if (now.isGiven) checkMoment(now)
  return {
    parameters: compileParameters(field, definition),
    startMs: Date.parse(isText(now.value) ? now.value : startDefault),
    act: compileResults(field.at('results'), definition, language),
    answers: compileAnswers(field.at('answers'), definition),
    signals: compileSignals(field.at('signals'), definition, language),
  }
}

function compileParameters(scene: Field, definition: Definition): Readonly<Record<string, Json>> {
  const field = scene.at('parameters')
  const checked = checkedValues(definition.parameters, field.value)
  if ('values' in checked) return checked.values
  noteProblems(field.isGiven ? field : scene, checked.problems)
  return {}
}

/** Each at the value it is about; what is missing, at the whole. */
function noteProblems(field: Field, problems: readonly ValueProblem[]): void {
  for (const { name, message, hint } of problems) {
    const about = name === '' ? field : field.at(name)
    if (about.value === undefined) field.add(message, hint)
    else about.add(message, hint)
  }
}

function compileAnswers(field: Field, { tasks }: Definition): ReadonlyMap<string, readonly Json[]> {
  const asking = tasks.filter(({ action }) => action === 'core.ask' || action === 'wait.approval')
  const answers = new Map<string, readonly Json[]>()
  for (const [name, given] of field.isGiven ? (field.entries('a mapping of tasks') ?? []) : []) {
    const task = asking.find((each) => each.name === name)
    if (!task) {
      const names = asking.map((each) => each.name)
      const others = names.length === 0 ? 'No task asks for an answer.' : nameHint(name, names)
      given.addAtKey(`task ${JSON.stringify(name)} asks nothing`, others)
      continue
    }
    const each = Array.isArray(given.value) ? (given.list('a list of answers') ?? []) : [given]
    answers.set(
      name,
      each.map((answer) => compileAnswer(answer, task)),
    )
  }
  return answers
}

function compileAnswer(field: Field, { input }: TaskDefinition): Json {
  const { form } = (input ?? {}) as { form?: Record<string, Parameter> | string }
  if (isTemplate(form)) return (field.value ?? {}) as Json
  const checked = checkedValues((form ?? {}) as Record<string, Parameter>, field.value, 'field')
  if ('values' in checked) return checked.values
  noteProblems(field, checked.problems)
  return null
}

function compileSignals(field: Field, { tasks }: Definition, language: Language): Scene['signals'] {
  if (!field.isGiven) return []
  const hint = 'Write signals: [{ name: …, payload: … }]'
  const names = tasks
    .filter(({ action }) => action === 'wait.signal')
    .map(({ input }) => (input as { name: string }).name)
  return (field.list('a list', hint) ?? []).flatMap((signal) => {
    if (!signal.hasShape({ what: 'a signal', keys: ['name', 'payload', 'after'], elsewhere: { signal: 'name' } }, hint))
      return []
    if (signal.at('name').value === undefined) signal.add('a signal needs its name', hint)
    const name = signal.at('name').value === undefined ? undefined : signal.at('name').text()
    if (name === undefined) return []
    if (!names.includes(name) && !names.some(isTemplate)) {
      const known = names.length === 0 ? 'No task waits for a signal.' : `There are ${listed(names)}.`
      signal.at('name').add(`no task waits for the signal ${JSON.stringify(name)}`, didYouMean(name, names) ?? known)
    }
    return [
      {
        name,
        payload: (signal.at('payload').value ?? null) as Json,
        afterMs: compileAfter(signal.at('after'), language),
      },
    ]
  })
}
