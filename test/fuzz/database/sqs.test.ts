import { Agent, request } from 'node:http'
import fc from 'fast-check'
import { expect, it, onTestFinished } from 'vitest'
import { audit } from '../../../src/audit/audit.js'
import { actionNames } from '../../../src/sqs/wire/model.js'
import { setupQueue } from '../../sqs/server/setup.js'
import { hostileText, hostileTexts, nested, runs, seed } from '../hostile.js'
import { type Answer, answerMsMax, judge } from '../wire.js'

interface Asked {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
}

const fields = [
  'QueueUrl',
  'QueueName',
  'MessageBody',
  'Entries',
  'Attributes',
  'AttributeNames',
  'Tags',
  'TagKeys',
  'ReceiptHandle',
  'MaxNumberOfMessages',
  'VisibilityTimeout',
  'DelaySeconds',
  'MessageAttributes',
  'MessageSystemAttributes',
  'MessageGroupId',
  'MessageDeduplicationId',
  'QueueNamePrefix',
  'NextToken',
  'MaxResults',
  'SourceArn',
  'TaskHandle',
  'Label',
  'Actions',
  'AWSAccountIds',
  'ReceiveRequestAttemptId',
] as const

async function setupWire() {
  const bundle = await setupQueue({}, 'orders', { unsigned: true, purgeEvery: 0 })
  const agent = new Agent({ keepAlive: true, maxSockets: 4 })
  onTestFinished(() => agent.destroy())
  const { hostname, port } = new URL(bundle.server.url)
  const ask = ({ method, path, headers, body }: Asked): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const asked = request({ hostname, port, method, path, headers, agent, timeout: answerMsMax }, (response) => {
        let text = ''
        response.setEncoding('utf8')
        response.on('data', (part: string) => (text += part))
        response.on('end', () => resolve({ status: response.statusCode as number, body: text }))
        response.on('error', reject)
      })
      asked.on('timeout', () => asked.destroy(new Error('no answer')))
      asked.on('error', reject)
      asked.end(body)
    })
  return { ...bundle, ask }
}

const jsonValue = fc.oneof(
  hostileText,
  fc.integer(),
  fc.double(),
  fc.constantFrom(
    null,
    true,
    false,
    [],
    {},
    nested(150),
    JSON.parse('{"__proto__": {"DataType": "String"}}') as unknown,
  ),
  fc.jsonValue({ depthSize: 'small' }),
)
const entry = fc.dictionary(fc.constantFrom('Id', ...fields), jsonValue, { maxKeys: 5 })
const attribute = fc.record(
  {
    DataType: fc.oneof(fc.constantFrom('String', 'Number', 'Binary'), hostileText),
    StringValue: hostileText,
    BinaryValue: jsonValue,
  },
  { requiredKeys: [] },
)
const members = fc.oneof(
  jsonValue,
  fc.array(entry, { maxLength: 3 }),
  fc.array(hostileText, { maxLength: 3 }),
  fc.dictionary(hostileText, hostileText, { maxKeys: 3 }),
  fc.dictionary(hostileText, attribute, { maxKeys: 3 }),
)

/** Parameters of which some are right. */
function parameters(url: string): fc.Arbitrary<Record<string, unknown>> {
  const right = {
    QueueUrl: url,
    QueueName: 'orders',
    MessageBody: 'a',
    ReceiptHandle: 'a',
    Attributes: { VisibilityTimeout: '5' },
    Entries: [{ Id: 'a', MessageBody: 'a' }],
  }
  return fc
    .tuple(fc.subarray(Object.keys(right)), fc.dictionary(fc.constantFrom(...fields), members, { maxKeys: 4 }))
    .map(([kept, wild]) => ({
      ...wild,
      ...Object.fromEntries(kept.map((name) => [name, right[name as keyof typeof right]])),
      WaitTimeSeconds: 0, // nobody is to wait here
    }))
}

