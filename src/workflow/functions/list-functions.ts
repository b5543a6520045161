import type { Json } from '../../job/json.js'
import { textSteps } from '../expression/evaluation.js'
import { exact } from '../expression/operators.js'
import {
  canonicalText,
  compareText,
  equal,
  isList,
  isObject,
  type JsonList,
  type JsonObject,
  kindOf,
  sortSteps,
} from '../expression/values.js'
import {
  type Call,
  define,
  defineOfMany,
  list,
  listAtHand,
  optional,
  value,
  valueOf,
  whole,
} from './library-function.js'
import { characterCount, characterIndex } from './text-functions.js'

export const listFunctions = [
  define('size', [valueOf('value', 'a string, a list or an object', isSized)], size),
  define('first', [listAtHand('list')], (_, items) => items[0] ?? null),
  define('last', [listAtHand('list')], (_, items) => items.at(-1) ?? null),
  define('indexOf', [valueOf('value', 'a string or a list', isSequence), value('part')], indexOf),
  define('slice', [listAtHand('list'), whole('from'), optional(whole('to'))], (call, items, from, to) => {
    const taken = items.slice(from, to)
    call.spend(taken.length)
    return taken
  }),
  define('reverse', [list('list')], (_, items) => items.toReversed()),
  define('sort', [list('list')], (call, items) => sortedBy(call, items, items)),
  define('unique', [list('list')], unique),
  define('flatten', [list('list')], flatten),
  defineOfMany(list('list'), 'zip', zip),
  define('chunks', [list('list'), whole('size')], (call, items, length) => {
    if (length < 1) throw call.errorAt(1, 'needs a size of at least 1')
    const count = Math.ceil(items.length / length)
    call.spend(count * stepsOfList)
    return Array.from({ length: count }, (_, i) => items.slice(i * length, (i + 1) * length))
  }),
  define('range', [whole('from'), optional(whole('to'))], (call, from, to) => {
    const [first, end] = to === undefined ? [0, from] : [from, to]
    call.spend(Math.max(0, end - first))
    const made: number[] = []
    for (let i = first; i < end; i++) made.push(i)
    return made
  }),
  define('sum', [list('list')], sum),
  define('min', [list('list')], (call, items) => items[least(call, items, -1)] as Json),
  define('max', [list('list')], (call, items) => items[least(call, items, 1)] as Json),
]

/** What it costs to make a list, besides its items. */
const stepsOfList = 10

function isSequence(given: Json): given is string | JsonList {
  return typeof given === 'string' || isList(given)
}

function isSized(given: Json): given is string | JsonList | JsonObject {
  return isSequence(given) || isObject(given)
}

function size(call: Call, given: string | JsonList | JsonObject): number {
  if (isList(given)) return given.length
  if (typeof given === 'string') {
    call.spend(textSteps(given.length))
    return characterCount(given)
  }
  const { length } = Object.keys(given)
  call.spend(length)
  return length
}

function indexOf(call: Call, given: string | JsonList, part: Json): number {
  if (typeof given !== 'string') return given.findIndex((item) => equal(item, part, call.evaluation, call.place))
  if (typeof part !== 'string') throw call.errorAt(1, `looks for a string in a string, not for ${kindOf(part)}`)
  call.spend(textSteps(given.length))
  return characterIndex(call, given, part)
}

function unique(call: Call, items: JsonList): Json {
  const found = new Map<string, Json>()
  for (const item of items) {
    const key = canonicalText(item, call.evaluation, call.place)
    if (!found.has(key)) found.set(key, item)
  }
  return [...found.values()]
}

function zip(call: Call, lists: readonly JsonList[]): Json {
  const [first, ...others] = lists as [JsonList, ...JsonList[]]
  const odd = others.findIndex(({ length }) => length !== first.length)
  if (odd >= 0) {
    const sizes = `${first.length} and ${others[odd]?.length}`
    throw call.errorAt(odd + 1, `needs lists of the same length, not of ${sizes} items`)
  }
  call.spend(first.length * (stepsOfList + lists.length))
  return first.map((_, i) => lists.map((each) => each[i] as Json))
}

function flatten(call: Call, items: JsonList): Json {
  const made: Json[] = []
  for (const item of items) {
    if (!isList(item)) made.push(item)
    else {
      call.spend(item.length)
      for (const each of item) made.push(each)
    }
  }
  return made
}

function sum(call: Call, items: JsonList): number {
  let total = 0
  for (const item of items) {
    if (typeof item !== 'number') throw call.errorAt(0, `adds numbers, and one item is ${kindOf(item)}`)
    total = exact(total + item, call.place, Number.isSafeInteger(total) && Number.isSafeInteger(item))
  }
  return total
}

/** Where the least item is, or with `sign` 1 the greatest. */
function least(call: Call, items: JsonList, sign: 1 | -1): number {
  if (items.length === 0) throw call.errorAt(0, 'needs at least one item', 'Ask size(list) > 0 first.')
  const compare = comparison(call, items)
  let found = 0
  for (let i = 1; i < items.length; i++) {
    if (compare(items[i] as Json, items[found] as Json) * sign > 0) found = i
  }
  return found
}

/** The items in the order of their keys; those with the same key stay as they were. */
export function sortedBy(call: Call, items: JsonList, keys: JsonList): JsonList {
  call.spend(sortSteps(items.length))
  const compare = comparison(call, keys)
  const order = items.map((_, i) => i).sort((a, b) => compare(keys[a] as Json, keys[b] as Json))
  return order.map((i) => items[i] as Json)
}

function comparison(call: Call, items: JsonList): (a: Json, b: Json) => number {
  if (items.every((item) => typeof item === 'number')) return (a, b) => (a as number) - (b as number)
  if (items.every((item) => typeof item === 'string')) return (a, b) => compareStrings(call, a as string, b as string)
  const odd = items.find((item) => typeof item !== 'number' && typeof item !== 'string')
  const found = odd === undefined ? 'not the one with the other' : `and here is ${kindOf(odd)}`
  throw call.errorAt(0, `compares numbers or strings, ${found}`)
}

function compareStrings(call: Call, a: string, b: string): number {
  call.spend(Math.floor(Math.min(a.length, b.length) / 8)) // the rest is in sortSteps
  return compareText(a, b)
}
