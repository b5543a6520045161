import type { StandardSchemaV1 } from '@standard-schema/spec'
import { FencepostError, shown } from '../errors.js'
import { defaults } from '../limits.js'
import type { JobContext } from './job-context.js'
import { checkedInteger, checkOptionNames } from './options.js'
import type { Json } from './stored.js'
import { definedTask, type Task, type TaskOptions } from './task.js'

export interface HttpTaskOptions
  extends Pick<TaskOptions<StandardSchemaV1, undefined, unknown>, 'queue' | 'retry' | 'timeout' | 'gate'> {
  /** The hosts that may be called: `api.example.com`, `api.example.com:8443`, `*.example.com`. No other is. */
  readonly allow: readonly string[]
  /** Of a response; 1 MiB by default. */
  readonly bodyBytesMax?: number
}

export interface HttpInput {
  readonly url: string
  /** GET by default, POST with a body. */
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Sent as JSON, unless it is text. */
  readonly body?: Json
  /** The statuses that are no failure; 200 to 299 by default. */
  readonly expect?: readonly number[]
}

export interface HttpResult {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** Parsed, if it is JSON. */
  readonly body: Json
}

const redirectsMax = 5

/**
 * The action `core.http` of workflows: give it to a worker like any other task. It calls only the hosts that it is told to
 * allow, also when it is redirected. The job's id goes along as Idempotency-Key, the same on every attempt.
 */
export function httpTask(options: HttpTaskOptions): Task<HttpInput, HttpResult> {
  checkOptionNames(options, ['allow', 'queue', 'retry', 'timeout', 'gate', 'bodyBytesMax'], 'httpTask()')
  const { allow, bodyBytesMax = defaults.payloadBytesMax, ...rest } = options
  if (!Array.isArray(allow) || allow.length === 0 || !allow.every((host) => isHostPattern(host))) {
    throw new FencepostError('FP_OPTION_INVALID', `allow of httpTask() must list hosts, not ${shown(allow)}`, {
      hint: "Write allow: ['api.example.com', '*.internal.example.com:8443']: host names, without https:// or a path.",
    })
  }
  checkedInteger(bodyBytesMax, 'bodyBytesMax', 1, defaults.payloadBytesMax)
  return definedTask('core.http', {
    ...rest,
    input: httpInput,
    run: (input: HttpInput, job: JobContext) => call(input, job, allow, bodyBytesMax),
  })
}

function isHostPattern(host: unknown): boolean {
  return typeof host === 'string' && /^(\*\.)?[a-z0-9_.[\]:-]+$/i.test(host) && !host.includes('//')
}

async function call(
  input: HttpInput,
  job: JobContext,
  allow: readonly string[],
  bytesMax: number,
): Promise<HttpResult> {
  let url = allowedUrl(input.url, allow)
  const headers = new Headers({ 'Idempotency-Key': job.id, ...input.headers })
  let body =
    input.body === undefined || input.body === null
      ? undefined
      : typeof input.body === 'string'
        ? input.body
        : JSON.stringify(input.body)
  if (body !== undefined && typeof input.body !== 'string' && !headers.has('content-type')) {
    headers.set('content-type', 'application/json')
  }
  let method = (input.method ?? (body === undefined ? 'GET' : 'POST')).toUpperCase()
  for (let redirects = 0; ; redirects++) {
    const response = await fetch(url, {
      method,
      headers,
      redirect: 'manual',
      signal: job.signal,
      ...(body !== undefined && { body }),
    })
    const location = response.headers.get('location')
    if (
      response.status < 300 ||
      response.status > 399 ||
      location === null ||
      input.expect?.includes(response.status)
    ) {
      return resultOf(response, input.expect, bytesMax)
    }
    await response.body?.cancel()
    if (redirects >= redirectsMax) throw httpError('TooManyRedirects', `more than ${redirectsMax} redirects`)
    const next = allowedUrl(new URL(location, url).href, allow)
    // What was meant for one host is not for another.
    if (next.host !== url.host) for (const name of ['authorization', 'cookie']) headers.delete(name)
    if (response.status === 303 || (response.status < 307 && method === 'POST')) {
      method = 'GET'
      body = undefined
      headers.delete('content-type')
    }
    url = next
  }
}

