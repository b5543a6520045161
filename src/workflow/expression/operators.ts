import type { Json } from '../../job/json.js'
import { type Evaluation, textSteps } from './evaluation.js'
import type { Place } from './place.js'
import { compareText, equal, isList, isObject, kindOf } from './values.js'

/** Applies an operator to the values of its two sides; `place` is the whole operation. */
export type Operator = (left: Json, right: Json, evaluation: Evaluation, place: Place) => Json

export const operators = {
  '+': add,
  '-': numeric('-', (a, b) => a - b),
  '*': numeric('*', (a, b) => a * b),
  '/': (left, right, evaluation, place) => {
    if (right === 0) throw place.error('division by zero')
    return divide(left, right, evaluation, place)
  },
  '%': (left, right, evaluation, place) => {
    if (right === 0) throw place.error('division by zero')
    return remainder(left, right, evaluation, place)
  },
  '==': equal,
  '!=': (left, right, evaluation, place) => !equal(left, right, evaluation, place),
  '<': ordered('<', (order) => order < 0),
  '<=': ordered('<=', (order) => order <= 0),
  '>': ordered('>', (order) => order > 0),
  '>=': ordered('>=', (order) => order >= 0),
  in: isIn,
} as const satisfies Readonly<Record<string, Operator>>

/**
 * JSON knows one kind of number, so there is one here: 7 / 2 is 3.5, whichever way the 7 came. Whole numbers are exact
 * up to 2^53; a sum or product of whole numbers beyond that is refused rather than rounded.
 */
function numeric(symbol: string, apply: (a: number, b: number) => number): Operator {
  return (left, right, _, place) => {
    if (typeof left !== 'number' || typeof right !== 'number') {
      throw place.error(
        `${symbol} needs two numbers, not ${kindOf(left)} and ${kindOf(right)}`,
        numberHint(left, right),
      )
    }
    return exact(apply(left, right), place, Number.isSafeInteger(left) && Number.isSafeInteger(right))
  }
}

function numberHint(left: Json, right: Json): string | undefined {
  return typeof left === 'string' || typeof right === 'string'
    ? 'int(text) and double(text) read a number from a string.'
    : undefined
}

const divide = numeric('/', (a, b) => a / b)
const remainder = numeric('%', (a, b) => a % b)
const plus = numeric('+', (a, b) => a + b)

/** A number as JSON has them: finite, and without a negative zero, which would not survive being stored. */
export function exact(value: number, place: Place, ofWholeNumbers: boolean): number {
  if (!Number.isFinite(value)) throw place.error('the number is too large')
  if (ofWholeNumbers && Number.isInteger(value) && !Number.isSafeInteger(value)) {
    throw place.error('the whole number is too large to be exact', 'Beyond 9007199254740991, keep it as a string.')
  }
  return value + 0
}

function add(left: Json, right: Json, evaluation: Evaluation, place: Place): Json {
  if (typeof left === 'number' && typeof right === 'number') return plus(left, right, evaluation, place)
  if (typeof left === 'string' && typeof right === 'string') {
    evaluation.spend(textSteps(left.length + right.length), place)
    return left + right
  }
  if (isList(left) && isList(right)) {
    evaluation.spend(left.length + right.length, place)
    return [...left, ...right]
  }
  const text = typeof left === 'string' || typeof right === 'string'
  throw place.error(
    `+ cannot join ${kindOf(left)} and ${kindOf(right)}`,
    text
      ? 'string(x) makes a string of anything.'
      : isList(left)
        ? 'To add one item to a list, write list + [item].'
        : isObject(left) && isObject(right)
          ? 'merge(a, b) joins objects.'
          : undefined,
  )
}

function ordered(symbol: string, holds: (order: number) => boolean): Operator {
  return (left, right, evaluation, place) => {
    if (typeof left === 'number' && typeof right === 'number') return holds(left < right ? -1 : left > right ? 1 : 0)
    if (typeof left === 'string' && typeof right === 'string') {
      evaluation.spend(textSteps(Math.min(left.length, right.length)), place)
      return holds(compareText(left, right))
    }
    const problem = `${symbol} compares two numbers or two strings, not ${kindOf(left)} and ${kindOf(right)}`
    throw place.error(problem, numberHint(left, right))
  }
}

function isIn(left: Json, right: Json, evaluation: Evaluation, place: Place): boolean {
  if (isList(right)) return right.some((item) => equal(left, item, evaluation, place))
  if (!isObject(right)) {
    throw place.error(
      `“in” looks into a list or the keys of an object, not into ${kindOf(right)}`,
      typeof right === 'string' ? 'contains(text, part) looks into a string.' : undefined,
    )
  }
  if (typeof left !== 'string') throw place.error(`a key of an object is a string, not ${kindOf(left)}`)
  return Object.hasOwn(right, left)
}
