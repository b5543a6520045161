import { createHmac, createSecretKey, hash, type KeyObject, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { echoed } from './rules/characters.js'
import { type Claim, claimOf } from './sigv4-claim.js'
import { SqsError } from './sqs-error.js'
import { parseForm } from './wire/form.js'
import { splitUrl } from './wire/http-message.js'

/**
 * Whether a request was signed, by AWS Signature Version 4, with the secret of one of our keys. What is verified is the
 * request as the decoders read it: the query string is decoded in the same way before it is written canonically.
 */
export interface SignedRequest {
  readonly method: string
  /** Path and query, as the request line has them. */
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly body: Uint8Array
  readonly now: Date
  /** The secrets, by access key id. */
  readonly keys: ReadonlyMap<string, string>
  readonly skewMs: number
  /** Any region if there is none. */
  readonly region?: string | undefined
}

const service = 'sqs'

export function verifySignature(request: SignedRequest): { readonly accessKeyId: string } {
  const claim = claimOf(request)
  checkScope(claim, request.region)
  const secret = request.keys.get(claim.accessKeyId)
  if (secret === undefined) {
    throw new SqsError('InvalidClientTokenId', `The access key id ${echoed(claim.accessKeyId)} is not known here.`)
  }
  checkTime(claim, request)
  checkSignedHeaders(claim, request.headers)
  const bodyHash = sha256(request.body)
  checkBodyHash(request.headers, bodyHash)
  if (!sameHex(signatureOf(claim, canonicalRequest(claim, request, bodyHash), secret), claim.signature)) {
    throw new SqsError(
      'SignatureDoesNotMatch',
      'The signature that was calculated of this request is another one than it carries. Check the secret access key, and that nothing between the client and the server changes the request.',
    )
  }
  return { accessKeyId: claim.accessKeyId }
}

function checkScope(claim: Claim, region: string | undefined): void {
  const wrong = (text: string) => new SqsError('SignatureDoesNotMatch', text)
  if (claim.service !== service) {
    throw wrong(`The credential is scoped to the service '${echoed(claim.service)}'; it must be '${service}'.`)
  }
  if (region !== undefined && claim.region !== region) {
    throw wrong(`The credential is scoped to the region '${echoed(claim.region)}'; it must be '${region}'.`)
  }
  if (claim.terminator !== 'aws4_request') throw wrong(`The scope of the credential must end in 'aws4_request'.`)
  if (claim.day !== claim.timestamp.slice(0, 8)) {
    throw wrong(`The day of the credential, ${echoed(claim.day)}, is not that of the request, ${claim.timestamp}.`)
  }
}

function checkTime({ timestamp, signedAt, expiresMs }: Claim, { now, skewMs }: SignedRequest): void {
  const aheadMs = signedAt.getTime() - now.getTime()
  const tooOld = expiresMs === undefined && -aheadMs > skewMs
  if (aheadMs > skewMs || tooOld) {
    throw new SqsError(
      'RequestExpired',
      `The request was signed at ${timestamp}, and the clock of the server says ${basicIso(now)}: more than ${skewMs / 1000} s apart. Set the wrong one of the two clocks right.`,
    )
  }
  if (expiresMs !== undefined && -aheadMs > expiresMs) {
    throw new SqsError(
      'RequestExpired',
      `The URL was signed at ${timestamp} for ${expiresMs / 1000} s, and the clock of the server says ${basicIso(now)}. Make a new one.`,
    )
  }
}

/** An unsigned header could be added by anyone on the way; those of the protocol say what the request means. */
function checkSignedHeaders({ signedHeaders }: Claim, headers: IncomingHttpHeaders): void {
  const needed = ['host', ...Object.keys(headers).filter((name) => name.startsWith('x-amz-'))]
  const unsigned = needed.filter((name) => !signedHeaders.includes(name))
  if (unsigned.length > 0) {
    throw new SqsError('SignatureDoesNotMatch', `Headers that must be signed are not: ${echoed(unsigned.join(', '))}.`)
  }
  // A header of its own, not what every object inherits under a name such as `constructor`.
  const absent = signedHeaders.filter((name) => !Object.hasOwn(headers, name))
  if (absent.length > 0) {
    throw new SqsError(
      'SignatureDoesNotMatch',
      `Headers that were signed have not arrived: ${echoed(absent.join(', '))}.`,
    )
  }
}

function checkBodyHash(headers: IncomingHttpHeaders, bodyHash: string): void {
  const declared = headers['x-amz-content-sha256']
  if (declared !== undefined && declared !== bodyHash) {
    throw new SqsError(
      'SignatureDoesNotMatch',
      'The body of the request is not the one that x-amz-content-sha256 names.',
    )
  }
}

function canonicalRequest({ signedHeaders }: Claim, request: SignedRequest, bodyHash: string): string {
  const { path, query } = splitUrl(request.url)
  const headers = signedHeaders.map((name) => `${name}:${canonicalValue(request.headers[name])}\n`)
  return [
    request.method,
    canonicalPath(path),
    canonicalQuery(query),
    headers.join(''),
    signedHeaders.join(';'),
    bodyHash,
  ].join('\n')
}

/** Without empty and dot segments, and encoded once more than it was sent. */
function canonicalPath(path: string): string {
  const segments: string[] = []
  for (const segment of path.split('/')) {
    if (segment === '..') segments.pop()
    else if (segment !== '' && segment !== '.') segments.push(encode(segment))
  }
  return segments.length === 0 ? '/' : `/${segments.join('/')}${path.endsWith('/') ? '/' : ''}`
}

function canonicalQuery(query: string): string {
  return parseForm(query)
    .filter(([name]) => name !== 'X-Amz-Signature')
    .map(([name, value]): [string, string] => [encode(name), encode(value)])
    .sort(([nameA, valueA], [nameB, valueB]) => compare(nameA, nameB) || compare(valueA, valueB))
    .map(([name, value]) => `${name}=${value}`)
    .join('&')
}

function canonicalValue(value: string | string[] | undefined): string {
  const one = (text: string) => text.trim().replace(/\s+/g, ' ')
  return typeof value === 'string' ? one(value) : (value ?? []).map(one).join(',')
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b)
}

