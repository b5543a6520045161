import type { Json } from '../job/json.js'
import { limits } from '../limits.js'
import { Evaluation } from './expression/evaluation.js'
import { compileProgram, type Program, type Uses, usesOf } from './expression/program.js'
import { Recent } from './expression/recent.js'
import { hasHoles, scan } from './expression/scanner.js'
import type { Scope, ScopeName } from './expression/scope.js'
import { isList, isObject, put, rendered } from './expression/values.js'
import { ExpressionError } from './expression-error.js'

/** JSON with {{ expressions }} in its strings. */
export interface Template extends Uses {
  evaluate(scope: Scope): Json
}

type Filled = (evaluation: Evaluation) => Json

type Path = readonly (string | number)[]

/**
 * Expressions stand in strings, also in those inside of lists and objects, and never in keys. A string that is exactly
 * one expression becomes its value, of whatever type; otherwise the values are rendered into the text. Throws an
 * ExpressionError whose `path` leads to the string.
 */
export function compileTemplate(value: Json, names: readonly ScopeName[]): Template {
  const uses: Uses[] = []
  const filled = filling(value, names, [], uses)
  return {
    ...usesOf(uses),
    evaluate: filled ? (scope) => filled(new Evaluation(scope)) : () => value,
  }
}

/** undefined if there is nothing to fill in: then the value is given as it is. */
function filling(value: Json, names: readonly ScopeName[], path: Path, uses: Uses[]): Filled | undefined {
  if (path.length > limits.payloadDepthMax) {
    const problem = `this is nested deeper than ${limits.payloadDepthMax} levels`
    throw new ExpressionError(problem, { source: '', offset: 0, length: 0 }, { path })
  }
  if (typeof value === 'string') return hasHoles(value) ? stringFilling(value, names, path, uses) : undefined
  if (isList(value)) {
    const items = value.map((item, i) => filling(item, names, [...path, i], uses))
    if (items.every((item) => item === undefined)) return undefined
    return (evaluation) => items.map((item, i) => (item ? item(evaluation) : (value[i] as Json)))
  }
  if (!isObject(value)) return undefined
  const members = Object.keys(value).map((key) => ({
    key,
    plain: value[key] as Json,
    filled: filling(value[key] as Json, names, [...path, key], uses),
  }))
  if (members.every(({ filled }) => filled === undefined)) return undefined
  return (evaluation) => {
    const made: Record<string, Json> = {}
    for (const { key, plain, filled } of members) put(made, key, filled ? filled(evaluation) : plain)
    return made
  }
}

interface TextTemplate extends Uses {
  evaluate(evaluation: Evaluation, depth: number): Json
}

const kept = new Recent<TextTemplate>(limits.expressionsKeptLengthMax)

function stringFilling(source: string, names: readonly ScopeName[], path: Path, uses: Uses[]): Filled {
  const template = located(path, () => kept.get(`${names.join()} ${source}`, () => textTemplate(source, names)))
  uses.push(template)
  return (evaluation) => located(path, () => template.evaluate(evaluation, path.length))
}

function located<Result>(path: Path, work: () => Result): Result {
  try {
    return work()
  } catch (error) {
    throw error instanceof ExpressionError ? error.at(path) : error
  }
}

function textTemplate(source: string, names: readonly ScopeName[]): TextTemplate {
  const parts = scan(source).map((part) => (typeof part === 'string' ? part : compileProgram(part, names)))
  const programs = parts.filter((part): part is Program => typeof part !== 'string')
  const [only] = programs
  return {
    ...usesOf(programs),
    evaluate:
      only && parts.length === 1
        ? (evaluation, depth) => only.value(evaluation, depth)
        : (evaluation, depth) => parts.map((part) => partText(part, evaluation, depth)).join(''),
  }
}

function partText(part: string | Program, evaluation: Evaluation, depth: number): string {
  return typeof part === 'string' ? part : rendered(part.value(evaluation, depth), evaluation, part.place)
}
