import type { Json } from '../../job/json.js'
import { limits } from '../../limits.js'
import type { Place } from './place.js'
import type { Scope } from './scope.js'

/**
 * One evaluation of an expression, or of all expressions of a template together. CEL always ends, but nested map() and
 * filter() multiply: so whatever grows with the data is paid for in steps before it is done, and the steps are limited.
 */
export class Evaluation {
  readonly scope: Scope
  /** The variables of map(), filter() and the like around the place in hand. */
  readonly locals: Json[] = []
  #stepsLeft: number = limits.expressionStepsMax

  constructor(scope: Scope) {
    this.scope = scope
  }

  spend(steps: number, place: Place): void {
    this.#stepsLeft -= steps
    if (this.#stepsLeft >= 0) return
    throw place.error(
      `this takes more than ${limits.expressionStepsMax.toLocaleString('en-US')} steps`,
      'Use fewer loops inside loops, or shorter lists; larger work belongs into a task.',
    )
  }
}

/** The steps that it costs to make or read so much text. */
export function textSteps(length: number): number {
  return 1 + Math.floor(length / 8)
}
