import fc from 'fast-check'
import { expect, it } from 'vitest'
import { audit } from '../../../src/audit/audit.js'
import { setupQueue } from '../../sqs/server/setup.js'
import { hostileTexts, runs, seed } from '../hostile.js'
import { exchange, isRefusedByParser, judge, requestBytes } from '../wire.js'

const megabyte = 1_048_576
const headerText = fc.oneof(
  fc.constantFrom(...hostileTexts.filter((text) => text.length < 500), 'x'.repeat(6_000), 'x'.repeat(20_000)),
  fc.constantFrom('0', '00', '+1', '-1', '0x10', '1e3', '1, 1', '9'.repeat(30), 'chunked', 'gzip', 'chunked, chunked'),
  fc.constantFrom('identity', '100-continue', 'close', 'upgrade', 'h2c', 'localhost', '[::1]:80', 'a b'),
)
const headerName = fc.constantFrom(
  'content-length',
  'transfer-encoding',
  'content-encoding',
  'content-type',
  'expect',
  'connection',
  'upgrade',
  'host',
  'origin',
  'x-amz-target',
  'x-forwarded-proto',
  'x-fencepost-idempotency-key',
  'amz-sdk-invocation-id',
  '__proto__',
  'a\u0000b',
  'ä',
)
const line = fc.oneof(
  { weight: 5, arbitrary: fc.constant('POST / HTTP/1.1') },
  fc.constantFrom(
    'POST http://other.test/ HTTP/1.1',
    'POST //other.test// HTTP/1.1',
    'POST * HTTP/1.1',
    'POST /%00%zz?%zz=%C3 HTTP/1.1',
    'POST /\u00ff\u0001 HTTP/1.1',
    'POST / HTTP/0.9',
    'POST / HTTP/2.0',
    'POST /',
    'PRI * HTTP/2.0',
    'CONNECT other.test:80 HTTP/1.1',
    'TRACE / HTTP/1.1',
    'HEAD /health HTTP/1.1',
    `GET /${'x'.repeat(20_000)} HTTP/1.1`,
    `GET /?${'a.1.'.repeat(3_000)}=1 HTTP/1.1`,
  ),
)

async function setupConnections() {
  const bundle = await setupQueue({}, 'orders', { unsigned: true })
  const { port } = new URL(bundle.server.url)
  const bodyOf = (text: string) => Buffer.from(JSON.stringify({ QueueUrl: bundle.QueueUrl, MessageBody: text }))
  const headers = [
    ['host', 'localhost'],
    ['content-type', 'application/x-amz-json-1.0'],
    ['x-amz-target', 'AmazonSQS.SendMessage'],
    ['connection', 'close'],
  ] as const
  return {
    ...bundle,
    bodyOf,
    headers,
    exchange: (bytes: Buffer, leave?: 'end' | 'reset') => exchange(Number(port), bytes, leave),
    stored: async () =>
      (
        await bundle.sql<{ body: string }>(
          `select payload -> '$message' ->> 'body' as body from fencepost.job where queue = 'orders' order by 1`,
        )
      ).map(({ body }) => body),
  }
}

/** A body in chunks of any sizes. */
function chunked(body: Buffer, sizes: readonly number[]): Buffer {
  const parts: Buffer[] = []
  for (let at = 0, n = 0; at < body.length; n++) {
    const part = body.subarray(at, at + (sizes[n % sizes.length] as number))
    parts.push(Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from('\r\n'))
    at += part.length
  }
  return Buffer.concat([...parts, Buffer.from('0\r\n\r\n')])
}

