import { nearestName } from '../task/nearest-name.js'
import { commands } from './definition.js'
import { compileExpression, ExpressionError, type ScopeName } from './expression.js'
import { type Hole, scan } from './expression/scanner.js'
import { didYouMean, type Field, inWords, isTemplate, isText } from './field.js'
import { type Declared, referenceProblem, shortList } from './reference-check.js'
import { referencesIn } from './references.js'

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
      for (const hole of holesIn(field, value) ?? []) this.#checkExpression(field, hole, where, shown)
    } else if (Array.isArray(value)) {
      value.forEach((_, i) => this.checkTemplate(field.at(i), where, shown))
    } else if (typeof value === 'object' && value !== null) {
      for (const key of Object.keys(value)) {
        if (isTemplate(key)) field.at(key).addAtKey('an expression cannot stand in a key', keyHint)
        this.checkTemplate(field.at(key), where, shown)
      }
    }
  }

  /** A text that is one expression and nothing else; given back without blanks around it. */
  checkOne(field: Field, where: Where): string | undefined {
    const { value } = field
    if (!isText(value) || !isTemplate(value)) {
      return field.add(`${field.label} must be one expression, not ${inWords(value)}`, bracesHint(field))
    }
    const holes = holesIn(field, value)
    if (!holes) return undefined
    const [hole] = holes
    const text = value.trim()
    if (hole && hole.place.length === text.length) this.#checkExpression(field, hole, where, undefined)
    else field.add(`${field.label} must be one expression and nothing else`, aroundHint(text, holes.length))
    return text
  }

  /** A task that a transition leads to: as it is called, or as it was probably meant to be, which is noted. */
  checkTask(name: string, field: Field): string {
    const { tasks, actions } = this.#declared
    if (tasks.includes(name)) return name
    if (name.includes('{{')) {
      field.add('do cannot be computed', 'Write a transition for each task that may follow, with a condition in when.')
      return name
    }
    const meant = actions.get(name) ?? nearestName(name, [...tasks, ...commands])
    const hint = actions.has(name) ? `That is its action. Lead to the task: do: ${meant}` : `Did you mean ${meant}?`
    field.add(`unknown task ${JSON.stringify(name)}`, meant === undefined ? `The tasks are ${shortList(tasks)}.` : hint)
    return meant ?? name
  }

  /** A var that a transition publishes. */
  checkVar(name: string, field: Field): void {
    if (this.#declared.vars.includes(name)) return
    const hint =
      didYouMean(name, this.#declared.vars) ?? `Declare it at the top, with its first value: vars: { ${name}: null }`
    field.addAtKey(`there is no var ${JSON.stringify(name)} to publish to`, hint)
  }

  #checkExpression(field: Field, { place }: Hole, where: Where, shown: string | undefined): void {
    const add = ({ offset, length }: { offset: number; length: number }, message: string, hint: string) =>
      field.addWithin({ source: field.value as string, offset: place.offset + offset, length }, message, hint)
    const text = place.source.slice(place.offset, place.offset + place.length)
    try {
      compileExpression(text, namesKnown[where])
    } catch (error) {
      if (!(error instanceof ExpressionError)) throw error
      add(error, error.problem, error.hint ?? expressionHint)
      return
    }
    for (const reference of referencesIn(text)) {
      const problem = referenceProblem(reference, this.#declared, shown)
      if (problem) add(problem.at, problem.message, problem.hint)
    }
  }
}

const expressionHint = 'docs/reference/expressions.md shows how expressions are written.'
const keyHint = 'Build the whole mapping in one expression: "{{ {name: value} }}".'

/** The expressions in a text; undefined if it cannot be taken apart, which is noted. */
function holesIn(field: Field, text: string): readonly Hole[] | undefined {
  try {
    return scan(text).filter((part) => typeof part !== 'string')
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error
    return field.addWithin(error, error.problem, error.hint ?? expressionHint)
  }
}

/** For what should be an expression and has no braces. */
function bracesHint({ value, label }: Field): string {
  if (value === true && label === 'when') return 'Leave when out: without it the transition always fires.'
  if (!isText(value) || value.trim() === '') return 'Such as "{{ succeeded() }}".'
  const inner = /^(?:<%|\$\{)(.*?)(?:%>|\})$/s.exec(value.trim())?.[1] ?? value
  return `Expressions stand in double braces: "{{ ${inner.trim()} }}"`
}

function aroundHint(text: string, holes: number): string {
  if (holes > 1) return 'Write all of it in one pair of braces, such as "{{ a && b }}".'
  return text.startsWith('${{') ? 'Take out the $.' : 'Put what stands around it into the braces, or take it out.'
}
