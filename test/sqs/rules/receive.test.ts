import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  attemptOf,
  checkedReceive,
  checkedVisibilitySeconds,
  type ReceiveInput,
} from '../../../src/sqs/rules/receive.js'
import { refusedWith, takesOrRefuses } from './refusal.js'

const standard = 'mail'
const fifo = 'mail.fifo'

const everySystemAttribute = [
  'AWSTraceHeader',
  'ApproximateFirstReceiveTimestamp',
  'ApproximateReceiveCount',
  'DeadLetterQueueSourceArn',
  'MessageDeduplicationId',
  'MessageGroupId',
  'SenderId',
  'SentTimestamp',
  'SequenceNumber',
]

describe.each<[keyof ReceiveInput, number, number, string]>([
  ['MaxNumberOfMessages', 1, 10, 'Must be between 1 and 10, if provided.'],
  ['WaitTimeSeconds', 0, 20, 'Must be >= 0 and <= 20, if provided.'],
  ['VisibilityTimeout', 0, 43_200, 'VisibilityTimeout must be an integer between 0 and 43200.'],
])('%s', (parameter, min, max, reason) => {
  it.each([min, max])('may be %d', (value) => {
    expect(refusedWith(() => checkedReceive({ [parameter]: value }))).toBeUndefined()
  })

  it.each([min - 1, max + 1, min + 0.5, Number.NaN])('may not be %d', (value) => {
    expect(refusedWith(() => checkedReceive({ [parameter]: value }))).toBe(
      `InvalidParameterValueException: Value ${value} for parameter ${parameter} is invalid. Reason: ${reason}`,
    )
  })
})

describe('the VisibilityTimeout of ChangeMessageVisibility', () => {
  it('must be given', () => {
    expect(checkedVisibilitySeconds(0)).toBe(0)
    expect(refusedWith(() => checkedVisibilitySeconds(undefined))).toBe(
      'MissingParameterException: The request must contain the parameter VisibilityTimeout.',
    )
  })
})

describe('what a receive leaves open', () => {
  it('is left open, but for the number of messages', () => {
    expect(checkedReceive({})).toMatchObject({ messagesMax: 1, waitSeconds: undefined, visibilitySeconds: undefined })
    const asked = { MaxNumberOfMessages: 10, WaitTimeSeconds: 0, VisibilityTimeout: 0 }
    expect(checkedReceive(asked)).toMatchObject({ messagesMax: 10, waitSeconds: 0, visibilitySeconds: 0 })
  })
})

describe('the system attributes of messages', () => {
  it.each<[ReceiveInput, string[]]>([
    [{}, []],
    [
      { AttributeNames: ['SenderId'], MessageSystemAttributeNames: ['SentTimestamp', 'SenderId'] },
      ['SenderId', 'SentTimestamp'],
    ],
    [{ AttributeNames: ['All'] }, everySystemAttribute],
    [{ MessageSystemAttributeNames: ['SenderId', 'All'] }, everySystemAttribute],
    [{ MessageSystemAttributeNames: ['DeadLetterQueueSourceArn'] }, ['DeadLetterQueueSourceArn']],
  ])('are asked for with %j', (input, asked) => {
    expect([...checkedReceive(input).systemAttributes].sort()).toEqual(asked)
  })

  it.each<ReceiveInput>([{ AttributeNames: ['SenderID2'] }, { MessageSystemAttributeNames: ['All', 'SenderID2'] }])(
    'may not be unknown: %j',
    (input) => {
      expect(refusedWith(() => checkedReceive(input))).toBe(
        'InvalidAttributeName: Unknown Attribute SenderID2. Did you mean SenderId?',
      )
    },
  )
})

describe('the message attributes that a receiver wants', () => {
  const sent = ['Help.Me', 'Hello', 'General']

  it.each<[string[] | undefined, string[]]>([
    [undefined, []],
    [[], []],
    [['All'], sent],
    [['.*'], sent],
    [['Hello', 'Nothing'], ['Hello']],
    [['hello'], []],
    [['Help'], []],
    [['Help.*'], ['Help.Me']],
    [['Hel.*'], ['Help.Me', 'Hello']],
    [['Hel*'], []],
    [
      ['General', 'Help.*'],
      ['Help.Me', 'General'],
    ],
    [['..x', 'AWS.'], []],
  ])('by %j are %j', (MessageAttributeNames, wanted) => {
    const { wantsAttribute } = checkedReceive({ MessageAttributeNames })
    expect(sent.filter(wantsAttribute)).toEqual(wanted)
  })
})

describe('ReceiveRequestAttemptId', () => {
  it.each(['a', '!~', 'x'.repeat(128)])('may be %j on a FIFO queue', (id) => {
    const receive = checkedReceive({ ReceiveRequestAttemptId: id })
    expect(attemptOf(receive, fifo)).toBe(id)
    expect(refusedWith(() => attemptOf(receive, standard))).toContain(
      'for parameter ReceiveRequestAttemptId is invalid. Reason: The request include parameter that is not valid for this queue type.',
    )
  })

  it.each(['', 'a b', 'x'.repeat(129)])('may not be %j', (id) => {
    expect(refusedWith(() => checkedReceive({ ReceiveRequestAttemptId: id }))).toMatch(
      /^InvalidParameterValueException/,
    )
  })
})

describe('any receive', () => {
  const names = fc.array(fc.oneof(fc.constantFrom('All', '.*', 'SenderId'), fc.string({ unit: 'binary' })))
  const number = fc.oneof(fc.integer({ min: -1, max: 30 }), fc.double())
  const input = fc.record(
    {
      MaxNumberOfMessages: number,
      WaitTimeSeconds: number,
      VisibilityTimeout: number,
      AttributeNames: names,
      MessageSystemAttributeNames: names,
      MessageAttributeNames: names,
      ReceiveRequestAttemptId: fc.string({ unit: 'binary' }),
    },
    { requiredKeys: [] },
  )

  it('is taken or refused', () => {
    fc.assert(
      fc.property(input, fc.constantFrom(standard, fifo), fc.string(), (asked, settings, name) =>
        takesOrRefuses(() => {
          const receive = checkedReceive(asked)
          receive.wantsAttribute(name)
          attemptOf(receive, settings)
        }),
      ),
    )
  })
})
