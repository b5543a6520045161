import { SQSClient } from '@aws-sdk/client-sqs'
import { SignatureV4 } from '@smithy/signature-v4'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { credentials, setupQueue } from '../../sqs/server/setup.js'
import { hostileTexts, runs, seed } from '../hostile.js'
import { exchange, isRefusedByParser, judge, requestBytes } from '../wire.js'

type Pair = readonly [name: string, value: string]

/** A request in parts that can be spoilt one by one; of a query string, the pairs are as they are written in it. */
interface Signed {
  readonly method: string
  readonly path: string
  readonly query: readonly Pair[]
  readonly headers: readonly Pair[]
  readonly body: string
}

interface Spoilt {
  readonly request: Signed
  /** Undefined: whoever reads it may take it for the same request. */
  readonly refused: true | undefined
}

async function setupSigned() {
  const bundle = await setupQueue()
  const { host, port } = new URL(bundle.server.url)
  const signer = new SignatureV4({
    service: 'sqs',
    region: 'us-east-1',
    credentials,
    sha256: new SQSClient({ region: 'us-east-1' }).config.sha256,
  })
  const form = { Action: 'SendMessage', Version: '2012-11-05', MessageBody: 'a b' }
  const json = JSON.stringify({ QueueUrl: bundle.QueueUrl, MessageBody: 'a b' })
  const post = { method: 'POST', protocol: 'http:', hostname: 'localhost', path: '/', query: {} }
  const inHeaders = async (headers: Record<string, string>, path: string, body: string): Promise<Signed> => {
    const signed = await signer.sign({ ...post, path, headers: { host, ...headers }, body })
    return { method: 'POST', path, query: [], headers: Object.entries(signed.headers), body }
  }
  const path = '/000000000000/orders'
  const presigned = await signer.presign({ ...post, method: 'GET', path, headers: { host }, query: form })
  const query = Object.entries(presigned.query ?? {}).map(
    ([name, value]): Pair => [name, encodeURIComponent(String(value))],
  )
  const requests: readonly Signed[] = [
    await inHeaders(
      { 'content-type': 'application/x-amz-json-1.0', 'x-amz-target': 'AmazonSQS.SendMessage' },
      '/',
      json,
    ),
    await inHeaders(
      { 'content-type': 'application/x-www-form-urlencoded' },
      path,
      new URLSearchParams(form).toString(),
    ),
    { method: 'GET', path, query, headers: [['host', host]], body: '' },
  ]
  const ask = ({ method, path: at, query: asked, headers, body }: Signed) => {
    const url = asked.length === 0 ? at : `${at}?${asked.map((pair) => pair.join('=')).join('&')}`
    const length = Buffer.byteLength(body)
    const all: Pair[] = [...headers, ['content-length', `${length}`], ['connection', 'close']]
    return exchange(Number(port), requestBytes(`${method} ${url} HTTP/1.1`, all, Buffer.from(body)))
  }
  const stored = async () => {
    const [row] = await bundle.sql<{ n: number }>(`select count(*) as n from fencepost.job where queue = 'orders'`)
    return row?.n
  }
  return { ...bundle, requests, ask, stored }
}

/** Every name that objects have already, and what else has no business in a signature. */
const wild = fc.oneof(
  fc.constantFrom(...hostileTexts.filter((text) => text.length < 500), 'x'.repeat(6_000), 'x'.repeat(20_000)),
  fc.constantFrom('valueOf', ';', 'host;host', '=', ',', '/', '//////', 'ÿ', '%', '%zz', '%C3', '0'.repeat(64)),
  fc.constantFrom('19700101T000000Z', '99991231T235959Z', '20260230T000000Z', '20261116', '0', '604801'),
  fc.string({ unit: fc.integer({ min: 0, max: 255 }).map((code) => String.fromCharCode(code)), maxLength: 20 }),
)

/** Another text in place of a part of this one, cut off, with something between, or said twice. */
const change = fc.record({
  how: fc.constantFrom('replace', 'cut', 'insert', 'double'),
  at: fc.nat(),
  what: wild,
})
type Change = typeof change extends fc.Arbitrary<infer Value> ? Value : never

