import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  type AttributeTexts,
  changedSettings,
  createdSettings,
  defaultSettings,
  type QueueSettings,
  sameSettings,
  settableAttributes,
  writtenSettings,
} from '../../../src/sqs/rules/queue-settings.js'
import { refusedWith, takesOrRefuses } from './refusal.js'

const arn = (name: string) => `arn:aws:sqs:us-east-1:000000000000:${name}`
const standard = (asked: AttributeTexts = {}) => createdSettings('mail', asked)
const fifo = (asked: AttributeTexts = {}) => createdSettings('mail.fifo', { FifoQueue: 'true', ...asked })
const redrive = (policy: unknown) => ({ RedrivePolicy: JSON.stringify(policy) })
const allow = (policy: unknown) => ({ RedriveAllowPolicy: JSON.stringify(policy) })
const jsonOfBytes = (bytes: number) => JSON.stringify({ a: 'x'.repeat(bytes - '{"a":""}'.length) })

describe('the settings of a queue of which nothing is said', () => {
  it('are those of AWS', () => {
    expect(standard()).toEqual({
      fifo: false,
      delaySeconds: 0,
      maximumMessageSize: 1_048_576,
      messageRetentionPeriod: 345_600,
      receiveMessageWaitTimeSeconds: 0,
      visibilityTimeout: 30,
      policy: null,
      redrivePolicy: null,
      redriveAllowPolicy: null,
      kmsMasterKeyId: null,
      kmsDataKeyReusePeriodSeconds: 300,
      sqsManagedSseEnabled: false,
      contentBasedDeduplication: false,
      deduplicationScope: 'queue',
      fifoThroughputLimit: 'perQueue',
    })
  })
})

describe.each<[string, keyof QueueSettings, number, number]>([
  ['DelaySeconds', 'delaySeconds', 0, 900],
  ['MaximumMessageSize', 'maximumMessageSize', 1_024, 1_048_576],
  ['MessageRetentionPeriod', 'messageRetentionPeriod', 60, 1_209_600],
  ['ReceiveMessageWaitTimeSeconds', 'receiveMessageWaitTimeSeconds', 0, 20],
  ['VisibilityTimeout', 'visibilityTimeout', 0, 43_200],
  ['KmsDataKeyReusePeriodSeconds', 'kmsDataKeyReusePeriodSeconds', 60, 86_400],
])('%s', (attribute, setting, min, max) => {
  it.each([min, min + 1, max - 1, max])('takes %i', (value) => {
    expect(standard({ [attribute]: String(value) })[setting]).toBe(value)
  })

  it.each([
    String(min - 1),
    String(max + 1),
    '',
    ' 100',
    '100 ',
    '1e2',
    '100.0',
    '0x40',
    '-0',
    'ten',
    '９９',
    '9'.repeat(400),
  ])('refuses %j', (text) => {
    expect(refusedWith(() => standard({ [attribute]: text }))).toBe(
      `InvalidAttributeValue: Invalid value for the parameter ${attribute}. Reason: It must be a whole number from ${min} to ${max}.`,
    )
  })
})

describe.each<[string, keyof QueueSettings, Record<string, unknown>, string[]]>([
  ['SqsManagedSseEnabled', 'sqsManagedSseEnabled', { true: true, false: false, TRUE: true }, ['', '1', 'yes']],
  ['ContentBasedDeduplication', 'contentBasedDeduplication', { true: true, false: false }, ['', '0']],
  [
    'DeduplicationScope',
    'deduplicationScope',
    { queue: 'queue', messageGroup: 'messageGroup' },
    ['', 'Queue', 'group'],
  ],
  ['FifoThroughputLimit', 'fifoThroughputLimit', { perQueue: 'perQueue' }, ['', 'perMessageGroup']],
])('%s', (attribute, setting, taken, refused) => {
  it.each(Object.entries(taken))('takes %s', (text, value) => {
    expect(fifo({ [attribute]: text })[setting]).toBe(value)
  })

  it.each(refused)('refuses %j', (text) => {
    expect(refusedWith(() => fifo({ [attribute]: text }))).toMatch(
      `InvalidAttributeValue: Invalid value for the parameter ${attribute}. Reason: It must be `,
    )
  })
})

