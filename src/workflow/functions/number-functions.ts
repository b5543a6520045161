import type { Json } from '../../job/json.js'
import { textSteps } from '../expression/evaluation.js'
import { exact } from '../expression/operators.js'
import { type Call, define, number, optional, valueOf, whole } from './library-function.js'

// Math’s functions may give -0, which JSON does not keep: + 0 makes it 0.

export const numberFunctions = [
  define('abs', [number('number')], (_, given) => Math.abs(given)),
  define('floor', [number('number')], (_, given) => Math.floor(given) + 0),
  define('ceil', [number('number')], (_, given) => Math.ceil(given) + 0),
  define('round', [number('number'), optional(whole('digits'))], round),
  define('int', [valueOf('value', 'a number or a string', isNumberOrText)], (call, given) => {
    if (typeof given === 'number') return Math.trunc(given) + 0
    return exact(numberIn(call, given, /^[+-]?\d{1,50}$/, 'a whole number'), call.place, true)
  }),
  define('double', [valueOf('value', 'a number or a string', isNumberOrText)], (call, given) => {
    if (typeof given === 'number') return given
    const decimal = /^[+-]?(\d{1,400}(\.\d{0,400})?|\.\d{1,400})(e[+-]?\d{1,5})?$/i
    return exact(numberIn(call, given, decimal, 'a number'), call.place, false)
  }),
]

/** What it costs to read a number from its text. */
const stepsOfReading = 20

function isNumberOrText(given: Json): given is number | string {
  return typeof given === 'number' || typeof given === 'string'
}

function numberIn(call: Call, given: string, form: RegExp, what: string): number {
  call.spend(stepsOfReading + textSteps(given.length))
  const trimmed = given.trim()
  if (!form.test(trimmed)) throw call.errorAt(0, `cannot read this string as ${what}`)
  return Number(trimmed)
}

/** Half a unit goes away from zero. By the decimal digits of the number: 1.005 becomes 1.01. */
function round(call: Call, given: number, digits = 0): number {
  if (digits < 0 || digits > 15) throw call.errorAt(1, 'rounds to 0 to 15 digits')
  if (Number.isInteger(given)) return given
  call.spend(stepsOfReading * 3)
  const rounded = shifted(Math.round(shifted(Math.abs(given), digits)), -digits)
  return Math.sign(given) * rounded + 0
}

/** The decimal point moved: times ten to the power of `digits`, without the error of a multiplication. */
function shifted(given: number, digits: number): number {
  const [mantissa, exponent = '0'] = String(given).split('e')
  return Number(`${mantissa}e${Number(exponent) + digits}`)
}
