import type { Json } from '../../job/json.js'
import { Recent } from '../expression/recent.js'
import type { ExpressionError } from '../expression-error.js'
import { type Evaluation, textSteps } from '../expression/evaluation.js'
import { Pattern } from '../expression/pattern.js'
import { PatternError } from '../expression/pattern-parser.js'
import type { Place } from '../expression/place.js'
import { isList, isObject, type JsonList, type JsonObject, kindOf } from '../expression/values.js'

/** One call of a function of the library. */
export class Call {
  readonly name: string
  readonly place: Place
  readonly argumentPlaces: readonly Place[]
  readonly evaluation: Evaluation

  constructor(name: string, place: Place, argumentPlaces: readonly Place[], evaluation: Evaluation) {
    this.name = name
    this.place = place
    this.argumentPlaces = argumentPlaces
    this.evaluation = evaluation
  }

  spend(steps: number): void {
    this.evaluation.spend(steps, this.place)
  }

  /** About one argument. */
  errorAt(argument: number, problem: string, hint?: string): ExpressionError {
    return (this.argumentPlaces[argument] ?? this.place).error(`${this.name}() ${problem}`, hint)
  }
}

/** What a function takes in one place: it checks the value, and pays for reading it. */
export interface Parameter<Value> {
  readonly name: string
  readonly optional: boolean
  read(value: Json, call: Call, argument: number): Value
}

export interface LibraryFunction {
  readonly name: string
  /** As the documentation and messages write it: round(number, digits?). */
  readonly signature: string
  readonly argumentsMin: number
  readonly argumentsMax: number
  /** Checks one argument, also before there is a call: what is written as a literal is checked when it is compiled. */
  check(value: Json, call: Call, argument: number): void
  run(call: Call, values: readonly Json[]): Json
}

type Values<Parameters extends readonly Parameter<unknown>[]> = {
  [Index in keyof Parameters]: Parameters[Index] extends Parameter<infer Value> ? Value : never
}

export function define<const Parameters extends readonly Parameter<unknown>[]>(
  name: string,
  parameters: Parameters,
  run: (call: Call, ...values: Values<Parameters>) => Json,
): LibraryFunction {
  return {
    name,
    signature: `${name}(${parameters.map((each) => each.name + (each.optional ? '?' : '')).join(', ')})`,
    argumentsMin: parameters.filter((each) => !each.optional).length,
    argumentsMax: parameters.length,
    check: (value, call, argument) => void parameters[argument]?.read(value, call, argument),
    run: (call, values) => {
      const read = values.map((value, i) => (parameters[i] as Parameter<unknown>).read(value, call, i))
      return run(call, ...(read as Values<Parameters>))
    },
  }
}

/** A function of two or more values of one sort. */
export function defineOfMany<Value>(
  parameter: Parameter<Value>,
  name: string,
  run: (call: Call, values: readonly Value[]) => Json,
): LibraryFunction {
  return {
    name,
    signature: `${name}(${parameter.name}, ${parameter.name}, …)`,
    argumentsMin: 2,
    argumentsMax: Infinity,
    check: (value, call, argument) => void parameter.read(value, call, argument),
    run: (call, values) =>
      run(
        call,
        values.map((value, i) => parameter.read(value, call, i)),
      ),
  }
}

export function optional<Value>(parameter: Parameter<Value>): Parameter<Value | undefined> {
  return { ...parameter, optional: true }
}

export const value = (name: string): Parameter<Json> => required(name, (given) => given)

/** Of several types. */
export const valueOf = <Value extends Json>(
  name: string,
  what: string,
  is: (given: Json) => given is Value,
): Parameter<Value> =>
  required(name, (given, call, argument) => {
    if (is(given)) return given
    throw call.errorAt(argument, `needs ${what} here, not ${kindOf(given)}`)
  })

export const text = (name: string): Parameter<string> =>
  required(name, (given, call, argument) => {
    if (typeof given !== 'string') {
      const hint = typeof given === 'number' ? 'string(x) makes a string of it.' : undefined
      throw call.errorAt(argument, `needs a string here, not ${kindOf(given)}`, hint)
    }
    call.spend(textSteps(given.length))
    return given
  })

export const number = (name: string): Parameter<number> =>
  required(name, (given, call, argument) => {
    if (typeof given === 'number') return given
    const hint = typeof given === 'string' ? 'int(text) and double(text) read a number from a string.' : undefined
    throw call.errorAt(argument, `needs a number here, not ${kindOf(given)}`, hint)
  })

export const whole = (name: string): Parameter<number> =>
  required(name, (given, call, argument) => {
    if (typeof given === 'number' && Number.isSafeInteger(given)) return given
    const found = typeof given === 'number' ? 'one with a fraction' : kindOf(given)
    throw call.errorAt(argument, `needs a whole number here, not ${found}`)
  })

/** A list that the function goes through. */
export const list = (name: string): Parameter<JsonList> =>
  required(name, (given, call, argument) => {
    const read = readList(given, call, argument)
    call.spend(read.length)
    return read
  })

/** A list of which the function looks at single items only: it is not paid for. */
export const listAtHand = (name: string): Parameter<JsonList> => required(name, readList)

export const texts = (name: string): Parameter<readonly string[]> =>
  required(name, (given, call, argument) => {
    const read = readList(given, call, argument)
    call.spend(read.length)
    if (read.every((item) => typeof item === 'string')) return read
    throw call.errorAt(argument, 'needs a list of strings here, and one item is none')
  })

export const object = (name: string): Parameter<JsonObject> =>
  required(name, (given, call, argument) => {
    if (!isObject(given)) throw call.errorAt(argument, `needs an object here, not ${kindOf(given)}`)
    return given
  })

const patternsKept = new Recent<Pattern>(20_000)

export const pattern = (name: string): Parameter<Pattern> =>
  required(name, (given, call, argument) => {
    const source = text(name).read(given, call, argument)
    try {
      return patternsKept.get(source, () => new Pattern(source, (steps) => call.spend(steps)))
    } catch (error) {
      if (error instanceof PatternError) throw call.errorAt(argument, `cannot use this pattern: ${error.message}`)
      throw error
    }
  })

function required<Value>(name: string, read: Parameter<Value>['read']): Parameter<Value> {
  return { name, optional: false, read }
}

function readList(given: Json, call: Call, argument: number): JsonList {
  if (isList(given)) return given
  throw call.errorAt(argument, `needs a list here, not ${kindOf(given)}`)
}