describe('attributes of FIFO queues', () => {
  it.each(['ContentBasedDeduplication', 'DeduplicationScope', 'FifoThroughputLimit'])(
    'are unknown to a standard queue: %s',
    (attribute) => {
      expect(refusedWith(() => standard({ [attribute]: 'true' }))).toBe(
        `InvalidAttributeName: Unknown Attribute ${attribute}. Only FIFO queues have it.`,
      )
    },
  )

  it('limit the throughput by group only if they deduplicate by group', () => {
    const both = fifo({ FifoThroughputLimit: 'perMessageGroupId', DeduplicationScope: 'messageGroup' })
    expect(both).toMatchObject({ fifoThroughputLimit: 'perMessageGroupId', deduplicationScope: 'messageGroup' })
    const text =
      'InvalidAttributeValue: Invalid value for the parameter FifoThroughputLimit. Reason: perMessageGroupId needs the DeduplicationScope messageGroup.'
    expect(refusedWith(() => fifo({ FifoThroughputLimit: 'perMessageGroupId' }))).toBe(text)
    expect(refusedWith(() => changedSettings(both, { DeduplicationScope: 'queue' }))).toBe(text)
    const back = { DeduplicationScope: 'queue', FifoThroughputLimit: 'perQueue' }
    expect(changedSettings(both, back)).toEqual(fifo())
  })
})

describe('FifoQueue', () => {
  it('is true exactly if the name ends in .fifo', () => {
    expect(fifo().fifo).toBe(true)
    expect(standard().fifo).toBe(false)
    expect(refusedWith(() => standard({ FifoQueue: 'true' }))).toContain(
      'InvalidParameterValueException: The name of a FIFO queue can only include',
    )
    for (const asked of [{}, { FifoQueue: 'false' }]) {
      expect(refusedWith(() => createdSettings('mail.fifo', asked))).toContain(
        'InvalidParameterValueException: Can only include alphanumeric characters',
      )
    }
  })

  it('is, as on AWS, not to be given for a standard queue', () => {
    expect(refusedWith(() => standard({ FifoQueue: 'false' }))).toContain(
      'InvalidAttributeName: Unknown Attribute FifoQueue.',
    )
  })

  it('cannot be changed', () => {
    const text =
      'InvalidAttributeValue: Invalid value for the parameter FifoQueue. Reason: Modifying queue type is not supported.'
    expect(refusedWith(() => changedSettings(standard(), { FifoQueue: 'true' }))).toBe(text)
    expect(refusedWith(() => changedSettings(fifo(), { FifoQueue: 'false' }))).toBe(text)
    expect(changedSettings(fifo(), { FifoQueue: 'true' })).toEqual(fifo())
  })

  it('must be true or false', () => {
    expect(refusedWith(() => fifo({ FifoQueue: 'yes' }))).toContain('InvalidAttributeValue: Invalid value')
  })
})

describe('Policy', () => {
  it.each(['{}', ' {"Version": "2012-10-17"} ', jsonOfBytes(8_192)])('is kept as it was written: %.30j', (policy) => {
    expect(standard({ Policy: policy }).policy).toBe(policy)
  })

  it.each(['{', 'null', '[]', '"x"', '1', 'undefined', jsonOfBytes(8_193)])('may not be %.30j', (policy) => {
    expect(refusedWith(() => standard({ Policy: policy }))).toMatch(
      /^InvalidAttributeValue: Invalid value for the parameter Policy\. Reason: /,
    )
  })
})

