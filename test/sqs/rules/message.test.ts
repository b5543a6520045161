import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { checkedMessage, type MessageInput, messageSize, placedMessage } from '../../../src/sqs/rules/message.js'
import { refusedWith, takesOrRefuses } from './refusal.js'

const [standard, fifo] = [false, true]
const message = (input: MessageInput) => checkedMessage({ MessageBody: 'hello', ...input })
const placed = (input: MessageInput, isFifo: boolean) => placedMessage(message(input), isFifo)

describe('the body of a message', () => {
  it.each(['x', '\t\n\r', ' ', '\uD7FF', '\uE000', '\uFFFD', '\u{10000}', '\u{10FFFF}', '\x7F\x85'])(
    'may be %j',
    (body) => {
      expect(checkedMessage({ MessageBody: body }).body).toBe(body)
    },
  )

  it.each([
    ['\0', '#x0', 0],
    ['ab\x08', '#x8', 2],
    ['\x0B', '#xB', 0],
    ['\x0C', '#xC', 0],
    ['\x0E', '#xE', 0],
    ['\x1F', '#x1F', 0],
    ['\uD800', '#xD800', 0],
    ['x\uDFFF', '#xDFFF', 1],
    ['\u{1F600}\uFFFE', '#xFFFE', 1],
    ['ä\uFFFF\0', '#xFFFF', 1],
  ])('may not be %j, of which the first wrong character is named', (body, name, offset) => {
    expect(refusedWith(() => checkedMessage({ MessageBody: body }))).toBe(
      `InvalidMessageContents: Invalid binary character '${name}' was found in the message body at character ${offset}, the set of allowed characters is #x9 | #xA | #xD | [#x20-#xD7FF] | [#xE000-#xFFFD] | [#x10000-#x10FFFF].`,
    )
  })

  it.each([undefined, ''])('may not be missing: %j', (body) => {
    expect(refusedWith(() => checkedMessage({ MessageBody: body }))).toBe(
      'MissingParameterException: The request must contain the parameter MessageBody.',
    )
  })
})

describe('DelaySeconds', () => {
  it.each([0, 1, 900])('may be %d', (delay) => {
    expect(message({ DelaySeconds: delay }).delaySeconds).toBe(delay)
  })

  it.each([-1, 901, 1.5, Number.NaN, Number.POSITIVE_INFINITY])('may not be %d', (delay) => {
    expect(refusedWith(() => message({ DelaySeconds: delay }))).toBe(
      `InvalidParameterValueException: Value ${delay} for parameter DelaySeconds is invalid. Reason: DelaySeconds must be >= 0 and <= 900.`,
    )
  })
})

describe.each(['MessageGroupId', 'MessageDeduplicationId'] as const)('%s', (parameter) => {
  it.each(['a', '!"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~', 'x'.repeat(128)])('may be %j', (id) => {
    expect(refusedWith(() => message({ [parameter]: id }))).toBeUndefined()
  })

  it.each(['', ' ', 'a b', 'ä', 'a\n', '\x7F', 'x'.repeat(129)])('may not be %j', (id) => {
    const said = refusedWith(() => message({ [parameter]: id }))
    expect(said).toMatch(/^InvalidParameterValueException: Value /)
    expect(said).toContain(
      `for parameter ${parameter} is invalid. Reason: ${parameter} can only include alphanumeric and punctuation characters. 1 to 128 in length.`,
    )
  })
})

describe('the size of a message', () => {
  it.each<[string, MessageInput, number]>([
    ['counts bytes, not characters', { MessageBody: 'äö\u{1F600}' }, 8],
    [
      'counts name, type and text of an attribute',
      { MessageBody: 'x', MessageAttributes: { abc: { DataType: 'String.ü', StringValue: 'é' } } },
      1 + 3 + 9 + 2,
    ],
    [
      'counts the raw bytes of a binary attribute',
      { MessageBody: 'x', MessageAttributes: { b: { DataType: 'Binary', BinaryValue: new Uint8Array(5) } } },
      1 + 1 + 6 + 5,
    ],
    [
      'does not count system attributes',
      { MessageBody: 'x', MessageSystemAttributes: { AWSTraceHeader: { DataType: 'String', StringValue: 'Root=1' } } },
      1,
    ],
  ])('%s', (_, input, bytes) => {
    expect(checkedMessage(input).bytes).toBe(bytes)
    expect(messageSize(input.MessageBody ?? '', input.MessageAttributes)).toBe(bytes)
  })
})