const action = fc.oneof({ weight: 20, arbitrary: fc.constantFrom(...actionNames) }, hostileText)
const isHeader = (text: string) => /^[\t\x20-\x7e]*$/.test(text) && text.length < 500

const contentType = fc.oneof(
  { weight: 8, arbitrary: fc.constant('application/x-amz-json-1.0') },
  fc.constantFrom(
    'application/json',
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data',
    '',
    'application/x-amz-json-1.0; charset=utf-16',
  ),
)

function jsonRequest(url: string): fc.Arbitrary<Asked> {
  return fc.tuple(action, parameters(url), contentType, fc.nat(), fc.nat(20)).map(([name, given, type, at, how]) => {
    const text = Buffer.from(JSON.stringify(given))
    const place = at % (text.length + 1)
    const body =
      how === 0
        ? text.subarray(0, place)
        : how === 1
          ? Buffer.concat([text.subarray(0, place), Buffer.from([0xff, 0, 0xc3]), text.subarray(place)])
          : how === 2
            ? Buffer.from('['.repeat(100_000))
            : text
    const target = isHeader(name) ? `AmazonSQS.${name}` : 'AmazonSQS.SendMessage'
    return {
      method: how === 3 ? 'PUT' : 'POST',
      path: '/',
      headers: { 'content-type': type, 'x-amz-target': target },
      body,
    }
  })
}

/** The same as a form: `Name=value`, `List.1.Member=value`. */
function formOf(value: unknown, path: string): string[] {
  if (Array.isArray(value)) return value.flatMap((each, n) => formOf(each, `${path}.${n + 1}`))
  if (typeof value === 'object' && value !== null) {
    return Object.entries(value).flatMap(([name, each]) => formOf(each, path === '' ? name : `${path}.${name}`))
  }
  return [`${encodeURIComponent(path.toWellFormed())}=${encodeURIComponent(String(value).toWellFormed())}`]
}

function queryRequest(url: string): fc.Arbitrary<Asked> {
  return fc.tuple(action, parameters(url), fc.nat(), fc.nat(20)).map(([name, { ...given }, at, how]) => {
    const text = ['Version=2012-11-05', ...formOf({ Action: name, ...withoutDeep(given) }, '')].join('&')
    const place = at % (text.length + 1)
    const form =
      how === 0
        ? text.slice(0, place)
        : how === 1
          ? `${text.slice(0, place)}%zz%C3${text.slice(place)}`
          : how === 2
            ? `${text}${'&Entries.1'.repeat(5_000)}`
            : text
    const get = how === 3 && form.length < 4_000
    return {
      method: get ? 'GET' : 'POST',
      path: get ? `/?${form}` : '/',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: Buffer.from(get ? '' : form),
    }
  })
}

/** A form nests in the names, which this would make as long as the square of the depth. */
function withoutDeep(given: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(given).filter(
      ([, value]) => JSON.stringify(value).length < 2_000_000 && !JSON.stringify(value).includes('[[{'),
    ),
  )
}

it.each([
  ['JSON', jsonRequest],
  ['the query protocol', queryRequest],
] as const)(`any request of %s is answered as AWS would (seed ${seed})`, async (_protocol, requests) => {
  const { ask, server, errors, db } = await setupWire()
  await fc.assert(
    fc.asyncProperty(requests(`${server.url}/000000000000/orders`), async (asked) => judge(await ask(asked))),
    runs(400),
  )
  expect(errors).toEqual([])
  expect((await audit(db)).findings).toEqual([])
})

