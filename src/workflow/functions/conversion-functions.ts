import type { Json } from '../../job/json.js'
import { canonicalText, checkJson, rendered } from '../expression/values.js'
import { type Call, define, number, text, value } from './library-function.js'

export const conversionFunctions = [
  define('string', [value('value')], (call, given) => rendered(given, call.evaluation, call.place)),
  define('toJson', [value('value')], (call, given) => canonicalText(given, call.evaluation, call.place)),
  define('fromJson', [text('text')], fromJson),
  define('toEpochMs', [text('time')], (call, given) => {
    call.spend(stepsOfTime)
    const ms = isoForm.test(given) ? Date.parse(given) : Number.NaN
    if (Number.isNaN(ms) || !isDay(given.slice(0, 10))) {
      throw call.errorAt(0, 'cannot read this string as a time', timeHint)
    }
    return ms
  }),
  define('fromEpochMs', [number('ms')], (call, given) => {
    call.spend(stepsOfTime)
    const date = new Date(given)
    if (Number.isNaN(date.getTime())) throw call.errorAt(0, 'needs milliseconds since 1970, and this is out of range')
    return date.toISOString()
  }),
]

/** What it costs to read or write a time. */
const stepsOfTime = 100

/** With its zone: a time without one would be another moment on another machine. */
const isoForm = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)$/
const timeHint = "Write it with its zone, like '2026-01-31T09:00:00Z' or '2026-01-31T10:00:00+01:00'."

/** Date.parse takes February 30 for March 1. */
function isDay(date: string): boolean {
  return new Date(`${date}T00:00:00Z`).toISOString().startsWith(date)
}

function fromJson(call: Call, given: string): Json {
  call.spend(2 * given.length)
  let read: Json
  try {
    read = JSON.parse(given) as Json
  } catch {
    throw call.errorAt(0, 'cannot read this string as JSON')
  }
  checkJson(read, call.evaluation, call.place, 0) // 1e999 would be Infinity
  return read
}
