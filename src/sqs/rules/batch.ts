import { SqsError } from '../sqs-error.js'
import { echoed } from './characters.js'
import { sqsLimits } from './limits.js'
import { type MessageInput, messageSize } from './message.js'
import { missingParameter } from './parameter-errors.js'

export type BatchAction = 'SendMessageBatch' | 'DeleteMessageBatch' | 'ChangeMessageVisibilityBatch'

export interface BatchEntryInput {
  readonly Id?: string | undefined
}

const entryId = new RegExp(`^[A-Za-z0-9_-]{1,${sqsLimits.batchEntryIdLengthMax}}$`)

/** The shape of a batch. A wrong shape fails the whole request, before any entry is looked at. */
export function checkedBatch<E extends BatchEntryInput>(
  action: BatchAction,
  entries: readonly E[] | undefined,
): readonly (E & { readonly Id: string })[] {
  if (entries === undefined || entries.length === 0) {
    const text = `There should be at least one ${action}RequestEntry in the request.`
    throw new SqsError('EmptyBatchRequest', text)
  }
  if (entries.length > sqsLimits.batchEntriesMax) {
    const text = `Maximum number of entries per request are ${sqsLimits.batchEntriesMax}. You have sent ${entries.length}.`
    throw new SqsError('TooManyEntriesInBatchRequest', text)
  }
  const seen = new Set<string>()
  entries.forEach(({ Id }, index) => {
    if (Id === undefined) throw missingParameter(`${action}RequestEntry.${index + 1}.Id`)
    if (!entryId.test(Id)) {
      throw new SqsError(
        'InvalidBatchEntryId',
        `A batch entry id can only contain alphanumeric characters, hyphens and underscores. It can be at most ${sqsLimits.batchEntryIdLengthMax} letters long.`,
      )
    }
    if (seen.has(Id)) throw new SqsError('BatchEntryIdsNotDistinct', `Id ${echoed(Id)} repeated.`)
    seen.add(Id)
  })
  return entries as readonly (E & { readonly Id: string })[]
}

/** All messages of a SendMessageBatch together, whatever is wrong with one of them. */
export function checkBatchSize(entries: readonly MessageInput[]): void {
  const bytes = entries.reduce((sum, entry) => sum + messageSize(entry.MessageBody ?? '', entry.MessageAttributes), 0)
  if (bytes <= sqsLimits.batchBytesMax) return
  const text = `Batch requests cannot be longer than ${sqsLimits.batchBytesMax} bytes. You have sent ${bytes} bytes.`
  throw new SqsError('BatchRequestTooLong', text)
}

export interface BatchOutcome<T> {
  readonly passed: readonly { readonly id: string; readonly value: T }[]
  readonly failed: readonly { readonly id: string; readonly error: SqsError }[]
}

/** Looks at each entry on its own: what is wrong with one of them fails that one. */
export function eachEntry<E extends { readonly Id: string }, T>(
  entries: readonly E[],
  check: (entry: E) => T,
): BatchOutcome<T> {
  const passed: { id: string; value: T }[] = []
  const failed: { id: string; error: SqsError }[] = []
  for (const entry of entries) {
    try {
      passed.push({ id: entry.Id, value: check(entry) })
    } catch (error) {
      if (!(error instanceof SqsError)) throw error
      failed.push({ id: entry.Id, error })
    }
  }
  return { passed, failed }
}
