import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { askedQueueAttributes, asksForCounts, attributesOf } from '../../../src/sqs/rules/queue-attributes.js'
import { createdSettings, defaultSettings } from '../../../src/sqs/rules/queue-settings.js'
import { refusedWith, takesOrRefuses } from './refusal.js'

const arn = 'arn:aws:sqs:us-east-1:000000000000:mail'
const counts = { visible: 3, notVisible: 2, delayed: 1 }
const times = { createdAt: new Date(1_700_000_000_999), lastModifiedAt: new Date(1_700_000_001_000) }

const ofEveryQueue = {
  ApproximateNumberOfMessages: '3',
  ApproximateNumberOfMessagesDelayed: '1',
  ApproximateNumberOfMessagesNotVisible: '2',
  CreatedTimestamp: '1700000000',
  DelaySeconds: '0',
  LastModifiedTimestamp: '1700000001',
  MaximumMessageSize: '1048576',
  MessageRetentionPeriod: '345600',
  QueueArn: arn,
  ReceiveMessageWaitTimeSeconds: '0',
  SqsManagedSseEnabled: 'false',
  VisibilityTimeout: '30',
}

describe('GetQueueAttributes', () => {
  it('shows all of a standard queue, without what is not set and what only FIFO queues have', () => {
    expect(attributesOf(arn, defaultSettings(false), counts, times)).toEqual(ofEveryQueue)
  })

  it('shows of a FIFO queue also that it is one', () => {
    expect(attributesOf(arn, defaultSettings(true), counts, times)).toEqual({
      ...ofEveryQueue,
      FifoQueue: 'true',
      ContentBasedDeduplication: 'false',
      DeduplicationScope: 'queue',
      FifoThroughputLimit: 'perQueue',
    })
  })

  it('shows what is set, as text', () => {
    const set = {
      Policy: '{ }',
      RedrivePolicy: '{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:dead","maxReceiveCount":3}',
      RedriveAllowPolicy: '{"redrivePermission":"denyAll"}',
      KmsMasterKeyId: 'alias/aws/sqs',
      KmsDataKeyReusePeriodSeconds: '60',
    }
    const shown = attributesOf(arn, createdSettings('mail', set), counts, times)
    expect(shown).toEqual({ ...ofEveryQueue, ...set })
  })

  it.each<[readonly string[] | undefined, string[]]>([
    [undefined, []],
    [[], []],
    [['VisibilityTimeout', 'VisibilityTimeout'], ['VisibilityTimeout']],
    [
      ['QueueArn', 'DelaySeconds'],
      ['DelaySeconds', 'QueueArn'],
    ],
    [['FifoQueue', 'Policy', 'QueueArn'], ['QueueArn']],
    [['QueueArn', 'All'], Object.keys(ofEveryQueue)],
  ])('asked for %j shows %j', (names, shown) => {
    const attributes = attributesOf(arn, defaultSettings(false), counts, times, askedQueueAttributes(names))
    expect(Object.keys(attributes).sort()).toEqual(shown)
  })

  it('asked for what does not exist says what was meant', () => {
    expect(refusedWith(() => askedQueueAttributes(['All', 'QueueARNs']))).toBe(
      'InvalidAttributeName: Unknown Attribute QueueARNs. Did you mean QueueArn?',
    )
    expect(refusedWith(() => askedQueueAttributes(['all']))).toBe(
      'InvalidAttributeName: Unknown Attribute all. Did you mean All?',
    )
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'binary' })), (names) =>
        takesOrRefuses(() => askedQueueAttributes(names)),
      ),
    )
  })

  it.each<[string, boolean]>([
    ['All', true],
    ['ApproximateNumberOfMessages', true],
    ['ApproximateNumberOfMessagesDelayed', true],
    ['ApproximateNumberOfMessagesNotVisible', true],
    ['QueueArn', false],
  ])('counts for %s: %s', (name, needed) => {
    expect(asksForCounts(askedQueueAttributes([name]))).toBe(needed)
  })
})
