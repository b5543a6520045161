import type { Json } from '../../job/json.js'
import { Call } from '../functions/library-function.js'
import { sortedBy } from '../functions/list-functions.js'
import { memberIfThere } from './access.js'
import type { Evaluation } from './evaluation.js'
import type { Place } from './place.js'
import type { Compiling, Locals, Path, Run } from './run.js'
import type { Node } from './syntax.js'
import { isList, isObject, kindOf, sortedKeys } from './values.js'

/** A function that does not simply take values: CEL calls it a macro. */
export interface Form {
  readonly signature: string
  readonly argumentsMin: number
  readonly argumentsMax: number
  compile(compiling: Compiling, nodes: readonly Node[], locals: Locals, place: Place): Run
}

export const forms: ReadonlyMap<string, Form> = new Map<string, Form>([
  ['has', { signature: 'has(x.y)', argumentsMin: 1, argumentsMax: 1, compile: has }],
  ['default', { signature: 'default(value, other)', argumentsMin: 2, argumentsMax: 2, compile: orOther }],
  ['map', loop('map', 'list.map(x, value)', map, 4)],
  ['filter', loop('filter', 'list.filter(x, condition)', filter)],
  ['all', loop('all', 'list.all(x, condition)', all)],
  ['exists', loop('exists', 'list.exists(x, condition)', exists)],
  ['exists_one', loop('exists_one', 'list.exists_one(x, condition)', existsOne)],
  ['sortBy', loop('sortBy', 'list.sortBy(x, key)', sortBy)],
])

function has(compiling: Compiling, [node]: readonly Node[], locals: Locals): Run {
  const path = compiling.path(node as Node, locals)
  if (!path) {
    throw compiling
      .place(node as Node)
      .error('has() asks for a member of something', "Write it like has(vars.image) or has(x['a key']).")
  }
  return (evaluation) => followed(path, evaluation) !== undefined
}

function orOther(compiling: Compiling, [node, other]: readonly Node[], locals: Locals): Run {
  const path = compiling.path(node as Node, locals)
  const value = path ? undefined : compiling.compile(node as Node, locals)
  const otherwise = compiling.compile(other as Node, locals)
  return (evaluation) => (path ? followed(path, evaluation) : value?.(evaluation)) ?? otherwise(evaluation)
}

/** What the path leads to; undefined as soon as something on the way is not there. */
function followed({ start, steps }: Path, evaluation: Evaluation): Json | undefined {
  let at: Json | undefined = start(evaluation)
  for (const key of steps) {
    at = memberIfThere(at, key(evaluation))
    if (at === undefined) return undefined
  }
  return at
}

interface Loop {
  readonly place: Place
  /** The items of the list, or the keys of the object. */
  readonly items: (evaluation: Evaluation) => readonly Json[]
  /** The body for one item. */
  readonly each: (evaluation: Evaluation, item: Json) => Json
  readonly holds: (evaluation: Evaluation, item: Json) => boolean
  /** What map(x, condition, value) has besides. */
  readonly eachHolding: ((evaluation: Evaluation, item: Json) => Json) | undefined
}

function loop(name: string, signature: string, run: (loop: Loop) => Run, argumentsMax = 3): Form {
  return {
    signature,
    argumentsMin: 3,
    argumentsMax,
    compile(compiling, nodes, locals, place) {
      const [over, variable, ...bodies] = nodes as [Node, Node, Node, ...Node[]]
      const list = compiling.compile(over, locals)
      if (variable.op !== 'id') {
        throw compiling
          .place(variable)
          .error('the variable must be a plain name', `Write it like ${signature}: x stands for each item in turn.`)
      }
      const slot = locals.length
      const inside = [...locals, variable.args]
      const partsBefore = compiling.parts
      const [body, second] = bodies.map((node) => compiling.compile(node, inside)) as [Run, Run | undefined]
      const steps = compiling.parts - partsBefore
      const bodyPlace = compiling.place(bodies[0])
      const listPlace = compiling.place(over)
      const inEach = (part: Run) => (evaluation: Evaluation, item: Json) => {
        evaluation.spend(steps, place)
        evaluation.locals[slot] = item
        return part(evaluation)
      }
      const each = inEach(body)
      return run({
        place,
        items: (evaluation) => itemsOf(list(evaluation), name, evaluation, listPlace),
        each,
        holds: (evaluation, item) => {
          const answer = each(evaluation, item)
          if (typeof answer === 'boolean') return answer
          throw bodyPlace.error(`the condition of ${name}() must give true or false, not ${kindOf(answer)}`)
        },
        eachHolding: second && inEach(second),
      })
    },
  }
}

function itemsOf(over: Json, name: string, evaluation: Evaluation, place: Place): readonly Json[] {
  if (isList(over)) return over
  if (isObject(over)) return sortedKeys(over, evaluation, place)
  throw place.error(`${name}() goes through a list or the keys of an object, not through ${kindOf(over)}`)
}

function map({ items, each, holds, eachHolding }: Loop): Run {
  return (evaluation) => {
    const made: Json[] = []
    for (const item of items(evaluation)) {
      if (!eachHolding) made.push(each(evaluation, item))
      else if (holds(evaluation, item)) made.push(eachHolding(evaluation, item))
    }
    return made
  }
}

function filter({ items, holds }: Loop): Run {
  return (evaluation) => items(evaluation).filter((item) => holds(evaluation, item))
}

function all({ items, holds }: Loop): Run {
  return (evaluation) => items(evaluation).every((item) => holds(evaluation, item))
}

function exists({ items, holds }: Loop): Run {
  return (evaluation) => items(evaluation).some((item) => holds(evaluation, item))
}

function existsOne({ items, holds }: Loop): Run {
  return (evaluation) => items(evaluation).filter((item) => holds(evaluation, item)).length === 1
}

function sortBy({ items, each, place }: Loop): Run {
  return (evaluation) => {
    const list = items(evaluation)
    const keys = list.map((item) => each(evaluation, item))
    return sortedBy(new Call('sortBy', place, [place], evaluation), list, keys)
  }
}
