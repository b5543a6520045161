import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { SqsError } from '../../../src/sqs/sqs-error.js'
import type { DecodedRequest, HttpRequest } from '../../../src/sqs/wire/http-message.js'
import { decodeJsonRequest, encodeJsonOutput } from '../../../src/sqs/wire/json.js'
import { type ActionName, actionNames, actions } from '../../../src/sqs/wire/model.js'
import { decodeQueryRequest, encodeQueryError, encodeQueryOutput } from '../../../src/sqs/wire/query.js'
import type { Members, Shape, WireFields, WireValue } from '../../../src/sqs/wire/shape.js'

const baseUrl = 'http://sqs.test:9324'

describe('the JSON decoder', () => {
  it('throws nothing but an SqsError, whatever comes', () => {
    const body = fc.oneof(fc.uint8Array().map(Buffer.from), fc.json({ maxDepth: 4 }).map(utf8), fc.string().map(utf8))
    fc.assert(
      fc.property(fc.oneof(actionName, fc.string()), body, (action, bytes) => {
        onlySqsErrors(() => decodeJsonRequest(jsonRequest(action, bytes)))
      }),
    )
  })

  it('throws nothing but an SqsError when one member is of another kind', () => {
    fc.assert(
      fc.property(actionName, fc.jsonValue({ maxDepth: 3 }), fc.nat(), (action, value, n) => {
        const names = Object.keys(actions[action].input)
        const body = { QueueUrl: 'q', QueueName: 'q', [names[n % names.length] ?? '']: value }
        onlySqsErrors(() => decodeJsonRequest(jsonRequest(action, utf8(JSON.stringify(body)))))
      }),
    )
  })

  it('reads back every input that can be written', () => {
    fc.assert(
      fc.property(fc.oneof(...actionNames.map(anyInput)), ({ action, input }) => {
        const written = encodeJsonAs(actions[action].input, input)
        expect(decodeJsonRequest(jsonRequest(action, utf8(written)))).toEqual({ protocol: 'json', action, input })
      }),
    )
  })

  it('does not look at what it does not know, and takes null for nothing', () => {
    const body = utf8('{"QueueName":"q","Attributes":null,"Colour":{"__type":[1]},"__proto__":{"QueueName":"p"}}')
    expect(decodeJsonRequest(jsonRequest('CreateQueue', body)).input).toEqual({ QueueName: 'q' })
  })

  it('takes no body for an empty input, and refuses text that is not UTF-8', () => {
    expect(decodeJsonRequest(jsonRequest('ListQueues', Buffer.alloc(0))).input).toEqual({})
    const latin1 = Buffer.from('{"QueueNamePrefix":"é"}', 'latin1')
    expect(() => decodeJsonRequest(jsonRequest('ListQueues', latin1))).toThrow('not valid UTF-8')
  })

  it('keeps a name that an object would take for its prototype', () => {
    const body = utf8('{"QueueUrl":"q","Tags":{"__proto__":"a","constructor":"b"}}')
    const { input } = decodeJsonRequest(jsonRequest('TagQueue', body)) as DecodedRequest<'TagQueue'>
    expect(Object.entries(input.Tags)).toEqual([
      ['__proto__', 'a'],
      ['constructor', 'b'],
    ])
  })

  it('is not brought down by nesting', () => {
    const deep = '['.repeat(200_000) + ']'.repeat(200_000)
    onlySqsErrors(() => decodeJsonRequest(jsonRequest('ListQueues', utf8(`{"QueueNamePrefix":${deep}}`))))
    onlySqsErrors(() => decodeJsonRequest(jsonRequest('ListQueues', utf8(`{"Unknown":${deep}}`))))
  })
})

