import type { Json } from '../../job/json.js'
import { nearestName } from '../../task/nearest-name.js'
import type { ExpressionError } from '../expression-error.js'
import type { Place } from './place.js'
import { isList, isObject, type JsonObject, kindOf } from './values.js'

/** Own members only: nothing of a prototype can be reached. */
export function memberIfThere(container: Json, key: Json): Json | undefined {
  if (typeof key === 'string') {
    return isObject(container) && Object.hasOwn(container, key) ? container[key] : undefined
  }
  return typeof key === 'number' && isList(container) ? container[key] : undefined
}

export interface Access {
  /** Of the object or list. */
  readonly container: Place
  readonly key: Place
  /** Whether the key is written in the expression; one that was calculated may be secret. */
  readonly literal: boolean
}

/** Why there is no such member. */
export function missing(container: Json, key: Json, access: Access): ExpressionError {
  const what = access.container.words ?? 'this'
  if (container === null) {
    const whose = access.literal && typeof key === 'string' ? `has no ${key}` : 'has no members'
    return access.key.error(
      `${what} is null, so it ${whose}`,
      'has(x.y) asks whether it is there; default(x.y, other) gives something else if it is not.',
    )
  }
  if (isObject(container)) return missingKey(what, container, key, access)
  if (isList(container)) return missingItem(what, container, key, access)
  return access.key.error(`${what} is ${kindOf(container)} and has no members`)
}

const keysShownMax = 10
const keyLengthMax = 60
/** Only so many are compared for “did you mean”: an error must not take long either. */
const keysComparedMax = 200

function missingKey(what: string, container: JsonObject, key: Json, access: Access): ExpressionError {
  if (typeof key !== 'string') return access.key.error(`a key of an object is a string, not ${kindOf(key)}`)
  const keys = Object.keys(container)
  const short = keys.slice(0, keysComparedMax).filter(({ length }) => length <= keyLengthMax)
  const nearest = access.literal && key.length <= keyLengthMax ? nearestName(key, short) : undefined
  const shown = short.sort().slice(0, keysShownMax)
  const rest = shown.length < keys.length ? ', …' : ''
  const there = keys.length === 0 ? 'It is empty.' : `It has ${shown.join(', ')}${rest}.`
  return access.key.error(
    access.literal ? `${what} has no ${key}` : `${what} has no such key`,
    nearest === undefined ? there : `Did you mean ${nearest}? ${there}`,
  )
}

function missingItem(what: string, container: readonly Json[], key: Json, access: Access): ExpressionError {
  if (typeof key === 'string') {
    const hint = ['length', 'size', 'count'].includes(key) ? 'Write size(list).' : 'Write list[0] for its first item.'
    return access.key.error(`${what} is a list: it has items, not members with names`, hint)
  }
  if (typeof key !== 'number') return access.key.error(`an index is a number, not ${kindOf(key)}`)
  if (!Number.isInteger(key)) return access.key.error('an index is a whole number', 'floor(x) cuts off the fraction.')
  const count = container.length === 1 ? '1 item' : `${container.length} items`
  return access.key.error(
    `there is no such item: ${what} has ${count}, counted from 0`,
    key < 0 ? 'last(list) gives the last item.' : undefined,
  )
}