it('every hostile text is a name, a value, a tag or a body, or refused', async () => {
  const { ask, server, errors, sql } = await setupWire()
  const QueueUrl = `${server.url}/000000000000/orders`
  const json = (name: string, given: object) =>
    ask({
      method: 'POST',
      path: '/',
      headers: { 'content-type': 'application/x-amz-json-1.0', 'x-amz-target': `AmazonSQS.${name}` },
      body: Buffer.from(JSON.stringify(given)),
    })
  for (const text of hostileTexts) {
    judge(await json('CreateQueue', { QueueName: text }))
    judge(await json('CreateQueue', { QueueName: 'other', Attributes: { [text]: text }, tags: { [text]: text } }))
    judge(await json('SetQueueAttributes', { QueueUrl, Attributes: { RedrivePolicy: text, Policy: text } }))
    judge(await json('TagQueue', { QueueUrl, Tags: { [text]: text } }))
    judge(await json('UntagQueue', { QueueUrl, TagKeys: [text] }))
    judge(await json('GetQueueUrl', { QueueName: text }))
    judge(await json('ListQueues', { QueueNamePrefix: text, NextToken: text, MaxResults: 5 }))
    judge(await json('DeleteMessage', { QueueUrl, ReceiptHandle: text }))
    judge(await json('AddPermission', { QueueUrl, Label: text, AWSAccountIds: [text], Actions: [text] }))
    judge(await json('ReceiveMessage', { QueueUrl, ReceiveRequestAttemptId: text, MessageAttributeNames: [text] }))
    judge(await json('StartMessageMoveTask', { SourceArn: text, DestinationArn: text }))
    const sent = await json('SendMessage', {
      QueueUrl,
      MessageBody: text,
      MessageGroupId: text.slice(0, 100) || 'a',
      MessageAttributes: { a: { DataType: 'String', StringValue: text.slice(0, 100) || 'a' } },
    })
    judge(sent)
  }
  expect(errors).toEqual([])
  expect(await sql(`select count(*) > 5 as stored from fencepost.job where queue = 'orders'`)).toEqual([
    { stored: true },
  ])
})

it(`a job whose payload looks like a message is received all the same (seed ${seed})`, async () => {
  const { add, receive, errors } = await setupWire()
  const text = fc.oneof(hostileText, fc.constant('a'))
  const parts = { body: text, sender: text, attributes: fc.oneof(jsonValue, fc.dictionary(text, jsonValue)) }
  const forged = fc.oneof(
    jsonValue,
    fc.record(
      { ...parts, groupId: jsonValue, deduplicationId: jsonValue, traceHeader: jsonValue },
      { requiredKeys: [] },
    ),
  )
  await fc.assert(
    fc.asyncProperty(forged, async ($message) => {
      const payloadText = JSON.stringify({ $message }).replaceAll('\\u0000', '').toWellFormed()
      fc.pre(!/\\ud[89a-f]/i.test(payloadText) && payloadText.length < 500_000)
      await add({ queue: 'orders', task: 'orders', payloadText })
      expect(await receive()).toHaveLength(1)
    }),
    runs(60),
  )
  expect(errors).toEqual([])
})

it('a request that would cost memory is refused before', async () => {
  const { ask, errors } = await setupWire()
  const headers = { 'content-type': 'application/x-amz-json-1.0', 'x-amz-target': 'AmazonSQS.SendMessage' }
  const form = { 'content-type': 'application/x-www-form-urlencoded' }
  const before = process.memoryUsage().heapUsed
  const asked = [
    { headers, body: '['.repeat(3_000_000) },
    { headers, body: '{"a":'.repeat(500_000) },
    { headers, body: `{${'"a":1,'.repeat(400_000)}"b":1}` },
    { headers: form, body: `Action=SendMessage&${'a.1.'.repeat(900_000)}=1` },
    { headers: form, body: `Action=SendMessage&${'a=1&'.repeat(900_000)}` },
    {
      headers: form,
      body: `Action=SendMessageBatch&${Array.from({ length: 100_000 }, (_, n) => `Entries.${n}.Id=a`).join('&')}`,
    },
    { headers: form, body: 'Action=SendMessageBatch&SendMessageBatchRequestEntry.999999999.Id=a' },
  ]
  for (const { headers: given, body } of asked) {
    judge(await ask({ method: 'POST', path: '/', headers: given, body: Buffer.from(body) }))
  }
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(500 * 2 ** 20)
  expect(errors).toEqual([])
})
