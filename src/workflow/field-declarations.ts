import type { Json } from '../job/json.js'
import { limits } from '../limits.js'
import type { Parameter } from './definition.js'
import { didYouMean, type Field, inWords, isText, listed, type Shape } from './field.js'
import { parameterTypes, typeMismatch } from './parameters.js'

const shape: Shape = {
  what: 'a parameter',
  keys: ['type', 'required', 'default', 'secret', 'description'],
  elsewhere: {
    optional: 'Leave it out: a parameter is optional unless it says required: true.',
    value: 'The value that holds if none is given is called default.',
    enum: 'Only types are checked. Check the value in the first task, or in a condition.',
    help: 'Here it is called description.',
    sensitive: 'Here it is called secret.',
    items: 'Only the type array itself is checked, not its members.',
    properties: 'Only the type object itself is checked, not its members.',
  },
}

const typesElsewhere: Readonly<Record<string, string>> = {
  str: 'Here it is called string.',
  text: 'Here it is called string.',
  int: 'Here it is called integer.',
  long: 'Here it is called integer.',
  float: 'Here it is called number.',
  double: 'Here it is called number.',
  decimal: 'Here it is called number.',
  bool: 'Here it is called boolean.',
  list: 'Here it is called array.',
  map: 'Here it is called object.',
  dict: 'Here it is called object.',
  any: 'Leave the type out: then every value is taken.',
}

/** `parameters`, or the `form` of an approval: names with what is expected under each. */
export function compileFields(
  field: Field,
  kind: 'parameter' | 'field',
  isTemplate: (value: unknown) => boolean,
): Readonly<Record<string, Parameter>> {
  if (!field.isGiven) return {}
  const hint = `Write each ${kind} with its type: version: { type: string, required: true }`
  const entries = field.entries(`a mapping of ${kind}s`, hint) ?? []
  if (entries.length > limits.workflowFieldsMax) {
    field.addAtKey(
      `there are ${entries.length} ${kind}s, the limit is ${limits.workflowFieldsMax}`,
      'Put several into one of type object.',
    )
  }
  for (const [name, each] of entries) checkName(name, each, kind)
  return Object.fromEntries(entries.map(([name, each]) => [name, compileField(each, kind, isTemplate)]))
}

/** Names that can be written after a dot in an expression. */
export function checkName(name: string, field: Field, kind: string): void {
  const max = limits.workflowTaskNameLengthMax
  if (name.length > max) {
    field.addAtKey(`the name of a ${kind} has ${name.length} characters, the limit is ${max}`, 'Choose a shorter one.')
  } else if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) {
    const better = name.replaceAll(/[^A-Za-z0-9_]+/g, '_').replace(/^(?=\d)/, '_')
    const suggestion = /[A-Za-z0-9]/.test(better) ? ` For example ${better}.` : ''
    field.addAtKey(
      `${JSON.stringify(name)} cannot be the name of a ${kind}`,
      `A name has letters, digits and _, and does not begin with a digit: expressions write it after a dot.${suggestion}`,
    )
  }
}

function compileField(field: Field, kind: 'parameter' | 'field', isTemplate: (value: unknown) => boolean): Parameter {
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
  checkDefault(given, declared, isTemplate(given.value), kind)
  return { ...declared, default: given.value as Json }
}

function checkDefault(field: Field, declared: Parameter, isTemplate: boolean, kind: 'parameter' | 'field'): void {
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
  } else if (isTemplate && kind === 'parameter') {
    field.add('a default is not evaluated: it cannot hold an expression', 'Compute the value in vars, and use that.')
  } else if (!isTemplate && typeMismatch(declared.type, field.value as Json)) {
    const hint = isText(field.value) ? 'Leave out the quotes, or change the type.' : 'Change the value or the type.'
    field.add(
      `the default must be ${typeMismatch(declared.type, field.value as Json)}, not ${inWords(field.value)}`,
      hint,
    )
  }
}

/** `shortFor` is the name, if the type stands there alone. */
function compileType(field: Field, shortFor?: string): Parameter['type'] {
  const found = parameterTypes.find((type) => type === field.value)
  if (found !== undefined) return found
  const written = isText(field.value) ? field.value : ''
  const types = `The types are ${listed(parameterTypes)}.`
  const lower = written.toLowerCase()
  const nearest = Object.hasOwn(typesElsewhere, lower) ? typesElsewhere[lower] : didYouMean(written, parameterTypes)
  const isValue = nearest === undefined && shortFor !== undefined
  const hint = isValue
    ? `${types} For a default write ${shortFor}: { default: ${JSON.stringify(written)} }.`
    : `${nearest ?? ''} ${types}`.trim()
  field.add(`${inWords(field.value)} is not a type`, hint)
  return null
}

function shortHint(field: Field): string {
  const value = Array.isArray(field.value) ? 'array' : typeof field.value
  return `Write its type: ${field.label}: ${value === 'number' || value === 'boolean' || value === 'array' ? value : 'string'}, or ${field.label}: { default: … }.`
}
