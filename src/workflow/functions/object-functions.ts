import type { Json } from '../../job/json.js'
import { isList, type JsonObject, put, sortedKeys } from '../expression/values.js'
import { type Call, define, defineOfMany, list, object, texts } from './library-function.js'

export const objectFunctions = [
  define('keys', [object('object')], keysOf),
  define('values', [object('object')], (call, given) => keysOf(call, given).map((key) => given[key] as Json)),
  define('entries', [object('object')], (call, given) => keysOf(call, given).map((key) => [key, given[key] as Json])),
  define('fromEntries', [list('entries')], (call, entries) => {
    call.spend(entries.length * stepsOfMember)
    const made: Record<string, Json> = {}
    for (const entry of entries) {
      if (!isList(entry) || entry.length !== 2 || typeof entry[0] !== 'string') {
        throw call.errorAt(0, 'needs pairs like [key, value], with a string as the key')
      }
      put(made, entry[0], entry[1] as Json)
    }
    return made
  }),
  defineOfMany(object('object'), 'merge', (call, objects) => {
    const made: Record<string, Json> = {}
    for (const each of objects) for (const key of namesIn(call, each)) put(made, key, each[key] as Json)
    return made
  }),
  define('pick', [object('object'), texts('keys')], (call, given, wanted) => {
    call.spend(wanted.length * stepsOfMember)
    const made: Record<string, Json> = {}
    for (const key of wanted) if (Object.hasOwn(given, key)) put(made, key, given[key] as Json)
    return made
  }),
  define('omit', [object('object'), texts('keys')], (call, given, unwanted) => {
    call.spend(unwanted.length * stepsOfMember)
    const left = new Set(unwanted)
    const made: Record<string, Json> = {}
    for (const key of namesIn(call, given)) if (!left.has(key)) put(made, key, given[key] as Json)
    return made
  }),
]

/** What it costs to put a member into an object that may have thousands. */
const stepsOfMember = 15

function keysOf(call: Call, given: JsonObject): string[] {
  return sortedKeys(given, call.evaluation, call.place)
}

function namesIn(call: Call, given: JsonObject): string[] {
  const names = Object.keys(given)
  call.spend(names.length * stepsOfMember)
  return names
}
