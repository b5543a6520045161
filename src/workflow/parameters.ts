import { FencepostError } from '../errors.js'
import { type Json, jsonText } from '../job/json.js'
import { defaults } from '../limits.js'
import type { Parameter } from './definition.js'
import { didYouMean, inWords, listed } from './field.js'

export const parameterTypes = ['string', 'number', 'integer', 'boolean', 'array', 'object'] as const

/** One value that does not fit what was declared, or a name that was not. */
export interface ValueProblem {
  readonly name: string
  readonly message: string
  readonly hint?: string
}

export type CheckedValues =
  | { readonly values: Readonly<Record<string, Json>> }
  | { readonly problems: readonly ValueProblem[] }

/**
 * The values that a run is started with, or a form is answered with, against what was declared: defaults are filled in,
 * and what is optional and not given is null, so that an expression can ask for it. All that is wrong is said at once,
 * and never with the value of a secret.
 */
export function checkedValues(
  declared: Readonly<Record<string, Parameter>>,
  given: unknown,
  kind: 'parameter' | 'field' = 'parameter',
  bytesMax: number = defaults.payloadBytesMax,
): CheckedValues {
  const values = JSON.parse(jsonText(given ?? {}, `the ${kind}s`, bytesMax)) as Json
  if (typeof values !== 'object' || values === null || Array.isArray(values)) {
    const message = `the ${kind}s must be an object with their names, not ${inWords(values)}`
    return {
      problems: [{ name: '', message, hint: `Give each by its name: { ${Object.keys(declared)[0] ?? 'name'}: … }` }],
    }
  }
  const problems: ValueProblem[] = []
  const checked: [string, Json][] = []
  for (const [name, parameter] of Object.entries(declared)) {
    const value = (Object.hasOwn(values, name) ? (values as Record<string, Json>)[name] : undefined) ?? null
    const problem = problemWith(name, parameter, value, kind)
    if (problem) problems.push(problem)
    checked.push([name, value ?? parameter.default ?? null])
  }
  for (const name of Object.keys(values)) {
    if (!Object.hasOwn(declared, name)) problems.push(unknownName(name, Object.keys(declared), kind))
  }
  return problems.length > 0 ? { problems } : { values: Object.fromEntries(checked) }
}

/** The same, for those who cannot go on: throws FP_PARAMETERS_INVALID with everything that is wrong. */
export function parametersOrThrow(
  workflow: { readonly name: string; readonly parameters: Readonly<Record<string, Parameter>> },
  given: unknown,
  bytesMax?: number,
): Readonly<Record<string, Json>> {
  const checked = checkedValues(workflow.parameters, given, 'parameter', bytesMax)
  if ('values' in checked) return checked.values
  const texts = checked.problems.map(({ message }) => message)
  const hints = new Set(checked.problems.flatMap(({ hint }) => hint ?? []))
  throw new FencepostError('FP_PARAMETERS_INVALID', `workflow ${workflow.name}: ${texts.join('; ')}`, {
    ...(hints.size > 0 && { hint: [...hints].join(' ') }),
  })
}

function problemWith(name: string, parameter: Parameter, value: Json, kind: string): ValueProblem | undefined {
  if (value === null) {
    if (!parameter.required) return undefined
    const about = parameter.description === null ? '' : ` (${parameter.description})`
    const type = parameter.type === null ? '' : `, ${inWordsOf[parameter.type]}`
    return { name, message: `the ${kind} ${name} is required${about}`, hint: `Give it${type}.` }
  }
  const expected = typeMismatch(parameter.type, value)
  if (expected === undefined) return undefined
  const instead = parameter.secret ? '' : `, not ${inWords(value)}`
  return { name, message: `the ${kind} ${name} must be ${expected}${instead}` }
}

/** What the type asks for, if the value does not fit it. null stands for no value. */
export function typeMismatch(type: Parameter['type'], value: Json): string | undefined {
  return type === null || value === null || fits[type](value) ? undefined : inWordsOf[type]
}

const fits: Readonly<Record<NonNullable<Parameter['type']>, (value: Json) => boolean>> = {
  string: (value) => typeof value === 'string',
  number: (value) => typeof value === 'number',
  integer: (value) => Number.isSafeInteger(value),
  boolean: (value) => typeof value === 'boolean',
  array: (value) => Array.isArray(value),
  object: (value) => typeof value === 'object' && !Array.isArray(value),
}

const inWordsOf: Readonly<Record<NonNullable<Parameter['type']>, string>> = {
  string: 'text',
  number: 'a number',
  integer: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
}

function unknownName(name: string, names: readonly string[], kind: string): ValueProblem {
  const known = names.length === 0 ? `There are no ${kind}s.` : `The ${kind}s are ${listed(names)}.`
  const nearest = didYouMean(name, names)
  const hint = nearest === undefined ? known : `${nearest} ${known}`
  return { name, message: `there is no ${kind} ${JSON.stringify(name)}`, hint }
}
