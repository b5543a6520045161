import { describe, expect, it } from 'vitest'
import { isAttributeNumber } from '../../../src/sqs/rules/attribute-number.js'
import {
  type AttributeInput,
  checkedMessageAttributes,
  checkedTraceHeader,
} from '../../../src/sqs/rules/message-attributes.js'
import { refusedWith } from './refusal.js'

const string = (StringValue: string): AttributeInput => ({ DataType: 'String', StringValue })
const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`a${i}`, string('x')]))

describe('message attributes', () => {
  it('may be none, and up to ten', () => {
    expect(checkedMessageAttributes()).toEqual({})
    expect(checkedMessageAttributes(many(10))).toEqual(many(10))
    expect(refusedWith(() => checkedMessageAttributes(many(11)))).toBe(
      'InvalidParameterValueException: Number of message attributes [11] exceeds the allowed maximum [10].',
    )
  })
})

describe('the name of an attribute', () => {
  it.each([
    'a',
    'A-b_c.9',
    'aws',
    'awsx',
    'AWSTraceHeader',
    'amazonian',
    '-',
    'x'.repeat(256),
    '__proto__',
    'constructor',
  ])('may be %j', (name) => {
    const checked = checkedMessageAttributes(Object.fromEntries([[name, string('v')]]))
    expect(Object.entries(checked)).toEqual([[name, string('v')]])
  })

  it.each([
    ['', 'The request must contain non-empty message attribute name.'],
    ['x'.repeat(257), 'Message attribute name can have at most 256 characters.'],
    ['a b', "Invalid non-alphanumeric character '#x20' was found in the message attribute name."],
    ['ä', "'#xE4'"],
    ['\u{1F600}', "'#x1F600'"],
    ['a\n', "'#xA'"],
    ['.a', "Invalid message attribute name starting with character '.' was found."],
    ['a.', "Invalid message attribute name ending with character '.' was found."],
    ['a..b', "Message attribute name can not have successive '.' character."],
    ['AWS.a', "You can't use message attribute names beginning with 'AWS.' or 'Amazon.'."],
    ['aWs.a', "You can't use message attribute names beginning with"],
    ['Amazon.a', "You can't use message attribute names beginning with"],
    ['AMAZON.a', "You can't use message attribute names beginning with"],
  ])('may not be %j', (name, text) => {
    const said = refusedWith(() => checkedMessageAttributes({ [name]: string('v') }))
    expect(said).toMatch(/^InvalidParameterValueException: /)
    expect(said).toContain(text)
  })
})

describe('the type and the value of an attribute', () => {
  const bytes = new Uint8Array([0, 255])

  it.each<AttributeInput>([
    { DataType: 'String', StringValue: 'x' },
    { DataType: 'String.json', StringValue: '{}' },
    { DataType: `String.${'x'.repeat(249)}`, StringValue: 'x' },
    { DataType: 'Number', StringValue: '-1.5' },
    { DataType: 'Number.int', StringValue: '7' },
    { DataType: 'Binary', BinaryValue: bytes },
    { DataType: 'Binary.gif', BinaryValue: bytes },
  ])('may be %j', (input) => {
    expect(checkedMessageAttributes({ a: input })).toEqual({ a: input })
  })

  it.each<[AttributeInput, AttributeInput]>([
    [{ ...string('x'), BinaryValue: new Uint8Array(), StringListValues: [], BinaryListValues: [] }, string('x')],
    [
      { DataType: 'Binary', BinaryValue: bytes, StringValue: '' },
      { DataType: 'Binary', BinaryValue: bytes },
    ],
  ])('are taken without the empty members beside them: %j', (input, checked) => {
    expect(checkedMessageAttributes({ a: input })).toEqual({ a: checked })
  })

  it.each<[AttributeInput, string]>([
    [{}, "The message (user) attribute 'a' must contain non-empty message attribute type."],
    [{ DataType: '', StringValue: 'x' }, 'must contain non-empty message attribute type.'],
    [
      { DataType: 'string', StringValue: 'x' },
      'You must use only the following supported type prefixes: Binary, Number,',
    ],
    [{ DataType: 'Strings', StringValue: 'x' }, "The type of message (user) attribute 'a' is invalid."],
    [{ DataType: 'String.', StringValue: 'x' }, "The type of message (user) attribute 'a' is invalid."],
    [{ DataType: `String.${'x'.repeat(250)}`, StringValue: 'x' }, 'can have at most 256 characters.'],
    [{ DataType: 'String.\0', StringValue: 'x' }, "Invalid binary character '#x0' was found in the type of"],
    [{ DataType: 'String' }, "Message (user) attribute 'a' must contain a non-empty value of type 'String'."],
    [{ DataType: 'String', StringValue: '' }, "must contain a non-empty value of type 'String'."],
    [{ DataType: 'String', BinaryValue: bytes }, "must contain a non-empty value of type 'String'."],
    [{ DataType: 'Number.x', StringValue: '' }, "must contain a non-empty value of type 'Number.x'."],
    [{ DataType: 'Binary', StringValue: 'x' }, "must contain a non-empty value of type 'Binary'."],
    [{ DataType: 'Binary', BinaryValue: new Uint8Array() }, "must contain a non-empty value of type 'Binary'."],
    [{ ...string('x'), BinaryValue: bytes }, 'has multiple values.'],
    [{ ...string('x'), StringListValues: ['x'] }, 'Lists are not supported.'],
    [{ ...string('x'), BinaryListValues: [bytes] }, 'Lists are not supported.'],
    [string('ok\0'), "Invalid binary character '#x0' was found in the value of the message (user) attribute 'a' at"],
    [{ DataType: 'Number', StringValue: 'ten' }, "Can't cast the value of message (user) attribute 'a' to a number."],
    [{ DataType: 'Number.int', StringValue: '1 ' }, "Can't cast the value of message (user) attribute 'a'"],
  ])('may not be %j', (input, text) => {
    const said = refusedWith(() => checkedMessageAttributes({ a: input }))
    expect(said).toMatch(/^InvalidParameterValueException: /)
    expect(said).toContain(text)
  })
})

