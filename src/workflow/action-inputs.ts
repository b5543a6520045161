import type { Json } from '../job/json.js'
import { compileFields } from './field-declarations.js'
import { durationOf, type Field, isTemplate, isText, listed, type Shape } from './field.js'

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
  if (!input.hasKey('message', failShape)) input.add('core.fail needs a message', hint)
  if (input.at('message').value !== undefined) input.at('message').text()
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

const httpShape: Shape = {
  what: 'the input of core.http',
  keys: ['url', 'method', 'headers', 'body', 'expect'],
  elsewhere: {
    uri: 'url',
    endpoint: 'url',
    json: 'body',
    data: 'body',
    payload: 'body',
    query: 'Write it into the url: https://…?name={{ … }}',
    params: 'Write it into the url: https://…?name={{ … }}',
    timeout: 'timeout belongs to the task, beside input.',
    retry: 'retry belongs to the task, beside input.',
    status: 'expect',
    allow: 'Which hosts may be called is said where the worker is started: httpTask({ allow: […] }).',
  },
}
const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

export function compileHttp(input: Field): Json {
  const hint = 'Write input: { method: GET, url: https://… }.'
  if (!hasInput(input, httpShape, 'core.http needs a url', hint)) return null
  if (!input.hasKey('url', httpShape)) input.add('core.http needs a url', hint)
  const url = input.at('url')
  const address = url.value === undefined ? undefined : url.text('a url')
  if (address !== undefined && !isTemplate(address) && !/^https?:\/\/[^/]/i.test(address)) {
    url.refuse('a url that begins with http:// or https://', `Such as https://${address}`)
  }
  const method = input.at('method')
  if (isFixed(method) && !(isText(method.value) && methods.includes(method.value.toUpperCase()))) {
    method.refuse(listed(methods, 'or'), 'Without it, it is GET, or POST with a body.')
  }
  const headers = input.at('headers')
  if (isFixed(headers)) {
    const entries = headers.entries('a mapping of headers', 'Such as headers: { accept: application/json }.')
    for (const [, header] of entries ?? []) header.text()
  }
  if (isFixed(input.at('expect'))) {
    const statuses = input.at('expect').list('a list of statuses', 'Such as expect: [200, 404].')
    for (const status of statuses ?? []) if (isFixed(status)) status.integer(100, 599)
  }
  return asGiven(input)
}

/** Whether its value is known now. */
function isFixed(field: Field): boolean {
  return field.isGiven && !isTemplate(field.value)
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
  if (!input.hasKey('title', approvalShape)) input.add('an approval needs a title', hint)
  if (title.value !== undefined) title.text()
  const expires = input.at('expires')
  if (isFixed(expires)) expires.durationMs(1)
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
