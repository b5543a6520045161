import { createHash, createHmac } from 'node:crypto'
import { SignatureV4 } from '@smithy/signature-v4'
import { describe, expect, it } from 'vitest'
import { startHttpServer } from '../../../src/sqs/http-server.js'
import { type SignedRequest, verifySignature } from '../../../src/sqs/sigv4.js'
import { SqsError, type SqsErrorName } from '../../../src/sqs/sqs-error.js'
import type { HttpRequest, Protocol } from '../../../src/sqs/wire/http-message.js'
import { examples } from './examples.js'
import { accessKeyId, sdkClient, sdkCommand, secretAccessKey } from './sdk-client.js'

const keys = new Map([[accessKeyId, secretAccessKey]])
const skewMs = 300_000

describe.each<Protocol>(['json', 'query'])('a request that the SDK signed, speaking %s', (protocol) => {
  it('is let in', async () => {
    const request = await signedBySdk(protocol)
    expect(verify(request)).toEqual({ accessKeyId })
    expect(verify(request, { region: 'us-east-1' })).toEqual({ accessKeyId })
  })

  it('is let in with a session token, which is signed like the rest', async () => {
    const request = await signedBySdk(protocol, { sessionToken: 'of/a=session' })
    expect(request.headers['x-amz-security-token']).toBe('of/a=session')
    expect(verify(request)).toEqual({ accessKeyId })
    expect(refused({ ...request, headers: { ...request.headers, 'x-amz-security-token': 'another' } })).toBe(
      'SignatureDoesNotMatch',
    )
  })

  it('is refused if any part of it was changed', async () => {
    const request = await signedBySdk(protocol)
    const { headers } = request
    const withHeader = (name: string, value: string) => ({ ...request, headers: { ...headers, [name]: value } })
    const authorization = headers.authorization ?? ''
    const changed: HttpRequest[] = [
      { ...request, method: 'GET' },
      { ...request, url: '/queue/another' },
      { ...request, url: '/?Action=PurgeQueue' },
      { ...request, body: Buffer.concat([request.body, Buffer.from(' ')]) },
      withHeader('host', 'another.test'),
      withHeader('content-type', 'text/plain'),
      withHeader('x-amz-date', bumped(String(headers['x-amz-date']))),
      withHeader('x-amz-new', 'header'),
      withHeader('x-amz-content-sha256', 'UNSIGNED-PAYLOAD'),
      withHeader(
        'authorization',
        authorization.replace(/[0-9a-f]{64}$/, (hex) => hex.replace(/^./, flipped)),
      ),
      withHeader('authorization', authorization.replace(/[0-9a-f]$/, '')),
      withHeader('authorization', authorization.replace('us-east-1', 'eu-west-1')),
      withHeader('authorization', authorization.replace('/sqs/', '/sns/')),
      withHeader('authorization', authorization.replace('/aws4_request', '/aws5_request')),
      withHeader('authorization', authorization.replace(/\/\d{8}\//, '/20200101/')),
      withHeader('authorization', authorization.replace(/host;/, '')),
      withHeader('authorization', authorization.replace(/x-amz-date;?/, '')),
      withHeader('authorization', authorization.replace('host;', 'host;if-match;')),
      ...(protocol === 'json' ? [withHeader('x-amz-target', 'AmazonSQS.PurgeQueue')] : []),
    ]
    expect(changed.map((one) => refused(one))).toEqual(changed.map(() => 'SignatureDoesNotMatch'))
  })

  it('is refused with another secret, an unknown key, or for another region than the one that is set', async () => {
    const request = await signedBySdk(protocol)
    expect(refused(request, { keys: new Map([[accessKeyId, 'wrong']]) })).toBe('SignatureDoesNotMatch')
    expect(refused(request, { keys: new Map() })).toBe('InvalidClientTokenId')
    expect(refused(request, { region: 'eu-west-1' })).toBe('SignatureDoesNotMatch')
  })

  it('is refused when the clocks are too far apart, and told both times', async () => {
    const request = await signedBySdk(protocol)
    const at = (ms: number) => ({ now: new Date(signedAtMs(request) + ms) })
    expect(verify(request, at(skewMs))).toEqual({ accessKeyId })
    expect(verify(request, at(-skewMs))).toEqual({ accessKeyId })
    expect(refused(request, at(skewMs + 1))).toBe('RequestExpired')
    expect(refused(request, at(-skewMs - 1))).toBe('RequestExpired')
    expect(() => verify(request, at(3600_000))).toThrow(
      new RegExp(`${String(request.headers['x-amz-date'])}.*\\d{8}T\\d{6}Z.*300 s apart.*clocks`),
    )
  })
})

describe('a request that is not signed well', () => {
  const request: HttpRequest = { method: 'POST', url: '/', headers: { host: 'sqs.test' }, body: Buffer.alloc(0) }
  const whole = `AWS4-HMAC-SHA256 Credential=${accessKeyId}/20261116/r/sqs/aws4_request, SignedHeaders=host, Signature=${'0'.repeat(64)}`

  it.each<[SqsErrorName, string, string | undefined]>([
    ['MissingAuthenticationToken', 'no header', undefined],
    ['IncompleteSignature', 'nothing in it', ''],
    ['IncompleteSignature', 'another scheme', 'Basic dXNlcjpwYXNz'],
    ['IncompleteSignature', 'an older version', 'AWS AKID:signature'],
    ['IncompleteSignature', 'no credential', whole.replace('Credential', 'Certificate')],
    ['IncompleteSignature', 'no signed headers', whole.replace('SignedHeaders', 'Headers')],
    ['IncompleteSignature', 'no signature', whole.replace(/, Signature=.*/, '')],
    ['IncompleteSignature', 'a short credential', whole.replace('/20261116/r', '')],
    ['IncompleteSignature', 'no date', whole],
  ])('is told %s for %s', (name, _what, authorization) => {
    const headers = authorization === undefined ? request.headers : { ...request.headers, authorization }
    expect(refused({ ...request, headers })).toBe(name)
  })

  it.each<[string, string, string]>([
    ['the algorithm', 'AWS4-HMAC-SHA256', 'x'],
    ['the credential', `${accessKeyId}/20261116`, 'x'],
    ['the key', accessKeyId, 'x'],
    ['the region', '/r/', '/x/'],
    ['the service', '/sqs/', '/x/'],
    ['the day', '/20261116/', '/x/'],
    ['the headers', '=host', '=x;host;x-amz-date'],
  ])('is told no more than the beginning of %s', (_what, right, wrong) => {
    const authorization = whole.replace(right, wrong.replace('x', 'x'.repeat(5_000)))
    const headers = { ...request.headers, authorization, 'x-amz-date': '20261116T100000Z' }
    try {
      verify({ ...request, headers }, { now: new Date('2026-11-16T10:00:00Z'), region: 'r' })
      expect.unreachable()
    } catch (error) {
      expect((error as Error).message).toMatch(/x…/)
      expect((error as Error).message.length).toBeLessThan(500)
    }
  })

  it.each(['20261116', '20261316T000000Z', '20260230T000000Z', 'Mon, 16 Nov 2026 10:00:00 GMT', ''])(
    'is told IncompleteSignature for the date "%s"',
    (date) => {
      const headers = { ...request.headers, authorization: whole, 'x-amz-date': date }
      expect(refused({ ...request, headers })).toBe('IncompleteSignature')
    },
  )
})

describe('a signature that is right, of a request that is not', () => {
  it('lets in what is right, also with the date of HTTP', () => {
    expect(verify(signedByHand())).toEqual({ accessKeyId })
    const request = signedByHand({ signedHeaders: ['host'] })
    const { 'x-amz-date': _, ...headers } = request.headers
    const withDate = { ...request, headers: { ...headers, date: 'Mon, 16 Nov 2026 10:00:00 GMT' } }
    expect(verify(withDate, { now: new Date('2026-11-16T10:00:00Z') })).toEqual({ accessKeyId })
  })

  it.each<[string, Parameters<typeof signedByHand>[0]]>([
    ['the host is not signed', { signedHeaders: ['x-amz-date'] }],
    ['a header of the protocol is not signed', { signedHeaders: ['host'] }],
    ['the key is of another day', { day: '20261115' }],
    ['it is for another service', { service: 'sns' }],
    ['its scope ends in another word', { terminator: 'aws5_request' }],
  ])('refuses it when %s', (_what, how) => {
    expect(refused(signedByHand(how))).toBe('SignatureDoesNotMatch')
  })

  it.each(['constructor', '__proto__'])('refuses it when it names the header %s', (name) => {
    const { headers, ...request } = signedByHand()
    const authorization = (headers.authorization ?? '').replace('=host;', `=${name};host;`)
    expect(refused({ ...request, headers: { ...headers, authorization } })).toBe('SignatureDoesNotMatch')
  })

  it('refuses it when a part of it is there twice', () => {
    const { headers, ...request } = signedByHand()
    const [scheme, parts] = (headers.authorization ?? '').split(' ')
    const authorization = `${scheme} SignedHeaders=host,${parts}`
    expect(refused({ ...request, headers: { ...headers, authorization } })).toBe('IncompleteSignature')
  })

  it('says so when only the body is another', async () => {
    const request = await signedBySdk('json')
    expect(() => verify({ ...request, body: Buffer.from('{}') })).toThrow('x-amz-content-sha256')
  })
})

describe('a presigned URL', () => {
  const now = new Date('2026-11-16T10:00:00Z')
  const seconds = 3600

  it('is let in until it expires', async () => {
    const request = await presigned(now, seconds)
    const after = (ms: number) => ({ now: new Date(now.getTime() + ms) })
    expect(verify(request, after(0))).toEqual({ accessKeyId })
    expect(verify(request, after(seconds * 1000))).toEqual({ accessKeyId })
    expect(refused(request, after(seconds * 1000 + 1))).toBe('RequestExpired')
    expect(refused(request, after(-skewMs - 1))).toBe('RequestExpired')
    expect(() => verify(request, after(2 * seconds * 1000))).toThrow('20261116T100000Z for 3600 s')
  })

  it('is let in whatever the order of its parameters', async () => {
    const request = await presigned(now, seconds)
    const [path, query = ''] = request.url.split('?')
    expect(verify({ ...request, url: `${path}?${query.split('&').reverse().join('&')}` }, { now })).toEqual({
      accessKeyId,
    })
  })

  it('is refused if any part of it was changed', async () => {
    const request = await presigned(now, seconds)
    const changed = [
      { ...request, url: request.url.replace('MessageBody=a', 'MessageBody=b') },
      { ...request, url: request.url.replace('X-Amz-Expires=3600', 'X-Amz-Expires=7200') },
      { ...request, url: request.url.replace('/orders', '/others') },
      { ...request, url: `${request.url}&DelaySeconds=5` },
      { ...request, method: 'POST' },
      { ...request, body: Buffer.from('Action=PurgeQueue') },
      { ...request, headers: { host: 'another.test' } },
      { ...request, headers: { ...request.headers, 'x-amz-target': 'AmazonSQS.PurgeQueue' } },
    ]
    expect(changed.map((one) => refused(one, { now }))).toEqual(changed.map(() => 'SignatureDoesNotMatch'))
  })

  it.each(['', '0', '-1', '604801', '1e3', 'x'])('is refused with X-Amz-Expires=%s', async (expires) => {
    const request = await presigned(now, seconds)
    const url = request.url.replace('X-Amz-Expires=3600', `X-Amz-Expires=${expires}`)
    expect(refused({ ...request, url }, { now })).toBe('IncompleteSignature')
  })

  it.each(['X-Amz-Algorithm', 'X-Amz-Credential', 'X-Amz-Date', 'X-Amz-SignedHeaders', 'X-Amz-Signature'])(
    'is refused without %s',
    async (name) => {
      const request = await presigned(now, seconds)
      const url = request.url.replace(new RegExp(`${name}=[^&]*&?`), '')
      expect(refused({ ...request, url }, { now })).toBe('IncompleteSignature')
    },
  )
})

function verify(request: HttpRequest, changes: Partial<SignedRequest> = {}) {
  return verifySignature({ ...request, now: new Date(signedAtMs(request)), keys, skewMs, ...changes })
}

function refused(request: HttpRequest, changes: Partial<SignedRequest> = {}): string {
  try {
    verify(request, changes)
  } catch (error) {
    if (error instanceof SqsError) return error.shape
    throw error
  }
  return 'let in'
}

/** What arrives at a server when the SDK sends a message. */
async function signedBySdk(protocol: Protocol, credentials: { sessionToken?: string } = {}): Promise<HttpRequest> {
  let arrived: HttpRequest | undefined
  const server = await startHttpServer({
    host: '127.0.0.1',
    port: 0,
    authorize: (request) => {
      arrived = request
      return 'anonymous'
    },
    handle: () => Promise.resolve({}),
  })
  const client = sdkClient(protocol, {
    endpoint: server.url,
    credentials: { accessKeyId, secretAccessKey, ...credentials },
  })
  await client.send(sdkCommand('SendMessage', examples.SendMessage.input))
  client.destroy()
  await server.close()
  if (!arrived) throw new Error('nothing arrived')
  return arrived
}

async function presigned(signingDate: Date, expiresIn: number): Promise<HttpRequest> {
  const signer = new SignatureV4({
    service: 'sqs',
    region: 'us-east-1',
    credentials: { accessKeyId, secretAccessKey, sessionToken: 'of/a=session' },
    sha256: sdkClient('json', {}).config.sha256,
  })
  const { path, query = {} } = await signer.presign(
    {
      method: 'GET',
      protocol: 'http:',
      hostname: 'sqs.test',
      path: '/000000000000/orders',
      headers: { host: 'sqs.test' },
      query: { Action: 'SendMessage', MessageBody: "a b+c/ü'(*)", Version: '2012-11-05' },
    },
    { signingDate, expiresIn },
  )
  const parameters = Object.entries(query).map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`)
  return { method: 'GET', url: `${path}?${parameters.join('&')}`, headers: { host: 'sqs.test' }, body: Buffer.alloc(0) }
}

/** Signs what no SDK would sign. */
function signedByHand({
  day = '20261116',
  service = 'sqs',
  terminator = 'aws4_request',
  signedHeaders = ['host', 'x-amz-date'],
}: {
  day?: string
  service?: string
  terminator?: string
  signedHeaders?: string[]
} = {}): HttpRequest {
  const headers: Record<string, string> = { host: 'sqs.test', 'x-amz-date': '20261116T100000Z' }
  const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')
  const lines = signedHeaders.map((name) => `${name}:${headers[name]}\n`).join('')
  const canonical = `GET\n/\nAction=ListQueues\n${lines}\n${signedHeaders.join(';')}\n${sha256('')}`
  const scope = [day, 'us-east-1', service, terminator]
  const toSign = `AWS4-HMAC-SHA256\n20261116T100000Z\n${scope.join('/')}\n${sha256(canonical)}`
  let key = Buffer.from(`AWS4${secretAccessKey}`)
  for (const part of [...scope, toSign]) key = createHmac('sha256', key).update(part).digest()
  const credential = `Credential=${accessKeyId}/${scope.join('/')}`
  const authorization = `AWS4-HMAC-SHA256 ${credential},SignedHeaders=${signedHeaders.join(';')},Signature=${key.toString('hex')}`
  return { method: 'GET', url: '/?Action=ListQueues', headers: { ...headers, authorization }, body: Buffer.alloc(0) }
}

function signedAtMs({ headers }: HttpRequest): number {
  const date = String(headers['x-amz-date'])
  const ms = Date.parse(date.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'))
  return Number.isNaN(ms) ? 0 : ms
}

function bumped(date: string): string {
  return date.replace(/\dZ$/, (last) => `${(Number(last[0]) + 1) % 10}Z`)
}

function flipped(digit: string): string {
  return digit === '0' ? '1' : '0'
}
