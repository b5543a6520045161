import type { Json } from '../../job/json.js'
import { limits } from '../../limits.js'
import { type Evaluation, textSteps } from './evaluation.js'
import type { Place } from './place.js'

export type JsonList = readonly Json[]
export type JsonObject = { readonly [key: string]: Json }

export function isList(value: Json): value is JsonList {
  return Array.isArray(value)
}

export function isObject(value: Json): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The kind of a value in a message. */
export function kindOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'a list'
  switch (typeof value) {
    case 'object':
      return 'an object'
    case 'string':
    case 'number':
    case 'boolean':
      return `a ${typeof value}`
    default:
      return 'no JSON'
  }
}

/**
 * The keys in the order of their names. Not as they were written: PostgreSQL keeps the keys of an object in an order of
 * its own, and an expression must not give something else once a value was stored.
 */
export function sortedKeys(object: JsonObject, evaluation: Evaluation, place: Place): string[] {
  const keys = Object.keys(object)
  evaluation.spend(sortSteps(keys.length), place)
  return keys.sort(compareText)
}

export function sortSteps(length: number): number {
  return length * Math.ceil(Math.log2(length + 2))
}

/** By code points: UTF-16 would put an emoji before U+FF01. */
export function compareText(a: string, b: string): number {
  if (a === b) return 0
  const length = Math.min(a.length, b.length)
  for (let i = 0; i < length; i++) {
    const x = a.charCodeAt(i)
    const y = b.charCodeAt(i)
    if (x !== y) return isSurrogate(x) === isSurrogate(y) ? x - y : isSurrogate(x) ? 1 : -1
  }
  return a.length - b.length
}

function isSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdfff
}

/** Sets a member whatever its name is: assigning __proto__ would set the prototype. */
export function put(object: Record<string, Json>, key: string, value: Json): void {
  if (key === '__proto__') {
    Object.defineProperty(object, key, { value, enumerable: true, writable: true, configurable: true })
  } else object[key] = value
}

export function equal(a: Json, b: Json, evaluation: Evaluation, place: Place, depth = 0): boolean {
  evaluation.spend(typeof a === 'string' ? textSteps(a.length) : isList(a) || isObject(a) ? 3 : 1, place)
  if (a === b) return true
  checkDepth(depth, place)
  if (isList(a)) {
    return isList(b) && a.length === b.length && a.every((x, i) => equal(x, b[i] as Json, evaluation, place, depth + 1))
  }
  if (!isObject(a) || !isObject(b)) return false
  const keys = Object.keys(a)
  if (keys.length !== Object.keys(b).length) return false
  return keys.every(
    (key) => Object.hasOwn(b, key) && equal(a[key] as Json, b[key] as Json, evaluation, place, depth + 1),
  )
}

/** JSON text, the same for equal values. */
export function canonicalText(value: Json, evaluation: Evaluation, place: Place, depth = 0): string {
  evaluation.spend(10, place)
  if (isList(value)) {
    checkDepth(depth, place)
    return `[${value.map((item) => canonicalText(item, evaluation, place, depth + 1)).join()}]`
  }
  if (isObject(value)) {
    checkDepth(depth, place)
    const members = sortedKeys(value, evaluation, place).map(
      (key) => `${quoted(key, evaluation, place)}:${canonicalText(value[key] as Json, evaluation, place, depth + 1)}`,
    )
    return `{${members.join()}}`
  }
  if (typeof value === 'string') return quoted(value, evaluation, place)
  checkPlain(value, place)
  return JSON.stringify(value)
}

function quoted(text: string, evaluation: Evaluation, place: Place): string {
  evaluation.spend(8 + 2 * textSteps(text.length), place)
  return JSON.stringify(text)
}

/** As a template renders it and string() gives it: text as it is, anything else as JSON. */
export function rendered(value: Json, evaluation: Evaluation, place: Place): string {
  if (typeof value !== 'string') return canonicalText(value, evaluation, place)
  evaluation.spend(textSteps(value.length), place)
  return value
}

/**
 * Refuses what could not be stored as JSON, before it leaves the expression. Counted like all work, because a few lists
 * that hold each other many times over would be exponentially much text.
 */
export function checkJson(value: Json, evaluation: Evaluation, place: Place, depth: number): void {
  evaluation.spend(typeof value === 'string' ? 1 + textSteps(value.length) : 2, place)
  if (isList(value)) {
    checkDepth(depth, place)
    for (const item of value) checkJson(item, evaluation, place, depth + 1)
  } else if (isObject(value)) {
    checkDepth(depth, place)
    const prototype: unknown = Object.getPrototypeOf(value)
    if (prototype !== null && Object.getPrototypeOf(prototype) !== null) {
      throw place.error('this gives something that is not JSON')
    }
    for (const key of Object.keys(value)) {
      checkJson(key, evaluation, place, depth + 1)
      checkJson(value[key] as Json, evaluation, place, depth + 1)
    }
  } else checkPlain(value, place)
}

function checkPlain(value: Json, place: Place): void {
  switch (typeof value) {
    case 'string':
      if (value.includes('\u0000')) throw place.error('this gives text with the character U+0000')
      if (!value.isWellFormed()) throw place.error('this gives text with half a character (a lone surrogate)')
      return
    case 'number':
      if (!Number.isFinite(value)) throw place.error('this gives a number that is too large for JSON')
      return
    case 'boolean':
      return
    default:
      if (value !== null) throw place.error('this gives something that is not JSON')
  }
}

function checkDepth(depth: number, place: Place): void {
  if (depth < limits.payloadDepthMax) return
  throw place.error(`this is nested deeper than ${limits.payloadDepthMax} levels`)
}