it(`a body that is cut off, or longer or shorter than was said, is sent whole or not at all (seed ${seed})`, async () => {
  const { exchange: ask, bodyOf, headers, stored, errors, db } = await setupConnections()
  const told: string[] = []
  const unheard: string[] = []
  let rounds = 0
  const sending = fc.record({
    text: fc.string({ unit: 'grapheme', maxLength: 200 }),
    sizes: fc.option(fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1, maxLength: 5 })),
    /** How far what is said of its length is off. */
    lie: fc.oneof({ weight: 2, arbitrary: fc.constant(0) }, fc.integer({ min: -300, max: 300 })),
    /** How much of it is sent before the caller goes, if it goes. */
    cut: fc.option(fc.double({ min: 0, max: 1, noNaN: true })),
    leave: fc.constantFrom('end' as const, 'reset' as const),
  })
  await fc.assert(
    fc.asyncProperty(sending, async ({ text, sizes, lie, cut, leave }) => {
      const name = `${rounds++} ${text.replace(/\p{C}/gu, '')}`
      const body = bodyOf(name)
      const length = Math.max(0, body.length + lie)
      const bytes = sizes
        ? requestBytes('POST / HTTP/1.1', [...headers, ['transfer-encoding', 'chunked']], chunked(body, sizes))
        : requestBytes('POST / HTTP/1.1', [...headers, ['content-length', `${length}`]], body)
      const goes = cut !== null || (!sizes && lie > 0)
      const sent = bytes.subarray(0, Math.floor(bytes.length * (cut ?? 1)))
      const isWhole = sent.length === bytes.length && (sizes !== null || lie === 0)
      const answer = await ask(sent, goes ? leave : undefined)
      if (answer && !isRefusedByParser(answer)) judge(answer)
      if (!goes) expect(answer?.status).toBe(isWhole ? 200 : 400)
      if (!isWhole) expect(answer?.status).not.toBe(200)
      if (answer?.status === 200) told.push(name)
      else if (isWhole) unheard.push(name)
    }),
    runs(300),
  )
  const kept = await stored()
  expect(kept).toEqual(expect.arrayContaining(told))
  // Who left with the last byte may have been heard without being told so; nobody else was.
  expect([...told, ...unheard]).toEqual(expect.arrayContaining(kept))
  expect(errors).toEqual([])
  expect((await audit(db)).findings).toEqual([])
})

it(`a request whose head is wrong in any way is answered as AWS would, or as no HTTP (seed ${seed})`, async () => {
  const { exchange: ask, bodyOf, headers, errors, db } = await setupConnections()
  const body = bodyOf('a')
  await fc.assert(
    fc.asyncProperty(
      line,
      fc.array(fc.tuple(headerName, headerText), { maxLength: 2 }),
      fc.boolean(),
      async (first, more, own) => {
        const replaced = new Set(own ? more.map(([name]) => name) : [])
        const length = ['content-length', `${body.length}`] as const
        const all = [...headers, length].filter(([name]) => !replaced.has(name))
        // With a framing that is not understood, the server may wait for more until the caller goes.
        const waits = more.some(([name]) => /^(content-length|transfer-encoding|connection|expect|upgrade)$/.test(name))
        const answer = await ask(requestBytes(first, [...all, ...more], body), waits ? 'end' : undefined)
        if (answer && !isRefusedByParser(answer) && answer.status !== 417) judge(answer)
      },
    ),
    runs(300),
  )
  expect(await ask(requestBytes('GET /health HTTP/1.1', headers, Buffer.alloc(0)))).toEqual({
    status: 200,
    body: 'ok\n',
  })
  expect(errors).toEqual([])
  expect((await audit(db)).findings).toEqual([])
})

it('bodies that are longer than any message are refused before they cost memory', async () => {
  const { exchange: ask, headers, stored, errors } = await setupConnections()
  const body = Buffer.alloc(30 * megabyte, 'a')
  const before = process.memoryUsage().arrayBuffers
  let peak = 0
  const watch = setInterval(() => (peak = Math.max(peak, process.memoryUsage().arrayBuffers)), 5)
  const declared = requestBytes('POST / HTTP/1.1', [...headers, ['content-length', `${body.length}`]], body)
  const inChunks = requestBytes(
    'POST / HTTP/1.1',
    [...headers, ['transfer-encoding', 'chunked']],
    chunked(body, [megabyte]),
  )
  for (const bytes of [declared, inChunks]) {
    const answer = await ask(bytes)
    if (answer) expect(answer.status).toBe(413)
  }
  clearInterval(watch)
  expect(peak - before).toBeLessThan(200 * megabyte)
  expect(await stored()).toEqual([])
  expect(errors).toEqual([])
})