describe('the query decoder', () => {
  const parameter = fc.oneof(
    fc.string(),
    fc.constantFrom('Attribute.1.Name', 'Attribute.1.Value', 'AttributeName.1', 'AttributeName', 'Tag.1', 'QueueUrl'),
    fc
      .array(fc.constantFrom('SendMessageBatchRequestEntry', '1', '0', 'MessageAttribute', 'Name', 'Value', ''), {
        maxLength: 12,
      })
      .map((steps) => steps.join('.')),
  )
  const pairs = fc.array(fc.tuple(parameter, fc.string({ unit: 'grapheme' })))

  it('throws nothing but an SqsError, whatever comes', () => {
    fc.assert(
      fc.property(fc.oneof(actionName, fc.string()), pairs, fc.string(), (action, parameters, noise) => {
        const text = `Action=${encodeURIComponent(action)}&${formOf(parameters)}&${noise}`
        onlySqsErrors(() => decodeQueryRequest(formRequest(text), baseUrl))
        onlySqsErrors(() => decodeQueryRequest({ ...formRequest(''), method: 'GET', url: `/a/b?${text}` }, baseUrl))
      }),
    )
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => {
        onlySqsErrors(() => decodeQueryRequest({ ...formRequest(''), body: Buffer.from(bytes) }, baseUrl))
      }),
    )
  })

  it('reads back every input that can be written', () => {
    fc.assert(
      fc.property(fc.oneof(...actionNames.map(anyInput)), ({ action, input }) => {
        const text = formOf([['Action', action], ...flattened(actions[action].input, input, '')])
        const decoded = decodeQueryRequest(formRequest(text), baseUrl)
        expect(decoded).toEqual({ protocol: 'query', action, input: asWritten(action, withoutEmpty(input)) })
      }),
    )
  })

  it('takes the queue from the path if no parameter names one', () => {
    const read = (url: string) =>
      decodeQueryRequest({ method: 'GET', url, headers: {}, body: Buffer.alloc(0) }, baseUrl)
    expect(read('/000000000000/orders?Action=PurgeQueue').input).toEqual({ QueueUrl: `${baseUrl}/000000000000/orders` })
    expect(read('/queue/orders/?Action=PurgeQueue').input).toEqual({ QueueUrl: `${baseUrl}/queue/orders` })
    expect(read('/queue/orders?Action=PurgeQueue&QueueUrl=q').input).toEqual({ QueueUrl: 'q' })
    expect(read('/queue/orders?Action=ListQueues').input).toEqual({})
    expect(() => read('/?Action=PurgeQueue')).toThrow('QueueUrl')
  })

  it('reads the forms that people write by hand', () => {
    const read = (text: string) => decodeQueryRequest(formRequest(text), baseUrl).input
    expect(read('Action=SetQueueAttributes&QueueUrl=q&Attribute.Name=DelaySeconds&Attribute.Value=5')).toEqual({
      QueueUrl: 'q',
      Attributes: { DelaySeconds: '5' },
    })
    expect(read('Action=GetQueueAttributes&QueueUrl=q&AttributeName=All')).toEqual({
      QueueUrl: 'q',
      AttributeNames: ['All'],
    })
    expect(read('Action=GetQueueAttributes&QueueUrl=q&AttributeName.10=b&AttributeName.9=a&AttributeName.x=c')).toEqual(
      {
        QueueUrl: 'q',
        AttributeNames: ['a', 'b'],
      },
    )
    expect(read('Action=ListQueues&QueueNamePrefix=a+b%2Bc&Colour=red')).toEqual({ QueueNamePrefix: 'a b+c' })
  })

  it('reads the query string and the body as one', () => {
    const request = { ...formRequest('MessageBody=a'), url: '/queue/q?Action=SendMessage' }
    expect(decodeQueryRequest(request, baseUrl).input).toEqual({ QueueUrl: `${baseUrl}/queue/q`, MessageBody: 'a' })
  })
})

describe('the encoders', () => {
  it('write what is there and leave out what is not', () => {
    const output = { MessageId: 'm', SequenceNumber: undefined }
    expect(encodeJsonOutput('SendMessage', output, 'r').body).toBe('{"MessageId":"m"}')
    expect(encodeQueryOutput('SendMessage', output, 'r').body).toContain(
      '<SendMessageResult><MessageId>m</MessageId></SendMessageResult>',
    )
    expect(encodeJsonOutput('ReceiveMessage', {}, 'r').body).toBe('{}')
    expect(encodeQueryOutput('ReceiveMessage', {}, 'r').body).toContain('<ReceiveMessageResult/>')
  })

  it('never write XML that no parser reads', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const { body } = encodeQueryError(new SqsError('InternalFailure', `${text}\u0000\ud800`), 'r')
        const message = /<Message>(.*)<\/Message>/s.exec(body)?.[1] ?? ''
        expect(message).not.toMatch(/[<>\r]|&(?!amp;|lt;|gt;|quot;|#xD;)/)
        // oxlint-disable-next-line no-control-regex
        expect(message).not.toMatch(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/)
        expect(message.isWellFormed()).toBe(true)
      }),
    )
  })
})

const actionName = fc.constantFrom(...actionNames)

function onlySqsErrors(decode: () => unknown): void {
  try {
    decode()
  } catch (error) {
    if (!(error instanceof SqsError)) throw error
  }
}

function utf8(text: string): Buffer {
  return Buffer.from(text, 'utf8')
}

function jsonRequest(action: string, body: Buffer): Pick<HttpRequest, 'headers' | 'body'> {
  return { headers: { 'x-amz-target': `AmazonSQS.${action}` }, body }
}

