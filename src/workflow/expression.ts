import type { Json } from '../job/json.js'
import { limits } from '../limits.js'
import { Evaluation } from './expression/evaluation.js'
import { Place } from './expression/place.js'
import { compileProgram, type Program, type Uses } from './expression/program.js'
import { Recent } from './expression/recent.js'
import { scan } from './expression/scanner.js'
import type { Scope, ScopeName } from './expression/scope.js'
import { kindOf } from './expression/values.js'

export type { Scope, ScopeName } from './expression/scope.js'
export { ExpressionError } from './expression-error.js'

/** An expression that is all of its string. Total and without effects: it gives JSON or throws an ExpressionError. */
export interface Expression extends Uses {
  evaluate(scope: Scope): Json
  /** As a condition: only true is true, and anything but a boolean is an ExpressionError. */
  test(scope: Scope): boolean
}

const kept = new Recent<Expression>(limits.expressionsKeptLengthMax)

/** `text` is exactly one {{ expression }}, of which `names` may be used. Throws an ExpressionError. */
export function compileExpression(text: string, names: readonly ScopeName[]): Expression {
  return kept.get(`${names.join()} ${text}`, () => expression(compileProgram(onlyHole(text), names)))
}

function onlyHole(text: string) {
  const parts = scan(text).filter((part) => typeof part !== 'string' || part.trim() !== '')
  const [first] = parts
  if (parts.length === 1 && first !== undefined && typeof first !== 'string') return first
  const place = new Place(text, 0, Math.max(1, text.length))
  throw place.error('this must be one expression and nothing else', 'Write it as {{ expression }}.')
}

function expression(program: Program): Expression {
  const evaluate = (scope: Scope) => program.value(new Evaluation(scope), 0)
  return {
    taskNames: program.taskNames,
    usesAllTasks: program.usesAllTasks,
    usesResult: program.usesResult,
    evaluate,
    test(scope) {
      const answer = evaluate(scope)
      if (typeof answer === 'boolean') return answer
      throw program.place.error(`a condition must give true or false, and this gives ${kindOf(answer)}`)
    },
  }
}
