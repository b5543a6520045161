import { didYouMean, type Elsewhere, listed } from './field.js'
import type { Member, Reference } from './references.js'

/** The names that expressions and transitions may refer to. */
export interface Declared {
  readonly tasks: readonly string[]
  /** Tasks by their actions, which are easily mistaken for them. */
  readonly actions: ReadonlyMap<string, string>
  readonly vars: readonly string[]
  readonly parameters: readonly string[]
  readonly secrets: readonly string[]
}

/** What is known of an ended task, and of the run. */
const members = {
  tasks: ['status', 'result', 'error', 'items', 'ordinal'],
  run: ['id', 'workflow', 'version'],
} as const

interface ReferenceProblem {
  readonly at: { readonly offset: number; readonly length: number }
  readonly message: string
  readonly hint: string
}

/** What is wrong with a name that an expression reads. `shown`, if its value is shown to people, says so in words. */
export function referenceProblem(
  reference: Reference,
  declared: Declared,
  shown: string | undefined,
): ReferenceProblem | undefined {
  const {
    root,
    members: [first, second],
  } = reference
  switch (root) {
    case 'tasks':
      return taskProblem(declared, first, second)
    case 'run':
      return first && unknownMember(first, members.run, 'run')
    case 'vars':
      return first && unknownName(first, declared.vars, 'var', `Declare it at the top: vars: { ${first.name}: null }`)
    case 'parameters':
      return (
        (first &&
          unknownName(
            first,
            declared.parameters,
            'parameter',
            `Declare it at the top: parameters: { ${first.name}: string }`,
          )) ??
        secretProblem(declared, reference, first, shown)
      )
    default:
      return undefined
  }
}

function taskProblem(
  { tasks }: Declared,
  task: Member | undefined,
  member: Member | undefined,
): ReferenceProblem | undefined {
  if (!task) return undefined
  if (tasks.includes(task.name)) return member && unknownMember(member, members.tasks, `tasks.${task.name}`)
  // CEL reads tasks.deploy-eu as tasks.deploy minus eu.
  const dashed = tasks.find((name) => name.startsWith(`${task.name}-`))
  const hint =
    dashed === undefined ? `The tasks are ${shortList(tasks)}.` : `A name with a dash is written tasks['${dashed}'].`
  return unknownName(task, tasks, 'task', hint, dashed === undefined)
}

function secretProblem(
  { secrets }: Declared,
  { offset, length }: Reference,
  parameter: Member | undefined,
  shown: string | undefined,
): ReferenceProblem | undefined {
  const secret = parameter ? secrets.find((name) => name === parameter.name) : secrets[0]
  if (shown === undefined || secret === undefined) return undefined
  const at = parameter ?? { offset, length }
  const hint = 'Use it in the input of the task that needs it, and show a result of that task instead.'
  return { at, message: `the parameter ${secret} is secret, and ${shown}`, hint }
}

function unknownName(
  at: Member,
  names: readonly string[],
  kind: string,
  otherwise: string,
  guess = true,
): ReferenceProblem | undefined {
  if (names.includes(at.name)) return undefined
  const nearest = guess ? didYouMean(at.name, names) : undefined
  return { at, message: `unknown ${kind} ${JSON.stringify(at.name)}`, hint: nearest ?? otherwise }
}

/** What tasks of other systems have. */
const membersElsewhere: Elsewhere = {
  output: 'Did you mean result?',
  outputs: 'Did you mean result?',
  state: 'Did you mean status?',
  outcome: 'Did you mean status?',
  results: 'Did you mean result? With items, it is the list of their results.',
}

function unknownMember(at: Member, names: readonly string[], of: string): ReferenceProblem | undefined {
  if (names.includes(at.name)) return undefined
  const foreign = Object.hasOwn(membersElsewhere, at.name) && of !== 'run' ? membersElsewhere[at.name] : undefined
  const nearest = foreign ?? didYouMean(at.name, names)
  const known = `${of} has ${listed(names)}.`
  return {
    at,
    message: `${of} has no ${JSON.stringify(at.name)}`,
    hint: nearest === undefined ? known : `${nearest} ${known}`,
  }
}

/** Not more than one reads. */
export function shortList(names: readonly string[]): string {
  const max = 12
  return names.length <= max ? listed(names) : `${names.slice(0, max).join(', ')} and ${names.length - max} more`
}
