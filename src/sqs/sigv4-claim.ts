import type { IncomingHttpHeaders } from 'node:http'
import { echoed } from './rules/characters.js'
import { SqsError } from './sqs-error.js'
import { parseForm } from './wire/form.js'
import { splitUrl } from './wire/http-message.js'

/** What a request says about its own signature, in the Authorization header or, presigned, in its query string. */
export interface Claim {
  readonly accessKeyId: string
  readonly day: string
  readonly region: string
  readonly service: string
  readonly terminator: string
  readonly signedHeaders: readonly string[]
  readonly signature: string
  /** As it was signed: 20261116T103143Z. */
  readonly timestamp: string
  readonly signedAt: Date
  /** Presigned only. */
  readonly expiresMs: number | undefined
}

interface Parts {
  readonly credential: string | undefined
  readonly signedHeaders: string | undefined
  readonly signature: string | undefined
  readonly timestamp: string | undefined
  readonly expires: string | undefined
}

const algorithm = 'AWS4-HMAC-SHA256'
/** What AWS allows, too. */
const expiresSecondsMax = 7 * 24 * 3600

export function claimOf({ url, headers }: { readonly url: string; readonly headers: IncomingHttpHeaders }): Claim {
  if (headers.authorization !== undefined) return checked(headerParts(headers.authorization, headers), false)
  const parameters = new Map(parseForm(splitUrl(url).query))
  if (!parameters.has('X-Amz-Algorithm') && !parameters.has('X-Amz-Signature')) {
    throw new SqsError('MissingAuthenticationToken', 'The request is not signed: it has no Authorization header.')
  }
  return checked(presignedParts(parameters), true)
}

function headerParts(authorization: string, headers: IncomingHttpHeaders): Parts {
  const [scheme = '', ...rest] = authorization.trim().split(/\s+/)
  checkAlgorithm(scheme)
  const pairs = rest
    .join('')
    .split(',')
    .map((field): [string, string] => {
      const [name = '', ...value] = field.split('=')
      return [name, value.join('=')]
    })
  const fields = new Map(pairs)
  if (fields.size < pairs.length) throw incomplete('The signature has a part twice.')
  const amzDate = headers['x-amz-date']
  return {
    credential: fields.get('Credential'),
    signedHeaders: fields.get('SignedHeaders'),
    signature: fields.get('Signature'),
    timestamp: typeof amzDate === 'string' ? amzDate : basicIsoOfHttpDate(headers.date),
    expires: undefined,
  }
}

function presignedParts(parameters: ReadonlyMap<string, string>): Parts {
  checkAlgorithm(parameters.get('X-Amz-Algorithm') ?? '')
  return {
    credential: parameters.get('X-Amz-Credential'),
    signedHeaders: parameters.get('X-Amz-SignedHeaders'),
    signature: parameters.get('X-Amz-Signature'),
    timestamp: parameters.get('X-Amz-Date'),
    expires: parameters.get('X-Amz-Expires'),
  }
}

function checkAlgorithm(name: string): void {
  if (name !== algorithm) throw incomplete(`The algorithm '${echoed(name)}' is not supported; it must be ${algorithm}.`)
}

function checked({ credential, signedHeaders, signature, timestamp, expires }: Parts, presigned: boolean): Claim {
  if (!credential) throw incomplete('The signature has no Credential.')
  if (!signedHeaders) throw incomplete('The signature has no SignedHeaders.')
  if (!signature) throw incomplete('The signature has no Signature.')
  if (!timestamp) throw incomplete('The signature has no date: send X-Amz-Date.')
  // From the right, because the id comes first and is the only part that could have a slash in it.
  const scope = credential.split('/')
  const [day, region, service, terminator] = scope.splice(-4)
  const accessKeyId = scope.join('/')
  if (!accessKeyId || !day || !region || !service || !terminator) {
    throw incomplete(`The Credential must be id/day/region/service/aws4_request, and is '${echoed(credential)}'.`)
  }
  const signedAt = parseBasicIso(timestamp)
  if (!signedAt) throw incomplete(`The date must look like 20261116T103143Z, and is '${echoed(timestamp)}'.`)
  return {
    accessKeyId,
    day,
    region,
    service,
    terminator,
    signedHeaders: signedHeaders.toLowerCase().split(';'),
    signature,
    timestamp,
    signedAt,
    expiresMs: presigned ? expiresMsOf(expires) : undefined,
  }
}

function expiresMsOf(text: string | undefined): number {
  const seconds = /^\d{1,7}$/.test(text ?? '') ? Number(text) : 0
  if (seconds >= 1 && seconds <= expiresSecondsMax) return seconds * 1000
  throw incomplete(`X-Amz-Expires must be between 1 and ${expiresSecondsMax} seconds.`)
}

/** Requests of one second have the same. */
let lastRead: { readonly text: string; readonly date: Date | undefined } | undefined

function parseBasicIso(text: string): Date | undefined {
  if (lastRead?.text !== text) lastRead = { text, date: readBasicIso(text) }
  return lastRead.date
}

function readBasicIso(text: string): Date | undefined {
  const iso = text.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6.000Z')
  const date = new Date(iso)
  // A day that the calendar does not have would be read as another one, or as none.
  return iso !== text && !Number.isNaN(date.getTime()) && date.toISOString() === iso ? date : undefined
}

function basicIsoOfHttpDate(text: string | undefined): string | undefined {
  const date = new Date(text ?? '')
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString().replace(/[-:]|\.\d+/g, '')
}

function incomplete(text: string): SqsError {
  return new SqsError('IncompleteSignature', text)
}
