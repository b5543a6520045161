import type { Json } from '../job/json.js'
import { compileFields } from './field-declarations.js'
import { didYouMean, durationOf, type Field, isTemplate, isText, listed, type Shape } from './field.js'

export function asGiven(field: Field): Json {
  return (field.value ?? null) as Json
}

export function compileNothing(field: Field): Json {
  if (field.isGiven)
    field.addAtKey('core.noop takes no input', 'Take input out, or use core.echo, which returns its input.')
  return null
}

const failShape: Shape = {
  what: 'the input of core.fail',
  keys: ['message', 'code'],
  elsewhere: { error: 'message', reason: 'message' },
}

export function compileFailure(input: Field): Json {
  const hint = 'Write input: { message: … }; it becomes the error of the task.'
  if (!hasInput(input, failShape, 'core.fail needs a message', hint)) return null
  if (input.at('message').value === undefined) input.add('core.fail needs a message', hint)
  else input.at('message').text()
  if (input.at('code').isGiven) input.at('code').text()
  return asGiven(input)
}

const sleepShape: Shape = {
  what: 'the input of core.sleep',
  keys: ['for', 'until'],
  elsewhere: {
    duration: 'for',
    seconds: 'Write the duration with its unit: for: 30s.',
    time: 'Write for: 30s, or until: and a time.',
    delay: 'for',
  },
}

export function compileSleep(input: Field): Json {
  const hint = 'Write input: { for: 5m }, or input: { until: 2030-01-31T18:00:00Z }.'
  if (!hasInput(input, sleepShape, 'core.sleep does not say how long', hint)) return null
  const duration = input.at('for')
  const until = input.at('until')
  if (duration.value !== undefined && until.value !== undefined) {
    until.addAtKey('core.sleep has both for and until', 'Keep one of them.')
  }
  const isKnown = Object.keys(input.value as object).every((key) => sleepShape.keys.includes(key))
  if (duration.value === undefined && until.value === undefined && isKnown)
    input.add('core.sleep does not say how long', hint)
  if (duration.value !== undefined && !isTemplate(duration.value)) duration.durationMs()
  if (until.value !== undefined) checkMoment(until)
  return asGiven(input)
}

/** A moment is the same for every reader: with its time zone, or a number of milliseconds. */
const moment = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2}))?$/

export function checkMoment(field: Field): void {
  const { value } = field
  if (isTemplate(value) || (typeof value === 'number' && Number.isSafeInteger(value))) return
  if (isText(value) && moment.test(value) && !Number.isNaN(Date.parse(value))) return
  if (isText(value) && durationOf(value) !== undefined) {
    field.refuse('a time', 'That is a duration. To wait that long, write action: core.sleep with input: { for: … }.')
  } else if (isText(value) && moment.test(`${value.replace(' ', 'T')}Z`)) {
    field.refuse(
      'a time with its zone',
      `Write ${value.replace(' ', 'T')}Z for UTC, or end it with an offset such as +01:00.`,
    )
  } else field.refuse('a time', 'Write it as 2030-01-31T18:00:00Z, or as an expression.')
}

const httpKeys = ['method', 'url', 'headers', 'body']
const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

export function compileHttp(input: Field): Json {
  const hint = 'Write input: { method: GET, url: https://… }.'
  if (!input.isGiven) {
    input.addAtKey('core.http needs a url', hint)
    return null
  }
  const entries = input.entries('a mapping with method, url, headers and body', hint)
  if (!entries) return null
  for (const [key, member] of entries) {
    const nearest = httpKeys.includes(key) ? undefined : didYouMean(key, httpKeys)
    if (nearest !== undefined) member.addAtKey(`unknown key ${JSON.stringify(key)} in the input of core.http`, nearest)
  }
  const url = input.at('url')
  if (url.value === undefined) input.add('core.http needs a url', hint)
  else {
    const text = url.text('a url')
    if (text !== undefined && !isTemplate(text) && !/^https?:\/\/[^/]/i.test(text)) {
      url.refuse('a url that begins with http:// or https://', `Such as https://${text}`)
    }
  }
  const method = input.at('method')
  if (method.isGiven && !isTemplate(method.value)) {
    const upper = isText(method.value) ? method.value.toUpperCase() : ''
    if (!methods.includes(upper)) method.refuse(listed(methods, 'or'), 'Most often it is GET or POST.')
  }
  if (input.at('headers').isGiven && !isTemplate(input.at('headers').value))
    input.at('headers').entries('a mapping of headers', 'Such as headers: { accept: application/json }.')
  return asGiven(input)
}

const approvalShape: Shape = {
  what: 'an approval',
  keys: ['title', 'form', 'expires'],
  elsewhere: {
    timeout: 'expires',
    fields: 'form',
    schema: 'form',
    message: 'title',
    question: 'title',
    description: 'Say it in title, or in the description of a field of form.',
  },
}

export function compileApproval(input: Field): Json {
  const hint = 'Say what is to be decided: title: "Release {{ parameters.version }}?"'
  if (!hasInput(input, approvalShape, 'an approval needs a title', hint)) return null
  const title = input.at('title')
  if (title.value === undefined) input.add('an approval needs a title', hint)
  else title.text()
  const expires = input.at('expires')
  if (expires.isGiven && !isTemplate(expires.value)) expires.durationMs(1)
  const form = input.at('form')
  const fields = isTemplate(form.value) ? form.value : compileFields(form, 'field')
  return { title: asGiven(title), form: fields as Json, expires: asGiven(expires) }
}

/** Whether the input is a mapping of this shape; that it is missing is said in the words of `missing`. */
function hasInput(input: Field, shape: Shape, missing: string, hint: string): boolean {
  if (input.isGiven) return input.hasShape(shape, hint)
  input.addAtKey(missing, hint)
  return false
}
