import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type BatchAction, checkBatchSize, checkedBatch, eachEntry } from '../../../src/sqs/rules/batch.js'
import { checkedMessage } from '../../../src/sqs/rules/message.js'
import { SqsError } from '../../../src/sqs/sqs-error.js'
import { refusedWith, takesOrRefuses } from './refusal.js'

const entries = (count: number) => Array.from({ length: count }, (_, i) => ({ Id: `e${i}` }))
const batch = (ids: readonly (string | undefined)[]) =>
  checkedBatch(
    'DeleteMessageBatch',
    ids.map((Id) => ({ Id })),
  )

describe('a batch', () => {
  it.each([1, 10])('may have %i entries', (count) => {
    expect(checkedBatch('SendMessageBatch', entries(count))).toEqual(entries(count))
  })

  it.each<BatchAction>(['SendMessageBatch', 'DeleteMessageBatch', 'ChangeMessageVisibilityBatch'])(
    'may not be empty: %s',
    (action) => {
      const text = `EmptyBatchRequest: There should be at least one ${action}RequestEntry in the request.`
      expect(refusedWith(() => checkedBatch(action, []))).toBe(text)
      expect(refusedWith(() => checkedBatch(action, undefined))).toBe(text)
    },
  )

  it('may not have eleven entries', () => {
    expect(refusedWith(() => checkedBatch('SendMessageBatch', entries(11)))).toBe(
      'TooManyEntriesInBatchRequest: Maximum number of entries per request are 10. You have sent 11.',
    )
  })

  it('may not repeat an id', () => {
    expect(refusedWith(() => batch(['a', 'b', 'a']))).toBe('BatchEntryIdsNotDistinct: Id a repeated.')
    expect(refusedWith(() => batch(['a', 'A']))).toBeUndefined()
  })

  it.each(['a', '-', '_', '0', 'x'.repeat(80)])('may have the id %j', (id) => {
    expect(refusedWith(() => batch([id]))).toBeUndefined()
  })

  it.each(['', ' ', 'a.b', 'ä', 'a\n', 'x'.repeat(81)])('may not have the id %j', (id) => {
    expect(refusedWith(() => batch(['ok', id]))).toBe(
      'InvalidBatchEntryId: A batch entry id can only contain alphanumeric characters, hyphens and underscores. It can be at most 80 letters long.',
    )
  })

  it('may not leave an id out', () => {
    expect(refusedWith(() => batch(['a', undefined]))).toBe(
      'MissingParameterException: The request must contain the parameter DeleteMessageBatchRequestEntry.2.Id.',
    )
  })

  it('is taken or refused, whatever its ids', () => {
    const ids = fc.array(
      fc.option(fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('a', 'b')), { nil: undefined }),
    )
    fc.assert(fc.property(ids, (some) => takesOrRefuses(() => batch(some))))
  })
})

describe('the messages of a batch', () => {
  const halves = (more: number) => [
    { MessageBody: 'x'.repeat(524_288) },
    {
      MessageBody: 'x'.repeat(524_288 - 10 + more),
      MessageAttributes: { ab: { DataType: 'String', StringValue: 'xy' } },
    },
  ]

  it('may have a mebibyte together, and not a byte more', () => {
    expect(refusedWith(() => checkBatchSize(halves(0)))).toBeUndefined()
    expect(refusedWith(() => checkBatchSize(halves(1)))).toBe(
      'BatchRequestTooLong: Batch requests cannot be longer than 1048576 bytes. You have sent 1048577 bytes.',
    )
  })

  it('are counted also where one is not valid', () => {
    expect(refusedWith(() => checkBatchSize([{}, { MessageBody: '\0'.repeat(1_048_576) }]))).toBeUndefined()
    expect(refusedWith(() => checkBatchSize([{}, { MessageBody: '\0'.repeat(1_048_577) }]))).toContain('TooLong')
  })
})

describe('each entry', () => {
  it('passes or fails on its own', () => {
    const sent = [
      { Id: 'a', MessageBody: 'one' },
      { Id: 'b', MessageBody: '\0' },
      { Id: 'c', MessageBody: 'three' },
      { Id: 'd' },
    ]
    const { passed, failed } = eachEntry(sent, (entry) => checkedMessage(entry).body)
    expect(passed).toEqual([
      { id: 'a', value: 'one' },
      { id: 'c', value: 'three' },
    ])
    expect(failed.map(({ id, error }) => [id, error instanceof SqsError && error.shape])).toEqual([
      ['b', 'InvalidMessageContents'],
      ['d', 'MissingParameterException'],
    ])
  })

  it('does not hide a bug', () => {
    const bug = () => {
      throw new TypeError('a bug')
    }
    expect(() => eachEntry([{ Id: 'a' }], bug)).toThrow(TypeError)
  })
})
