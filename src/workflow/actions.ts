import type { Json } from '../job/json.js'
import { limits } from '../limits.js'
import { nearestName } from '../task/nearest-name.js'
import { asGiven, compileApproval, compileFailure, compileHttp, compileNothing, compileSleep } from './action-inputs.js'
import { type Field, isTemplate, isText, listed } from './field.js'
import { taskShape } from './task-shape.js'
import { compileWait } from './wait-for.js'

/** What a task does, as it is stored. */
interface Action {
  readonly action: string
  readonly input: Json
}

/** How an action of our own reads its input, and why an option makes no sense with it. */
interface OwnAction {
  readonly compileInput: (input: Field) => Json
  readonly noRetry?: string
  readonly noTimeout?: string
  readonly noItems?: string
  /** What its input holds is seen by people: in which form. */
  readonly shows?: string
}

const atOnce = { noRetry: 'it cannot fail', noTimeout: 'it ends at once' }
const waiting = { noRetry: 'a wait does not fail', noItems: 'it waits for one thing' }
const asked = 'people are shown what they are asked'

const ownActions: Readonly<Record<string, OwnAction>> = {
  'core.echo': { compileInput: asGiven, shows: 'what core.echo returns is shown', ...atOnce },
  'core.noop': { compileInput: compileNothing, ...atOnce },
  'core.fail': {
    compileInput: compileFailure,
    shows: 'the error of core.fail is shown',
    noRetry: 'it always fails',
    noTimeout: 'it ends at once',
  },
  'core.sleep': {
    compileInput: compileSleep,
    noRetry: 'it cannot fail',
    noItems: waiting.noItems,
    noTimeout: 'it lasts as long as it says',
  },
  'core.http': { compileInput: compileHttp },
  'core.ask': { compileInput: compileApproval, shows: asked, ...waiting, noTimeout: 'its input has expires for that' },
  'wait.signal': { compileInput: asGiven, ...waiting },
  'wait.approval': { compileInput: asGiven, shows: asked, ...waiting, noTimeout: 'the approval has expires for that' },
  'wait.run': { compileInput: asGiven, ...waiting },
  'wait.time': { compileInput: asGiven, ...waiting, noTimeout: 'it lasts until the time that it names' },
}

/** What a workflow called as an action is not given. */
const calledWorkflow = { noRetry: 'the tasks in it have their own' }

/** Why an option makes no sense with this action. */
export function refusals(action: string): Pick<OwnAction, 'noRetry' | 'noTimeout' | 'noItems' | 'shows'> {
  if (action.startsWith('workflow.')) return calledWorkflow
  return Object.hasOwn(ownActions, action) ? (ownActions[action] as OwnAction) : {}
}

const coreNames = Object.keys(ownActions).filter((name) => name.startsWith('core.'))
const shortNames = coreNames.map((name) => name.slice('core.'.length))
const workflowName = /^[A-Za-z_][A-Za-z0-9_.-]*$/

export function compileAction(task: Field): Action {
  const action = task.at('action')
  const wait = task.at('wait_for')
  const input = task.at('input')
  if (wait.isGiven) {
    if (action.isGiven) wait.addAtKey('a task has either action or wait_for, not both', twoTasksHint)
    if (input.isGiven)
      input.addAtKey('wait_for takes no input', 'What it waits for is all in wait_for. Take input out.')
    return compileWait(wait)
  }
  if (action.value === undefined) {
    if (!task.hasKey('action', taskShape)) noAction(task)
    return { action: '', input: asGiven(input) }
  }
  const name = compileActionName(action)
  const own = name !== undefined && Object.hasOwn(ownActions, name) ? ownActions[name] : undefined
  return { action: name ?? '', input: own && !isTemplate(input.value) ? own.compileInput(input) : asGiven(input) }
}

const twoTasksHint = 'Make two tasks of it, of which the first leads to the second.'
const actionHint = `Say what it does: action: with the name of a registered task, workflow.<name>, or ${listed(coreNames, 'or')}. Or what it waits for: wait_for.`

function noAction(task: Field): void {
  const name = task.at('name')
  if (isText(name.value) && name.value !== '') name.add(`task ${JSON.stringify(name.value)} has no action`, actionHint)
  else task.add('a task has no action', actionHint)
}

function compileActionName(field: Field): string | undefined {
  const name = field.text('the name of a registered task, workflow.<name> or core.…', actionHint)
  if (name === undefined) return undefined
  if (name.includes('{{')) return field.refuse('a fixed name', actionHint)
  if (Object.hasOwn(ownActions, name)) {
    if (name.startsWith('core.')) return name
    return field.add(
      `${name} is not an action`,
      `Write wait_for: { ${name.slice('wait.'.length)}: … } instead of action.`,
    )
  }
  if (/^core\./i.test(name)) {
    const short = nearestName(name.slice('core.'.length), shortNames)
    const hint = short === undefined ? `There are ${listed(coreNames)}.` : `Did you mean core.${short}?`
    return field.add(`there is no action ${JSON.stringify(name)}`, hint)
  }
  if (name.startsWith('wait.')) {
    return field.add(
      `there is no action ${JSON.stringify(name)}`,
      'To wait for something, write wait_for instead of action.',
    )
  }
  if (name.startsWith('workflow.') && !workflowName.test(name.slice('workflow.'.length))) {
    return field.add(
      `${JSON.stringify(name)} names no workflow`,
      'Write workflow. and its name, such as workflow.release.',
    )
  }
  if (name.length > limits.nameLengthMax) {
    return field.add(
      `action has ${name.length} characters, the limit is ${limits.nameLengthMax}`,
      'Choose a shorter name.',
    )
  }
  if (/\p{Cc}/u.test(name))
    return field.add('action contains a control character', 'Leave it out: no task has such a name.')
  return name
}