/** Everything but the unreserved characters of RFC 3986; encodeURIComponent() leaves five more as they are. */
function encode(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`)
}

function signatureOf(claim: Claim, canonical: string, secret: string): string {
  const scope = [claim.day, claim.region, claim.service, claim.terminator]
  const text = ['AWS4-HMAC-SHA256', claim.timestamp, scope.join('/'), sha256(canonical)].join('\n')
  return hmac(signingKey(secret, scope), text).toString('hex')
}

/** The same for all requests of a key on one day: the last ones are kept. */
const signingKeys = new Map<string, KeyObject>()
const signingKeysMax = 1_000

function signingKey(secret: string, scope: readonly string[]): KeyObject {
  const name = JSON.stringify([secret, ...scope])
  const known = signingKeys.get(name)
  if (known) return known
  // As bytes, a key takes Node 24 seven times as long as the digest itself, each time.
  const key = scope.reduce(
    (parent, part) => createSecretKey(hmac(parent, part)),
    createSecretKey(`AWS4${secret}`, 'utf8'),
  )
  if (signingKeys.size >= signingKeysMax) signingKeys.clear()
  signingKeys.set(name, key)
  return key
}

function sha256(data: string | Uint8Array): string {
  return hash('sha256', data)
}

function hmac(key: KeyObject, text: string): Buffer {
  return createHmac('sha256', key).update(text, 'utf8').digest()
}

/** In a time that does not tell how much of it was right. */
function sameHex(ours: string, theirs: string): boolean {
  const [a, b] = [Buffer.from(ours), Buffer.from(theirs)]
  return a.length === b.length && timingSafeEqual(a, b)
}

function basicIso(date: Date): string {
  return date.toISOString().replace(/[-:]|\.\d+/g, '')
}