describe('RedrivePolicy', () => {
  it.each([1, 1_000, '1', '1000'])('takes a maxReceiveCount of %j', (maxReceiveCount) => {
    const policy = { deadLetterTargetArn: arn('dead'), maxReceiveCount }
    expect(standard(redrive(policy)).redrivePolicy).toEqual({ ...policy, maxReceiveCount: Number(maxReceiveCount) })
  })

  it.each<[unknown, string]>([
    [{ deadLetterTargetArn: arn('dead') }, 'does not contain mandatory attribute: maxReceiveCount.'],
    [{ maxReceiveCount: 3 }, 'does not contain mandatory attribute: deadLetterTargetArn.'],
    [{ deadLetterTargetArn: arn('dead'), maxReceiveCount: 0 }, 'Invalid value for maxReceiveCount: 0, valid values'],
    [{ deadLetterTargetArn: arn('dead'), maxReceiveCount: 1_001 }, 'valid values are from 1 to 1000 both inclusive.'],
    [{ deadLetterTargetArn: arn('dead'), maxReceiveCount: 1.5 }, 'Invalid value for maxReceiveCount: 1.5'],
    [{ deadLetterTargetArn: arn('dead'), maxReceiveCount: '1e1' }, 'Invalid value for maxReceiveCount: "1e1"'],
    [{ deadLetterTargetArn: arn('dead'), maxReceiveCount: null }, 'Invalid value for maxReceiveCount: null'],
    [{ deadLetterTargetArn: 'dead', maxReceiveCount: 3 }, 'it must be the ARN of a queue.'],
    [{ deadLetterTargetArn: 7, maxReceiveCount: 3 }, 'it must be the ARN of a queue.'],
    [{ deadLetterTargetArn: arn('d'), maxReceiveCount: 3, x: 1 }, 'Only following attributes are supported'],
    [{ deadLetterTargetArn: arn('d.fifo'), maxReceiveCount: 3 }, 'must be same type of queue as the source.'],
    [[], 'is not a valid JSON map.'],
    [null, 'is not a valid JSON map.'],
  ])('may not be %j', (policy, text) => {
    const said = refusedWith(() => standard(redrive(policy)))
    expect(said).toContain('InvalidAttributeValue: Value ')
    expect(said).toContain('for parameter RedrivePolicy is invalid. Reason: ')
    expect(said).toContain(text)
  })

  it('leads from FIFO only to FIFO', () => {
    const to = (name: string) => redrive({ deadLetterTargetArn: arn(name), maxReceiveCount: 3 })
    expect(fifo(to('dead.fifo')).redrivePolicy?.maxReceiveCount).toBe(3)
    expect(refusedWith(() => fifo(to('dead')))).toContain('same type of queue')
  })
})

describe('RedriveAllowPolicy', () => {
  const arns = (count: number) => Array.from({ length: count }, (_, i) => arn(`source-${i}`))

  it.each<unknown>([
    { redrivePermission: 'allowAll' },
    { redrivePermission: 'denyAll' },
    { redrivePermission: 'byQueue', sourceQueueArns: arns(1) },
    { redrivePermission: 'byQueue', sourceQueueArns: arns(10) },
  ])('may be %j', (policy) => {
    expect(standard(allow(policy)).redriveAllowPolicy).toEqual(policy)
  })

  it.each<[unknown, string]>([
    [{}, 'must be allowAll, denyAll or byQueue.'],
    [{ redrivePermission: 'AllowAll' }, 'must be allowAll, denyAll or byQueue.'],
    [{ redrivePermission: 'allowAll', sourceQueueArns: arns(1) }, 'you must set redrivePermission to byQueue.'],
    [{ redrivePermission: 'byQueue' }, 'you must also specify one or more sourceQueueArns values.'],
    [{ redrivePermission: 'byQueue', sourceQueueArns: [] }, 'you must also specify one or more'],
    [{ redrivePermission: 'byQueue', sourceQueueArns: arn('a') }, 'you must also specify one or more'],
    [{ redrivePermission: 'byQueue', sourceQueueArns: arns(11) }, 'You can specify up to 10 sourceQueueArns values.'],
    [{ redrivePermission: 'byQueue', sourceQueueArns: ['a'] }, 'must be the ARN of a queue.'],
    [{ redrivePermission: 'denyAll', more: 1 }, 'can contain only redrivePermission and sourceQueueArns.'],
    ['denyAll', 'It is not a valid JSON map.'],
  ])('may not be %.60j', (policy, text) => {
    const said = refusedWith(() => standard(allow(policy)))
    expect(said).toContain('InvalidAttributeValue: Value ')
    expect(said).toContain('for parameter RedriveAllowPolicy is invalid.')
    expect(said).toContain(text)
  })
})

