import type { Json } from '../../job/json.js'
import { ExpressionError } from '../expression-error.js'
import { Compiler } from './compiler.js'
import type { Evaluation } from './evaluation.js'
import type { Place } from './place.js'
import type { Hole } from './scanner.js'
import type { ScopeName } from './scope.js'
import { parse } from './syntax.js'
import { checkJson } from './values.js'

/** What an expression reads that takes work to provide. */
export interface Uses {
  /** x of tasks.x and tasks['x']. */
  readonly taskNames: readonly string[]
  /** Whether `tasks` is used in another way. */
  readonly usesAllTasks: boolean
  readonly usesResult: boolean
}

/** One expression, compiled. */
export interface Program extends Uses {
  readonly place: Place
  /** Plain JSON, or an ExpressionError. `depth` is how deep the value will stand in another one. */
  value(evaluation: Evaluation, depth: number): Json
}

export function compileProgram(hole: Hole, names: readonly ScopeName[]): Program {
  const compiler = new Compiler(hole, names)
  const run = compiler.compile(parse(hole), [])
  const { place } = hole
  return {
    place,
    taskNames: [...compiler.taskNames],
    usesAllTasks: compiler.usesAllTasks,
    usesResult: compiler.usesResult,
    value(evaluation, depth) {
      try {
        const value = run(evaluation)
        checkJson(value, evaluation, place, depth)
        return value
      } catch (error) {
        if (error instanceof ExpressionError) throw error
        // A getter of a value in scope, or the end of the stack: whatever it is, the expression has failed.
        throw place.error('the expression could not be evaluated', undefined, error)
      }
    },
  }
}

export function usesOf(parts: readonly Uses[]): Uses {
  return {
    taskNames: [...new Set(parts.flatMap(({ taskNames }) => taskNames))],
    usesAllTasks: parts.some(({ usesAllTasks }) => usesAllTasks),
    usesResult: parts.some(({ usesResult }) => usesResult),
  }
}