describe('a message to a standard queue', () => {
  it.each<[MessageInput, object]>([
    [{}, { delaySeconds: undefined, groupId: null, deduplicationId: null }],
    [{ DelaySeconds: 0 }, { delaySeconds: 0, groupId: null, deduplicationId: null }],
    [{ DelaySeconds: 900 }, { delaySeconds: 900, groupId: null, deduplicationId: null }],
    [{ MessageGroupId: 'tenant' }, { delaySeconds: undefined, groupId: 'tenant', deduplicationId: null }],
  ])('with %j is placed as %j', (input, placement) => {
    expect(placed(input, standard)).toEqual({ deduplicationGiven: false, ...placement })
  })

  it('has no MessageDeduplicationId', () => {
    expect(refusedWith(() => placed({ MessageDeduplicationId: 'd' }, standard))).toBe(
      'InvalidParameterValueException: Value d for parameter MessageDeduplicationId is invalid. Reason: The request include parameter that is not valid for this queue type.',
    )
  })
})

describe('a message to a FIFO queue', () => {
  const ofHello = createHash('sha256').update('hello').digest('hex')

  it.each<[MessageInput, object]>([
    [{ MessageDeduplicationId: 'd' }, { groupId: 'g', deduplicationId: 'd', deduplicationGiven: true }],
    [{}, { groupId: 'g', deduplicationId: ofHello, deduplicationGiven: false }],
    [{ DelaySeconds: 0 }, { groupId: 'g', deduplicationId: ofHello, deduplicationGiven: false }],
  ])('with %j is placed', (input, placement) => {
    expect(placed({ MessageGroupId: 'g', ...input }, fifo)).toEqual({ delaySeconds: undefined, ...placement })
  })

  it('is the same by its body alone', () => {
    const MessageAttributes = { a: { DataType: 'String', StringValue: 'b' } }
    expect(placed({ MessageGroupId: 'g', MessageAttributes }, fifo).deduplicationId).toBe(ofHello)
    expect(ofHello).toBe('2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824')
  })

  it.each<[MessageInput, string]>([
    [
      { MessageDeduplicationId: 'd' },
      'MissingParameterException: The request must contain the parameter MessageGroupId.',
    ],
    [
      { MessageGroupId: 'g', MessageDeduplicationId: 'd', DelaySeconds: 1 },
      'InvalidParameterValueException: Value 1 for parameter DelaySeconds is invalid. Reason: The request include parameter that is not valid for this queue type.',
    ],
  ])('with %j is refused', (input, text) => {
    expect(refusedWith(() => placed(input, fifo))).toBe(text)
  })
})

describe('any message', () => {
  const text = fc.oneof(fc.string({ unit: 'binary' }), fc.string())
  const attribute = fc.record(
    {
      DataType: fc.oneof(fc.constantFrom('String', 'Number', 'Binary', 'Number.x'), text),
      StringValue: fc.oneof(fc.constantFrom('1', '1e5'), text),
      BinaryValue: fc.uint8Array(),
      StringListValues: fc.array(fc.string()),
    },
    { requiredKeys: [] },
  )
  const name = fc.oneof(fc.constantFrom('a', '__proto__', 'AWSTraceHeader'), text)
  const attributes = fc.dictionary(name, attribute, { maxKeys: 12 })
  const input = fc.record(
    {
      MessageBody: text,
      DelaySeconds: fc.oneof(fc.integer(), fc.double()),
      MessageAttributes: attributes,
      MessageSystemAttributes: attributes,
      MessageDeduplicationId: text,
      MessageGroupId: text,
    },
    { requiredKeys: [] },
  )

  it('is taken or refused', () => {
    const queue = fc.constantFrom(standard, fifo)
    fc.assert(
      fc.property(input, queue, (sent, settings) =>
        takesOrRefuses(() => placedMessage(checkedMessage(sent), settings)),
      ),
      { numRuns: 1_000 },
    )
  })
})