function allowedUrl(text: string, allow: readonly string[]): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || !/^https?:$/.test(url.protocol)) throw httpError('BadUrl', `${shown(text)} is no http or https URL`)
  if (url.username !== '' || url.password !== '')
    throw httpError('BadUrl', 'a URL must not carry a password; use headers')
  if (!allow.some((pattern) => matches(url, pattern.toLowerCase()))) {
    throw httpError('HostNotAllowed', `${url.host} is not among the hosts that this worker allows: ${allow.join(', ')}`)
  }
  return url
}

function matches(url: URL, pattern: string): boolean {
  const host = /:\d+$/.test(pattern) ? url.host : url.port === '' ? url.hostname : url.host
  return pattern.startsWith('*.')
    ? host.endsWith(pattern.slice(1)) && host.length > pattern.length - 1
    : host === pattern
}

async function resultOf(
  response: Response,
  expect: readonly number[] | undefined,
  bytesMax: number,
): Promise<HttpResult> {
  const text = await limitedText(response, bytesMax)
  const { status } = response
  if (expect ? !expect.includes(status) : !response.ok) {
    throw httpError(`Http${status}`, `${status} ${response.statusText}${text === '' ? '' : `: ${text.slice(0, 500)}`}`)
  }
  const isJson = /\bjson\b/i.test(response.headers.get('content-type') ?? '')
  return { status, headers: Object.fromEntries(response.headers), body: isJson && text !== '' ? parsed(text) : text }
}

async function limitedText(response: Response, bytesMax: number): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length
    if (bytes > bytesMax) throw httpError('BodyTooLarge', `the response has more than ${bytesMax} bytes`)
    chunks.push(chunk)
  }
  // What JSON text in PostgreSQL cannot hold.
  return Buffer.concat(chunks).toString('utf8').replaceAll('\u0000', '\uFFFD')
}

function parsed(text: string): Json {
  try {
    return JSON.parse(text) as Json
  } catch {
    throw httpError('BadJson', 'the response says that it is JSON, and is not')
  }
}

function httpError(code: string, message: string): Error {
  return Object.assign(new Error(message), { name: 'HttpError', code })
}

const httpInput: StandardSchemaV1<HttpInput> = {
  '~standard': {
    version: 1,
    vendor: 'fencepost',
    validate: (value) => {
      const given = (typeof value === 'object' && value !== null ? value : {}) as Record<string, unknown>
      const issues = [
        ...(typeof given['url'] === 'string' ? [] : [{ message: 'url must be text', path: ['url'] }]),
        ...(given['method'] === undefined ||
        (typeof given['method'] === 'string' && /^[A-Za-z]+$/.test(given['method']))
          ? []
          : [{ message: 'method must be one of HTTP', path: ['method'] }]),
        ...(isTexts(given['headers']) ? [] : [{ message: 'headers must be an object of texts', path: ['headers'] }]),
        ...(isStatuses(given['expect']) ? [] : [{ message: 'expect must be a list of statuses', path: ['expect'] }]),
        ...Object.keys(given)
          .filter((name) => !['url', 'method', 'headers', 'body', 'expect'].includes(name))
          .map((name) => ({ message: `there is no ${name}`, path: [name] })),
      ]
      return issues.length > 0 ? { issues } : { value: given as unknown as HttpInput }
    },
  },
}

function isTexts(value: unknown): boolean {
  if (value === undefined || value === null) return true
  return (
    typeof value === 'object' && !Array.isArray(value) && Object.values(value).every((text) => typeof text === 'string')
  )
}

function isStatuses(value: unknown): boolean {
  return (
    value === undefined || value === null || (Array.isArray(value) && value.every((status) => Number.isInteger(status)))
  )
}
