import { SqsError } from '../sqs-error.js'
import { echoed } from './characters.js'
import { sqsLimits } from './limits.js'
import { invalidParameter, missingParameter } from './parameter-errors.js'
import { jsonObject } from './redrive-policy.js'

/** AddPermission, by the names of the API. */
export interface PermissionInput {
  readonly Label?: string | undefined
  readonly AWSAccountIds?: readonly string[] | undefined
  readonly Actions?: readonly string[] | undefined
}

const grantable = [
  '*',
  'SendMessage',
  'ReceiveMessage',
  'DeleteMessage',
  'ChangeMessageVisibility',
  'GetQueueAttributes',
  'GetQueueUrl',
  'ListDeadLetterSourceQueues',
  'PurgeQueue',
]

const ownersOnly = [
  'AddPermission',
  'CancelMessageMoveTask',
  'CreateQueue',
  'DeleteQueue',
  'ListMessageMoveTasks',
  'ListQueueTags',
  'ListQueues',
  'RemovePermission',
  'SetQueueAttributes',
  'StartMessageMoveTask',
  'TagQueue',
  'UntagQueue',
]

const label = new RegExp(`^[A-Za-z0-9_-]{1,${sqsLimits.policyLabelLengthMax}}$`)

/** The policy of a queue after AddPermission. It is kept for those who read it; rights come from the access key. */
export function policyWithPermission(policy: string | null, arn: string, input: PermissionInput): string {
  const sid = checkedLabel(input.Label)
  const principals = checkedAccounts(input.AWSAccountIds).map((account) => `arn:aws:iam::${account}:root`)
  const actions = checkedActions(input.Actions).map((action) => `SQS:${action}`)
  const document = policyDocument(policy) ?? { Version: '2012-10-17', Id: `${arn}/SQSDefaultPolicy` }
  const statements = statementsOf(document)
  if (statements.some((statement) => sidOf(statement) === sid)) {
    throw invalidParameter('Label', sid, 'Already exists.')
  }
  if (statements.length >= sqsLimits.policyStatementsMax) {
    throw overLimit(
      `${statements.length + 1} statements were found, maximum allowed is ${sqsLimits.policyStatementsMax}.`,
    )
  }
  const added = {
    Sid: sid,
    Effect: 'Allow',
    Principal: { AWS: aloneOrList(principals) },
    Action: aloneOrList(actions),
    Resource: arn,
  }
  const text = JSON.stringify({ ...document, Statement: [...statements, added] })
  const bytes = Buffer.byteLength(text)
  if (bytes > sqsLimits.policyBytesMax) {
    throw overLimit(`The policy would have ${bytes} bytes, maximum allowed is ${sqsLimits.policyBytesMax}.`)
  }
  return text
}

/** The policy of a queue after RemovePermission; null when nothing is left of it. */
export function policyWithoutPermission(policy: string | null, removed: string | undefined): string | null {
  const sid = checkedLabel(removed)
  const document = policyDocument(policy)
  const statements = document === undefined ? [] : statementsOf(document)
  const kept = statements.filter((statement) => sidOf(statement) !== sid)
  if (kept.length === statements.length) {
    throw invalidParameter('Label', sid, "can't find label on existing policy.")
  }
  return kept.length === 0 ? null : JSON.stringify({ ...document, Statement: kept })
}

function checkedLabel(text: string | undefined): string {
  if (text === undefined || text === '') throw missingParameter('Label')
  if (label.test(text)) return text
  const reason = `Can only include alphanumeric characters, hyphens, or underscores. 1 to ${sqsLimits.policyLabelLengthMax} in length.`
  throw invalidParameter('Label', text, reason)
}

function checkedAccounts(accounts: readonly string[] = []): readonly string[] {
  if (accounts.length > sqsLimits.policyPrincipalsMax) {
    throw overLimit(`${accounts.length} principals were found, maximum allowed is ${sqsLimits.policyPrincipalsMax}.`)
  }
  if (accounts.length === 0 || accounts.some((account) => !/^\d{12}$/.test(account))) {
    throw invalidParameter('PrincipalId', `[${accounts.join(', ')}]`, 'Unable to verify. An account has 12 digits.')
  }
  return [...new Set(accounts)]
}

function checkedActions(actions: readonly string[] = []): readonly string[] {
  if (actions.length === 0) throw missingParameter('Actions')
  if (actions.length > sqsLimits.policyActionsMax) {
    throw overLimit(`${actions.length} Actions were found, maximum allowed is ${sqsLimits.policyActionsMax}.`)
  }
  for (const action of actions) {
    if (grantable.includes(action)) continue
    const reason = ownersOnly.includes(action)
      ? 'Only the queue owner is allowed to invoke this action.'
      : `Valid actions are ${grantable.join(', ')}.`
    throw invalidParameter('ActionName', `SQS:${echoed(action)}`, reason)
  }
  return [...new Set(actions)]
}

function policyDocument(policy: string | null): Readonly<Record<string, unknown>> | undefined {
  return policy === null ? undefined : jsonObject(policy)
}

/** A policy with one statement may hold it alone, without a list. */
function statementsOf(document: Readonly<Record<string, unknown>>): readonly unknown[] {
  const statement = document['Statement']
  if (Array.isArray(statement)) return statement
  return statement === undefined ? [] : [statement]
}

function sidOf(statement: unknown): unknown {
  return typeof statement === 'object' && statement !== null && 'Sid' in statement ? statement.Sid : undefined
}

function aloneOrList(values: readonly string[]): string | readonly string[] {
  const [first] = values
  return values.length === 1 && first !== undefined ? first : values
}

function overLimit(text: string): SqsError {
  return new SqsError('OverLimit', text)
}