function changed(text: string, { how, at, what }: Change): string {
  const place = at % (text.length + 1)
  if (how === 'replace') return what
  if (how === 'cut') return text.slice(0, place)
  return how === 'insert' ? text.slice(0, place) + what + text.slice(place) : `${text}${text}`
}

/** The parts of a credential scope, of the signed headers and of the signature in an Authorization header. */
const part = /(?<=Credential=|SignedHeaders=|Signature=|\/|;)[^,/;]+/g

function spoilt(request: Signed, where: 'authorization' | 'header' | 'query' | 'body', n: number, by: Change): Spoilt {
  const { headers, query, body } = request
  const pick = (pairs: readonly Pair[]) => pairs[n % pairs.length] as Pair
  if (where === 'authorization') {
    const at = headers.findIndex(([name]) => name === 'authorization')
    if (at < 0) return spoilt(request, 'query', n, by)
    const [name, value] = headers[at] as Pair
    const parts = [...value.matchAll(part)]
    const found = parts[n % parts.length] as RegExpMatchArray
    const end = (found.index as number) + found[0].length
    const text = value.slice(0, found.index) + changed(found[0], by) + value.slice(end)
    return { request: { ...request, headers: headers.with(at, [name, text]) }, refused: isOther(text, value) }
  }
  if (where === 'header') {
    const [name, value] = pick(headers)
    const text = changed(value, by)
    if (by.at % 3 === 0) {
      // Of a header that is there twice, Node takes the first, or both with a comma.
      const twice = [...headers, [name, text] as const]
      return { request: { ...request, headers: twice }, refused: name.startsWith('x-amz-') || undefined }
    }
    const others = headers.map((pair): Pair => (pair[0] === name ? [name, text] : pair))
    const kept = by.at % 3 === 1 ? headers.filter((pair) => pair[0] !== name) : others
    return { request: { ...request, headers: kept }, refused: by.at % 3 === 1 || isOther(text, value) }
  }
  if (where === 'query' && query.length > 0) {
    const [name, value] = pick(query)
    const text = changed(decodeURIComponent(value), by).toWellFormed()
    const written = by.at % 2 === 0 ? encodeURIComponent(text) : text.replace(/[^\x21-\x7e]|[&#]/g, '')
    if (by.at % 5 === 0)
      return { request: { ...request, query: query.filter((pair) => pair[0] !== name) }, refused: true }
    if (by.at % 5 === 1)
      return { request: { ...request, query: [...query, [name, written]] }, refused: notSame(written, value) }
    const others = query.map((pair): Pair => (pair[0] === name ? [name, written] : pair))
    return { request: { ...request, query: others }, refused: notSame(written, value) }
  }
  const text = changed(body === '' ? ' ' : body, by).toWellFormed()
  return { request: { ...request, body: text }, refused: isOther(text, body) }
}

/** Blanks around a value, and how many there are in it, are not part of it. */
function isOther(text: string, than: string): true | undefined {
  return text.replace(/\s+/g, '') === than.replace(/\s+/g, '') ? undefined : true
}

function notSame(written: string, than: string): true | undefined {
  return decoded(written) === decoded(than) ? undefined : true
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return `${text} `
  }
}

it(`a request that is not as it was signed is refused, and nothing of it is done (seed ${seed})`, async () => {
  const { requests, ask, stored, errors } = await setupSigned()
  for (const request of requests) expect(await ask(request)).toMatchObject({ status: 200 })
  let accepted = requests.length
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...requests),
      fc.constantFrom('authorization', 'authorization', 'header', 'query', 'body'),
      fc.nat(),
      change,
      async (signed, where, n, by) => {
        const { request, refused } = spoilt(signed, where, n, by)
        const answer = await ask(request)
        if (answer?.status === 200) accepted++
        if (refused) expect(answer?.status).not.toBe(200)
        if (answer && !isRefusedByParser(answer)) judge(answer)
      },
    ),
    runs(400),
  )
  expect(await stored()).toBe(accepted)
  expect(errors).toEqual([])
})
