import { FencepostError } from '../errors.js'
import type { Json } from '../job/json.js'
import { nearestName } from '../task/nearest-name.js'
import type { Parameter } from '../workflow/definition.js'
import { checkedValues } from '../workflow/parameters.js'
import { jsonFrom } from './payload-argument.js'

/** Which options of the command line give the values, as errors name them. */
export interface ValueOptions {
  readonly kind: 'parameter' | 'field'
  /** `--param` */
  readonly one: string
  /** `--params` */
  readonly all: string
}

export interface GivenValues {
  /** `name=value`, as often as there are. */
  readonly each: readonly string[]
  /** JSON with all of them, `-` or `@file`. */
  readonly all: string | undefined
}

type Declared = Readonly<Record<string, Parameter>>

/** What was given by name and as JSON together, the former before the latter; without looking at the declarations. */
export async function givenValues(given: GivenValues, options: ValueOptions): Promise<ReadonlyMap<string, unknown>> {
  const { kind, one, all } = options
  const values = new Map<string, unknown>()
  const texts = new Map<string, string>()
  for (const text of given.each) {
    const [, name, value] = /^([^=]+)=(.*)$/s.exec(text) ?? []
    if (name === undefined || value === undefined) {
      // Whatever stands there may be the value of a secret.
      throw new FencepostError('FP_USAGE', `${one} takes name=value`, {
        hint: `Write ${one} name=value, once for each ${kind}.`,
      })
    }
    if (texts.has(name))
      throw new FencepostError('FP_USAGE', `${one} ${name}=… is there twice`, { hint: 'Keep one of them.' })
    texts.set(name, value)
  }
  if (given.all !== undefined) {
    const json = await jsonFrom(given.all, `the ${kind}s`, `${all} '{"name":"value"}'`)
    if (typeof json !== 'object' || json === null || Array.isArray(json)) {
      throw new FencepostError('FP_USAGE', `${all} takes a JSON object with the names of the ${kind}s`)
    }
    for (const [name, value] of Object.entries(json)) values.set(name, value)
  }
  for (const [name, text] of texts) values.set(name, new Typed(text))
  return values
}

/** A value whose type is that of its declaration. */
class Typed {
  readonly #text: string

  constructor(text: string) {
    this.#text = text
  }

  /** Text that does not fit stays text, so that the check names what was expected. */
  as(type: Parameter['type']): Json {
    if (type === 'string') return this.#text
    const value = parsed(this.#text)
    if (type === null) return value ?? this.#text
    const isNumber = typeof value === 'number' && (type === 'number' || type === 'integer')
    const isOther =
      typeof value === 'boolean'
        ? type === 'boolean'
        : typeof value === 'object' && (type === 'array' || type === 'object')
    return value !== undefined && (isNumber || isOther) ? value : this.#text
  }
}

function parsed(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json
  } catch {
    return undefined
  }
}

/** The values in the types of their declarations, if there are any. */
export function typedValues(given: ReadonlyMap<string, unknown>, declared: Declared): Record<string, unknown> {
  return Object.fromEntries(
    [...given].map(([name, value]) => [name, value instanceof Typed ? value.as(typeOf(name, declared)) : value]),
  )
}

function typeOf(name: string, declared: Declared): Parameter['type'] {
  return Object.hasOwn(declared, name) ? (declared[name]?.type ?? null) : null
}

/** The same, or an error with all that is wrong: never with the value of a secret. */
export function declaredValues(
  given: ReadonlyMap<string, unknown>,
  declared: Declared,
  { kind, one }: ValueOptions,
  code: 'FP_PARAMETERS_INVALID' | 'FP_ANSWER_INVALID',
  whose: string,
): Record<string, unknown> {
  const values = typedValues(given, declared)
  const checked = checkedValues(declared, values, kind)
  if ('values' in checked) return values
  const texts = checked.problems.map(({ name, message }) => `${message}${remedy(name, declared, one)}`)
  throw new FencepostError(code, `${whose}: ${texts.join('; ')}`, { hint: declaredText(declared, kind) })
}

const examples: Readonly<Record<NonNullable<Parameter['type']>, string>> = {
  string: "'some text'",
  number: '1.5',
  integer: '3',
  boolean: 'true',
  array: `'["a","b"]'`,
  object: `'{"a":1}'`,
}

function remedy(name: string, declared: Declared, option: string): string {
  const type = typeOf(name, declared)
  if (type !== null) return `: write ${option} ${name}=${examples[type]}`
  const nearest = Object.hasOwn(declared, name) ? undefined : nearestName(name, Object.keys(declared))
  return nearest === undefined ? '' : `: did you mean ${nearest}?`
}

/** `The parameters are version (string, required), regions (array).` */
function declaredText(declared: Declared, kind: string): string {
  const each = Object.entries(declared).map(([name, { type, required }]) => {
    const notes = [type ?? '', required ? 'required' : ''].filter((note) => note !== '')
    return notes.length === 0 ? name : `${name} (${notes.join(', ')})`
  })
  return each.length === 0 ? `There are no ${kind}s.` : `The ${kind}s are ${each.join(', ')}.`
}

/** What would be typed for these fields, with examples in place of the values. */
export function exampleOptions(declared: Declared, option: string): string {
  return Object.entries(declared)
    .map(([name, { type }]) => `${option} ${name}=${examples[type ?? 'string']}`)
    .join(' ')
}