function formRequest(text: string): HttpRequest {
  return { method: 'POST', url: '/', headers: {}, body: utf8(text) }
}

/** Any value of a shape. Text has no lone surrogates: UTF-8 cannot carry them. */
function anyValue(shape: Shape): fc.Arbitrary<WireValue> {
  switch (shape.kind) {
    case 'string':
      return fc.string({ unit: 'binary' })
    case 'integer':
      return fc.integer()
    case 'long':
      return fc.maxSafeInteger()
    case 'boolean':
      return fc.boolean()
    case 'blob':
      return fc.uint8Array().map((bytes) => Buffer.from(bytes))
    case 'list':
      return fc.array(anyValue(shape.item), { minLength: 1, maxLength: 3 })
    case 'map':
      return fc.dictionary(fc.string({ unit: 'binary' }), anyValue(shape.value), { maxKeys: 3, noNullPrototype: true })
    default:
      return anyFields(shape.members)
  }
}

function anyFields(members: Members): fc.Arbitrary<WireFields> {
  const values = Object.fromEntries(Object.entries(members).map(([name, { shape }]) => [name, anyValue(shape)]))
  const requiredKeys = Object.keys(members).filter((name) => members[name]?.required)
  return fc.record(values, { requiredKeys, noNullPrototype: true })
}

function anyInput(action: ActionName): fc.Arbitrary<{ action: ActionName; input: WireFields }> {
  return anyFields(actions[action].input)
    .filter((input) => Object.keys(actions[action].input).every((name) => !isRequiredAndEmpty(action, name, input)))
    .map((input) => ({ action, input }))
}

/** The query protocol cannot write a map of none, so that a required one would be missing. */
function isRequiredAndEmpty(action: ActionName, name: string, input: WireFields): boolean {
  const members: Members = actions[action].input
  const { required, shape } = members[name] ?? {}
  return required === true && shape?.kind === 'map' && Object.keys(input[name] ?? {}).length === 0
}

function encodeJsonAs(members: Members, input: WireFields): string {
  expect(Object.keys(input).every((name) => name in members)).toBe(true)
  return JSON.stringify(input, function (this: WireFields, name, value: unknown) {
    const held = this[name]
    return held instanceof Uint8Array ? Buffer.from(held).toString('base64') : value
  })
}

function formOf(pairs: readonly (readonly [string, string])[]): string {
  return pairs.map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`).join('&')
}

/** The other direction of the query protocol, as an SDK does it. */
function flattened(members: Members, fields: WireFields, path: string): [string, string][] {
  return Object.entries(members).flatMap(([name, member]) => {
    const value = fields[name]
    return value === undefined ? [] : flattenedValue(member.shape, value, `${path}${member.query ?? name}`)
  })
}

function flattenedValue(shape: Shape, value: WireValue, path: string): [string, string][] {
  switch (shape.kind) {
    case 'list':
      return (value as readonly WireValue[]).flatMap((item, i) => flattenedValue(shape.item, item, `${path}.${i + 1}`))
    case 'map':
      return Object.entries(value as WireFields).flatMap(([key, item], i): [string, string][] => [
        [`${path}.${i + 1}.${shape.key}`, key],
        ...flattenedValue(shape.value, item, `${path}.${i + 1}.Value`),
      ])
    case 'structure':
      return flattened(shape.members, value as WireFields, `${path}.`)
    case 'blob':
      return [[path, Buffer.from(value as Uint8Array).toString('base64')]]
    case 'string':
      return [[path, value as string]]
    default:
      return [[path, JSON.stringify(value)]]
  }
}

/** As the query protocol has it: a map of none is not there. */
function withoutEmpty(value: WireFields): WireFields {
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, item]) => !isPlainObject(item) || Object.keys(item).length > 0)
      .map(([name, item]) => [name, cleaned(item)]),
  )
}

function cleaned(value: WireValue): WireValue {
  if (Array.isArray(value)) return (value as readonly WireValue[]).map(cleaned)
  return isPlainObject(value) ? withoutEmpty(value) : value
}

function isPlainObject(value: WireValue): value is WireFields {
  return typeof value === 'object' && !Array.isArray(value) && !(value instanceof Uint8Array)
}

/** ReceiveMessage has two members under one name: of two that are written the last counts, and both are read. */
function asWritten(action: ActionName, input: WireFields): WireFields {
  if (action !== 'ReceiveMessage') return input
  const { AttributeNames: first = [], MessageSystemAttributeNames: second = [] } = input as Record<string, string[]>
  const both = [...second, ...first.slice(second.length)]
  return both.length === 0 ? input : { ...input, AttributeNames: both, MessageSystemAttributeNames: both }
}