describe('a number', () => {
  const zeros = (count: number) => '0'.repeat(count)

  it.each([
    '0',
    '-0',
    '+1',
    '007',
    '1.',
    '.5',
    '-1.50',
    '1e5',
    '1E+5',
    '1.5e-7',
    '9'.repeat(38),
    `0.${'9'.repeat(38)}`,
    `${zeros(100)}1`,
    `1${zeros(126)}`,
    '1e126',
    '10e125',
    '9.9e125',
    '-1e126',
    '1e-128',
    '0.1e-127',
    `0.${zeros(127)}1`,
    '0e999999999999999999999',
    `0.${zeros(500)}`,
  ])('is %s', (text) => {
    expect(isAttributeNumber(text)).toBe(true)
  })

  it.each([
    '',
    '.',
    '-',
    '+',
    'e5',
    '1e',
    '1e1.5',
    '--1',
    '1,5',
    '1 000',
    ' 1',
    '1\n',
    '0x10',
    'NaN',
    'Infinity',
    '1_000',
    '１',
    '9'.repeat(39),
    `1.${zeros(37)}1`,
    '1.1e126',
    '2e126',
    '1e127',
    `1${zeros(127)}`,
    '-1e127',
    '9.9e-129',
    '1e-129',
    `1e${'9'.repeat(400)}`,
    `1e-${'9'.repeat(400)}`,
  ])('is not %j', (text) => {
    expect(isAttributeNumber(text)).toBe(false)
  })

  it('of a million digits is refused at once', () => {
    const text = `${'10'.repeat(500_000)}x`
    const from = performance.now()
    expect(isAttributeNumber(text)).toBe(false)
    expect(isAttributeNumber(`1${zeros(999_999)}1`)).toBe(false)
    expect(performance.now() - from).toBeLessThan(1_000)
  })
})

describe('the trace header', () => {
  const header = 'Root=1-5759e988-bd862e3fe1be46a994272793;Sampled=1'

  it('is a text, if it is given', () => {
    expect(checkedTraceHeader()).toBeUndefined()
    expect(checkedTraceHeader({})).toBeUndefined()
    expect(checkedTraceHeader({ AWSTraceHeader: string(header) })).toBe(header)
    expect(checkedTraceHeader({ AWSTraceHeader: string('x'.repeat(1_024)) })).toHaveLength(1_024)
  })

  it.each<[Record<string, AttributeInput>, string]>([
    [{ Other: string('x') }, "Message system attribute name 'Other' is invalid."],
    [{ AWSTraceHeader: string(header), awstraceheader: string('x') }, "name 'awstraceheader' is invalid."],
    [{ AWSTraceHeader: { DataType: 'Number', StringValue: '1' } }, "attribute 'AWSTraceHeader' is invalid."],
    [{ AWSTraceHeader: { DataType: 'String.x', StringValue: '1' } }, 'You must use only the type String.'],
    [{ AWSTraceHeader: { StringValue: '1' } }, 'You must use only the type String.'],
    [{ AWSTraceHeader: string('') }, "Message (system) attribute 'AWSTraceHeader' must contain a non-empty value"],
    [{ AWSTraceHeader: string('x'.repeat(1_025)) }, 'can have at most 1024 bytes.'],
  ])('may not be %.80j', (inputs, text) => {
    const said = refusedWith(() => checkedTraceHeader(inputs))
    expect(said).toMatch(/^InvalidParameterValueException: /)
    expect(said).toContain(text)
  })
})
