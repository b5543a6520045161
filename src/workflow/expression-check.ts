import { commands } from './definition.js'
import { compileExpression, type ScopeName } from './expression.js'
import { scan } from './expression/scanner.js'
import { ExpressionError } from './expression-error.js'
import { didYouMean, type Field, inWords, isText, listed } from './field.js'
import { type Member, type Reference, referencesIn } from './references.js'
import { compileTemplate } from './template.js'

const everywhere = ['parameters', 'run'] as const
const inRun = [...everywhere, 'vars', 'tasks'] as const

/** What an expression can name, by where it stands. */
const namesKnown = {
  vars: everywhere,
  input: inRun,
  inputOfItem: [...inRun, 'item', 'index'],
  items: inRun,
  next: [...inRun, 'error', 'ending'],
  retry: ['error', 'attempt'],
  output: inRun,
} as const satisfies Record<string, readonly ScopeName[]>

export type Where = keyof typeof namesKnown

/** What is known of an ended task, and of the run. */
const members = {
  tasks: ['status', 'result', 'error', 'items', 'ordinal'],
  run: ['id', 'workflow', 'version'],
} as const

/** The names that expressions and transitions may refer to. */
export interface Declared {
  readonly tasks: readonly string[]
  readonly vars: readonly string[]
  readonly parameters: readonly string[]
  readonly secrets: readonly string[]
}

/** Checks the expressions of a definition as the engine will compile them, and the names that they refer to. */
export class ExpressionCheck {
  readonly #declared: Declared

  constructor(declared: Declared) {
    this.#declared = declared
  }

  /**
   * Every text in a value, at any depth. If what comes out of it is shown to people, `shown` says so in words, and a
   * secret parameter must not be part of it.
   */
  checkTemplate(field: Field, where: Where, shown?: string): void {
    const { value } = field
    if (isText(value)) {
      this.#check(field, value, shown, () => compileTemplate(value, namesKnown[where]))
    } else if (Array.isArray(value)) {
      value.forEach((_, i) => this.checkTemplate(field.at(i), where, shown))
    } else if (typeof value === 'object' && value !== null) {
      for (const key of Object.keys(value)) {
        if (key.includes('{{')) {
          field
            .at(key)
            .addAtKey(
              'an expression cannot stand in a key',
              'Build the whole mapping in one expression: "{{ {name: value} }}".',
            )
        }
        this.checkTemplate(field.at(key), where, shown)
      }
    }
  }

  /** A text that is one expression and nothing else, without blanks around it. */
  checkOne(field: Field, where: Where): string | undefined {
    const { value } = field
    if (!isText(value) || value.trim() === '') return field.refuse('one expression', 'Such as "{{ succeeded() }}".')
    if (!value.includes('{{')) {
      return field.add(
        `${field.label} must be one expression, not ${inWords(value)}`,
        `Put it in braces: "{{ ${value.trim()} }}"`,
      )
    }
    const text = value.trim()
    const blanks = value.length - value.trimStart().length
    this.#check(
      field,
      text,
      undefined,
      () => {
        const parts = scan(text)
        if (parts.length === 1) return compileExpression(text, namesKnown[where])
        const holes = parts.filter((part) => typeof part !== 'string').length
        return field.add(
          `${field.label} must be one expression and nothing else`,
          holes > 1
            ? 'Write all of it in one pair of braces, such as "{{ a && b }}".'
            : 'Put what stands around it into the braces, or take it out.',
        )
      },
      blanks,
    )
    return text
  }

  /** A task that a transition leads to: as it is called, or as it was probably meant to be, which is noted. */
  checkTask(name: string, field: Field): string {
    const { tasks } = this.#declared
    if (tasks.includes(name)) return name
    if (name.includes('{{')) {
      field.add('do cannot be computed', 'Write a transition for each task that may follow, with a condition in when.')
      return name
    }
    const hint = didYouMean(name, [...tasks, ...commands]) ?? `The tasks are ${shortList(tasks)}.`
    field.add(`unknown task ${JSON.stringify(name)}`, hint)
    return [...tasks, ...commands].find((each) => hint === `Did you mean ${each}?`) ?? name
  }

  /** A var that a transition publishes. */
  checkVar(name: string, field: Field): void {
    if (this.#declared.vars.includes(name)) return
    const hint =
      didYouMean(name, this.#declared.vars) ?? `Declare it at the top, with its first value: vars: { ${name}: null }`
    field.addAtKey(`there is no var ${JSON.stringify(name)} to publish to`, hint)
  }

  /** `blanks` were left out at the start of the text. */
  #check(field: Field, text: string, shown: string | undefined, compile: () => unknown, blanks = 0): void {
    const add = (place: { offset: number; length: number }, message: string, hint: string | undefined) =>
      field.addWithin(
        { source: field.value as string, offset: place.offset + blanks, length: place.length },
        message,
        hint,
      )
    try {
      if (compile() === undefined) return
    } catch (error) {
      if (!(error instanceof ExpressionError)) throw error
      add(error, error.problem, error.hint)
      return
    }
    for (const reference of referencesIn(text)) {
      const problem = this.#problemWith(reference, shown)
      if (problem) add(problem.at, problem.message, problem.hint)
    }
  }

  #problemWith(reference: Reference, shown: string | undefined): ReferenceProblem | undefined {
    const {
      root,
      members: [first, second],
    } = reference
    switch (root) {
      case 'tasks':
        return this.#taskProblem(first, second)
      case 'run':
        return first && unknownMember(first, members.run, 'run')
      case 'vars':
        return (
          first &&
          unknownName(first, this.#declared.vars, 'var', `Declare it at the top: vars: { ${first.name}: null }`)
        )
      case 'parameters':
        return (
          (first &&
            unknownName(
              first,
              this.#declared.parameters,
              'parameter',
              `Declare it at the top: parameters: { ${first.name}: string }`,
            )) ??
          this.#secretProblem(reference, first, shown)
        )
      default:
        return undefined
    }
  }

  #taskProblem(task: Member | undefined, member: Member | undefined): ReferenceProblem | undefined {
    if (!task) return undefined
    const { tasks } = this.#declared
    if (tasks.includes(task.name)) return member && unknownMember(member, members.tasks, `tasks.${task.name}`)
    // CEL reads tasks.deploy-eu as tasks.deploy minus eu.
    const dashed = tasks.find((name) => name.startsWith(`${task.name}-`))
    const hint =
      dashed === undefined ? `The tasks are ${shortList(tasks)}.` : `A name with a dash is written tasks['${dashed}'].`
    return unknownName(task, tasks, 'task', hint, dashed === undefined)
  }

  #secretProblem(
    { offset, length }: Reference,
    parameter: Member | undefined,
    shown: string | undefined,
  ): ReferenceProblem | undefined {
    const { secrets } = this.#declared
    const secret = parameter ? secrets.find((name) => name === parameter.name) : secrets[0]
    if (shown === undefined || secret === undefined) return undefined
    const at = parameter ?? { offset, length }
    const hint = `Use it in the input of the task that needs it; what that returns can be ${shown === 'the output is shown' ? 'put out' : 'shown'}.`
    return { at, message: `the parameter ${secret} is secret, and ${shown}`, hint }
  }
}

interface ReferenceProblem {
  readonly at: { readonly offset: number; readonly length: number }
  readonly message: string
  readonly hint: string
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
const membersElsewhere: Readonly<Record<string, string>> = {
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

function shortList(names: readonly string[]): string {
  const max = 12
  return names.length <= max ? listed(names) : `${names.slice(0, max).join(', ')} and ${names.length - max} more`
}
