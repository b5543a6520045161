import type { Database } from '../store/database.js'
import type { FairRanks } from './fair-ranks.js'
import type { MessageStore } from './message-store.js'
import type { QueueWaiters } from './queue-waiters.js'
import { queueArn, queueUrl } from './rules/queue-name.js'
import type { AccessKeys } from './rules/rights.js'
import { SqsError } from './sqs-error.js'

/** What the actions work with. */
export interface Desk {
  readonly db: Database
  /** This server, as the others know it. */
  readonly server: string
  readonly keys: AccessKeys
  readonly region: string
  readonly account: string
  readonly purgeEveryMs: number
  readonly messages: MessageStore
  readonly waiters: QueueWaiters
  readonly ranks: FairRanks
  /** Says again what this server does with the ledger, after others took it for dead. */
  readonly register: () => Promise<void>
}

export function urlOf(desk: Desk, baseUrl: string, name: string): string {
  return queueUrl(baseUrl, name, desk.account)
}

export function arnOf(desk: Desk, name: string): string {
  return queueArn(name, desk.region, desk.account)
}

export function noQueue(): SqsError {
  return new SqsError('QueueDoesNotExist', 'The specified queue does not exist.')
}