describe('the empty text', () => {
  const policy = { deadLetterTargetArn: arn('dead'), maxReceiveCount: 3 }
  const all = standard({
    ...redrive(policy),
    ...allow({ redrivePermission: 'denyAll' }),
    Policy: '{}',
    KmsMasterKeyId: 'alias/aws/sqs',
  })

  it.each<[string, keyof QueueSettings]>([
    ['Policy', 'policy'],
    ['RedrivePolicy', 'redrivePolicy'],
    ['RedriveAllowPolicy', 'redriveAllowPolicy'],
    ['KmsMasterKeyId', 'kmsMasterKeyId'],
  ])('removes %s and nothing else', (attribute, setting) => {
    expect(all[setting]).not.toBeNull()
    expect(changedSettings(all, { [attribute]: '' })).toEqual({ ...all, [setting]: null })
  })
})

describe('KmsMasterKeyId', () => {
  it('has up to 2,048 characters', () => {
    expect(standard({ KmsMasterKeyId: 'k'.repeat(2_048) }).kmsMasterKeyId).toHaveLength(2_048)
    expect(refusedWith(() => standard({ KmsMasterKeyId: 'k'.repeat(2_049) }))).toContain('InvalidAttributeValue')
    expect(refusedWith(() => standard({ KmsMasterKeyId: 'k\0' }))).toContain('InvalidAttributeValue')
  })
})

describe('an attribute that does not exist', () => {
  it.each([
    ['VisibilityTimout', 'Unknown Attribute VisibilityTimout. Did you mean VisibilityTimeout?'],
    ['visibilityTimeout', 'Unknown Attribute visibilityTimeout. Did you mean VisibilityTimeout?'],
    ['Colour', 'Unknown Attribute Colour.'],
    ['QueueArn', 'Unknown Attribute QueueArn.'],
    ['CreatedTimestamp', 'Unknown Attribute CreatedTimestamp.'],
    ['constructor', 'Unknown Attribute constructor.'],
    ['fifo', 'Unknown Attribute fifo.'],
  ])('is refused with what was meant: %s', (attribute, text) => {
    expect(refusedWith(() => standard({ [attribute]: '1' }))).toBe(`InvalidAttributeName: ${text}`)
    expect(refusedWith(() => changedSettings(standard(), { [attribute]: '1' }))).toBe(`InvalidAttributeName: ${text}`)
  })
})

