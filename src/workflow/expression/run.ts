import type { Json } from '../../job/json.js'
import type { Evaluation } from './evaluation.js'
import type { Place } from './place.js'
import type { Node } from './syntax.js'

/** A part of an expression, compiled. */
export type Run = (evaluation: Evaluation) => Json

/** The variables of map(), filter() and the like that are known at a place; each has its slot in Evaluation.locals. */
export type Locals = readonly string[]

/** What has(), map() and the like need to compile their arguments. */
export interface Compiling {
  compile(node: Node, locals: Locals): Run
  place(node: Node): Place
  /** x.y.z and x['y'][0] as the value of x and the way from there; undefined if it is something else. */
  path(node: Node, locals: Locals): Path | undefined
  /** How many parts were compiled so far. */
  readonly parts: number
}

export interface Path {
  readonly start: Run
  readonly steps: readonly Run[]
}
