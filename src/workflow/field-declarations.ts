import type { Json } from '../job/json.js'
import { limits } from '../limits.js'
import type { Parameter } from './definition.js'
import { type Elsewhere, type Field, inWords, isTemplate, isText, listed, type Shape, suggestion } from './field.js'
import { nameProblem } from './names.js'
import { parameterTypes, typeMismatch } from './parameters.js'

const shape: Shape = {
  what: 'a parameter',
  keys: ['type', 'required', 'default', 'secret', 'description'],
  elsewhere: {
    optional: 'Leave it out: a parameter is optional unless it says required: true.',
    value: 'The value that holds if none is given is called default.',
    enum: 'Only types are checked. Check the value in the first task, or in a condition.',
    help: 'description',
    sensitive: 'secret',
    items: 'Only the type array itself is checked, not its members.',
    properties: 'Only the type object itself is checked, not its members.',
  },
}

const typesElsewhere: Elsewhere = {
  str: 'string',
  text: 'string',
  int: 'integer',
  long: 'integer',
  float: 'number',
  double: 'number',
  decimal: 'number',
  bool: 'boolean',
  list: 'array',
  map: 'object',
  dict: 'object',
  any: 'Leave the type out: then every value is taken.',
}

/** `parameters`, or the `form` of an approval: names with what is expected under each. */
export function compileFields(field: Field, kind: 'parameter' | 'field'): Readonly<Record<string, Parameter>> {
  if (!field.isGiven) return {}
  const hint = `Write each ${kind} with its type: version: { type: string, required: true }`
  const entries = field.entries(`a mapping of ${kind}s`, hint) ?? []
  if (entries.length > limits.workflowFieldsMax) {
    field.addAtKey(
      `there are ${entries.length} ${kind}s, the limit is ${limits.workflowFieldsMax}`,
      'Put several into one of type object.',
    )
  }
  for (const [name, each] of entries) {
    const problem = nameProblem(name, 'member', `a ${kind}`)
    if (problem) each.addAtKey(problem.message, problem.hint)
  }
  return Object.fromEntries(entries.map(([name, each]) => [name, compileField(each, kind)]))
}

function compileField(field: Field, kind: 'parameter' | 'field'): Parameter {
  const free: Parameter = { type: null, required: false, secret: false, description: null }
  if (!field.isGiven) return free
  if (isText(field.value)) return { ...free, type: compileType(field, field.label) }
  if (!field.hasShape({ ...shape, what: `a ${kind}` }, shortHint(field))) return free
  const type = field.at('type').isGiven ? compileType(field.at('type')) : null
  const required = field.at('required').flag(false)
  const secret = field.at('secret').flag(false)
  const description = field.at('description').isGiven ? (field.at('description').text() ?? null) : null
  const declared: Parameter = { type, required, secret, description }
  const given = field.at('default')
  if (given.value === undefined) return declared
  checkDefault(given, declared, kind)
  return { ...declared, default: given.value as Json }
}

function checkDefault(field: Field, declared: Parameter, kind: 'parameter' | 'field'): void {
  if (declared.required) {
    field.addAtKey(
      `a required ${kind} cannot have a default`,
      'Take out one of the two: with a default it never has to be given.',
    )
  }
  if (declared.secret) {
    field.addAtKey(
      `a secret ${kind} cannot have a default`,
      'The definition is stored for all to read. Pass the secret when the run is started.',
    )
  } else if (kind === 'parameter' && JSON.stringify(field.value).includes('{{')) {
    field.add('a default is not evaluated: it cannot hold an expression', 'Compute the value in vars, and use that.')
  } else if (!isTemplate(field.value)) {
    const expected = typeMismatch(declared.type, field.value as Json)
    const hint = declared.type === null ? '' : defaultHint(declared.type, field.value)
    if (expected !== undefined) field.add(`the default must be ${expected}, not ${inWords(field.value)}`, hint)
  }
}

function defaultHint(type: NonNullable<Parameter['type']>, value: unknown): string {
  if (type === 'string' && typeof value !== 'object') return 'Put it in quotes; without them it is no text.'
  if (type === 'boolean') return 'Write true or false, without quotes.'
  if (type === 'array' && isText(value)) return `Write it as a list: [${value}]`
  const isNumber = isText(value) && value.trim() !== '' && Number.isFinite(Number(value))
  return isNumber ? 'Leave out the quotes, or change the type.' : 'Change the value or the type.'
}

/** `shortFor` is the name, if the type stands there alone. */
function compileType(field: Field, shortFor?: string): Parameter['type'] {
  const found = parameterTypes.find((type) => type === field.value)
  if (found !== undefined) return found
  const written = isText(field.value) ? field.value : ''
  const types = `The types are ${listed(parameterTypes)}.`
  const hint = suggestion(written.toLowerCase(), parameterTypes, typesElsewhere)
  const asDefault =
    shortFor === undefined ? '' : ` For a default write ${shortFor}: { default: ${JSON.stringify(written)} }.`
  field.add(`${inWords(field.value)} is not a type`, hint === undefined ? `${types}${asDefault}` : `${hint} ${types}`)
  return null
}

function shortHint(field: Field): string {
  const value = Array.isArray(field.value) ? 'array' : typeof field.value
  return `Write its type: ${field.label}: ${value === 'number' || value === 'boolean' || value === 'array' ? value : 'string'}, or ${field.label}: { default: … }.`
}