describe('CreateQueue of a queue that exists', () => {
  const existing = standard({
    VisibilityTimeout: '60',
    Policy: '{"Id":"p"}',
    ...redrive({ deadLetterTargetArn: arn('dead'), maxReceiveCount: 3 }),
  })

  it.each<AttributeTexts>([
    {},
    { VisibilityTimeout: '60' },
    { VisibilityTimeout: '060' },
    { DelaySeconds: '0' },
    { Policy: '{ "Id": "p" }' },
    { KmsMasterKeyId: '' },
    { RedrivePolicy: JSON.stringify({ maxReceiveCount: '3', deadLetterTargetArn: arn('dead') }) },
  ])('is fine with %j', (asked) => {
    expect(refusedWith(() => sameSettings(asked, existing))).toBeUndefined()
  })

  it.each<[string, AttributeTexts]>([
    ['VisibilityTimeout', { VisibilityTimeout: '30' }],
    ['DelaySeconds', { VisibilityTimeout: '60', DelaySeconds: '1' }],
    ['Policy', { Policy: '{"Id":"q"}' }],
    ['Policy', { Policy: '' }],
    ['RedrivePolicy', redrive({ deadLetterTargetArn: arn('dead'), maxReceiveCount: 4 })],
    ['RedriveAllowPolicy', allow({ redrivePermission: 'denyAll' })],
  ])('names %s, which differs', (attribute, asked) => {
    expect(refusedWith(() => sameSettings(asked, existing))).toBe(
      `QueueNameExists: A queue already exists with the same name and a different value for attribute ${attribute}`,
    )
  })

  it('checks what is given as for a new queue', () => {
    expect(refusedWith(() => sameSettings({ VisibilityTimeout: 'x' }, existing))).toContain('InvalidAttributeValue')
    expect(refusedWith(() => sameSettings({ VisibilityTimout: '60' }, existing))).toContain('InvalidAttributeName')
    expect(refusedWith(() => sameSettings({ FifoQueue: 'true' }, existing))).toContain('InvalidParameterValue')
    expect(refusedWith(() => sameSettings({ FifoQueue: 'true' }, fifo()))).toBeUndefined()
  })
})

describe('settings', () => {
  const number = (min: number, max: number) => fc.integer({ min, max }).map(String)
  const texts = fc.record(
    {
      DelaySeconds: number(0, 900),
      MaximumMessageSize: number(1_024, 1_048_576),
      MessageRetentionPeriod: number(60, 1_209_600),
      ReceiveMessageWaitTimeSeconds: number(0, 20),
      VisibilityTimeout: number(0, 43_200),
      Policy: fc.constantFrom('{}', '{"Statement":[]}'),
      RedrivePolicy: fc
        .integer({ min: 1, max: 1_000 })
        .map((maxReceiveCount) => JSON.stringify({ deadLetterTargetArn: arn('dead.fifo'), maxReceiveCount })),
      RedriveAllowPolicy: fc.constant('{"redrivePermission":"denyAll"}'),
      KmsMasterKeyId: fc.constant('alias/aws/sqs'),
      SqsManagedSseEnabled: fc.constantFrom('true', 'false'),
      ContentBasedDeduplication: fc.constantFrom('true', 'false'),
      DeduplicationScope: fc.constantFrom('queue', 'messageGroup'),
    },
    { requiredKeys: [] },
  ) as fc.Arbitrary<AttributeTexts>

  it('survive being written and read, and every attribute given is shown as it was', () => {
    fc.assert(
      fc.property(texts, (asked) => {
        const settings = fifo(asked)
        const written = writtenSettings(settings)
        expect(written).toMatchObject(asked)
        expect(createdSettings('other.fifo', written)).toEqual(settings)
        expect(JSON.parse(JSON.stringify(settings))).toEqual(settings)
        sameSettings({ ...written }, settings)
      }),
    )
  })

  it('are taken or refused, whatever is written', () => {
    const wild = fc.dictionary(
      fc.oneof(fc.constantFrom(...settableAttributes), fc.string()),
      fc.oneof(
        fc.string({ unit: 'binary' }),
        fc.json(),
        fc.constantFrom('0', '1', 'true', '', '{"maxReceiveCount":{}}'),
      ),
    )
    fc.assert(
      fc.property(wild, fc.boolean(), (asked, isFifo) =>
        [
          () => createdSettings(isFifo ? 'q.fifo' : 'q', asked),
          () => changedSettings(defaultSettings(isFifo), asked),
          () => sameSettings(asked, defaultSettings(isFifo)),
        ].every(takesOrRefuses),
      ),
      { numRuns: 200 },
    )
  })
})
