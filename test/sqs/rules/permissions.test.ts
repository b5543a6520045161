import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  type PermissionInput,
  policyWithoutPermission,
  policyWithPermission,
} from '../../../src/sqs/rules/permissions.js'
import { refusedWith, takesOrRefuses } from './refusal.js'

const arn = 'arn:aws:sqs:us-east-1:000000000000:mail'
const account = '123456789012'
const good = { Label: 'alice', AWSAccountIds: [account], Actions: ['SendMessage'] }
const add = (policy: string | null, input: PermissionInput) => policyWithPermission(policy, arn, input)
const statement = {
  Sid: 'alice',
  Effect: 'Allow',
  Principal: { AWS: `arn:aws:iam::${account}:root` },
  Action: 'SQS:SendMessage',
  Resource: arn,
}
const policyOf = (statements: number) =>
  JSON.stringify({ Statement: Array.from({ length: statements }, (_, i) => ({ Sid: `s${i}` })) })

describe('AddPermission', () => {
  it('makes the policy of a queue that has none', () => {
    expect(JSON.parse(add(null, good))).toEqual({
      Version: '2012-10-17',
      Id: `${arn}/SQSDefaultPolicy`,
      Statement: [statement],
    })
  })

  it('adds to the policy that there is, and leaves the rest of it alone', () => {
    const before = { Version: '2008-10-17', Id: 'mine', Statement: [{ Sid: 'bob', Effect: 'Deny' }] }
    expect(JSON.parse(add(JSON.stringify(before), good))).toEqual({
      ...before,
      Statement: [...before.Statement, statement],
    })
    const alone = { ...before, Statement: { Sid: 'bob' } }
    expect(JSON.parse(add(JSON.stringify(alone), good)).Statement).toEqual([{ Sid: 'bob' }, statement])
  })

  it('lists several accounts and actions, each once', () => {
    const input = { Label: 'x', AWSAccountIds: [account, '000000000000', account], Actions: ['*', 'PurgeQueue', '*'] }
    expect(JSON.parse(add(null, input)).Statement[0]).toMatchObject({
      Principal: { AWS: [`arn:aws:iam::${account}:root`, 'arn:aws:iam::000000000000:root'] },
      Action: ['SQS:*', 'SQS:PurgeQueue'],
    })
  })

  const seven = [
    'SendMessage',
    'ReceiveMessage',
    'DeleteMessage',
    'ChangeMessageVisibility',
    'GetQueueAttributes',
    'GetQueueUrl',
    'PurgeQueue',
  ]

  it.each<[string | null, PermissionInput]>([
    [null, { ...good, Label: 'x'.repeat(80) }],
    [null, { ...good, Actions: seven }],
    [null, { ...good, Actions: ['ListDeadLetterSourceQueues'] }],
    [null, { ...good, AWSAccountIds: Array.from({ length: 50 }, () => account) }],
    [policyOf(19), good],
  ])('is within the limits: %.20j %.60j', (policy, input) => {
    expect(refusedWith(() => add(policy, input))).toBeUndefined()
  })

  it.each<[string | null, PermissionInput, string]>([
    [null, { ...good, Label: undefined }, 'MissingParameterException: The request must contain the parameter Label.'],
    [null, { ...good, Label: '' }, 'MissingParameterException: The request must contain the parameter Label.'],
    [null, { ...good, Label: 'x'.repeat(81) }, 'for parameter Label is invalid. Reason: Can only include alphanumeric'],
    [null, { ...good, Label: 'a b' }, 'for parameter Label is invalid.'],
    [
      JSON.stringify({ Statement: [statement] }),
      good,
      'Value alice for parameter Label is invalid. Reason: Already exists.',
    ],
    [JSON.stringify({ Statement: statement }), good, 'Already exists.'],
    [policyOf(20), good, 'OverLimit: 21 statements were found, maximum allowed is 20.'],
    [JSON.stringify({ Id: 'x'.repeat(8_100) }), good, 'OverLimit: The policy would have'],
    [null, { ...good, AWSAccountIds: [] }, 'Value [] for parameter PrincipalId is invalid. Reason: Unable to verify.'],
    [null, { ...good, AWSAccountIds: undefined }, 'Value [] for parameter PrincipalId is invalid.'],
    [null, { ...good, AWSAccountIds: [account, '12345678901'] }, 'for parameter PrincipalId is invalid.'],
    [null, { ...good, AWSAccountIds: ['1234567890123'] }, 'for parameter PrincipalId is invalid.'],
    [null, { ...good, AWSAccountIds: ['alice'] }, 'Value [alice] for parameter PrincipalId is invalid.'],
    [
      null,
      { ...good, AWSAccountIds: Array.from({ length: 51 }, () => account) },
      'OverLimit: 51 principals were found',
    ],
    [null, { ...good, Actions: [] }, 'MissingParameterException: The request must contain the parameter Actions.'],
    [null, { ...good, Actions: [...seven, '*'] }, 'OverLimit: 8 Actions were found, maximum allowed is 7.'],
    [
      null,
      { ...good, Actions: ['SetQueueAttributes'] },
      'Reason: Only the queue owner is allowed to invoke this action.',
    ],
    [
      null,
      { ...good, Actions: ['Fly'] },
      'Value SQS:Fly for parameter ActionName is invalid. Reason: Valid actions are *,',
    ],
    [
      null,
      { ...good, Actions: ['SendMessageBatch'] },
      'Value SQS:SendMessageBatch for parameter ActionName is invalid.',
    ],
  ])('beyond them is refused: %.20j %.60j', (policy, input, text) => {
    expect(refusedWith(() => add(policy, input))).toContain(text)
  })
})

describe('RemovePermission', () => {
  it('takes back what AddPermission gave', () => {
    const first = add(null, good)
    const both = add(first, { ...good, Label: 'bob' })
    expect(policyWithoutPermission(both, 'bob')).toBe(first)
    expect(policyWithoutPermission(first, 'alice')).toBeNull()
  })

  it.each<[string | null, string | undefined, string]>([
    [null, 'bob', "Value bob for parameter Label is invalid. Reason: can't find label on existing policy."],
    ['{}', 'bob', "can't find label on existing policy."],
    ['{"Statement":[null,1,{}]}', 'bob', "can't find label on existing policy."],
    ['{"Statement":[{"Sid":"bob"}]}', undefined, 'The request must contain the parameter Label.'],
    ['{"Statement":[{"Sid":"bob"}]}', 'b b', 'for parameter Label is invalid.'],
  ])('of %j without %j is refused', (policy, label, text) => {
    expect(refusedWith(() => policyWithoutPermission(policy, label))).toContain(text)
  })
})

describe('any policy', () => {
  it('is changed, or the change is refused', () => {
    const policy = fc.option(
      fc.oneof(
        fc.json(),
        fc.string(),
        fc.jsonValue().map((Statement) => JSON.stringify({ Statement })),
      ),
    )
    const list = fc.array(fc.oneof(fc.constantFrom(account, 'SendMessage', '*'), fc.string({ unit: 'binary' })))
    const input = fc.record(
      { Label: fc.oneof(fc.constant('a'), fc.string({ unit: 'binary' })), AWSAccountIds: list, Actions: list },
      { requiredKeys: [] },
    )
    fc.assert(
      fc.property(policy, input, (before, some) => {
        const both = [
          () => add(before, some),
          () => add(before, good),
          () => policyWithoutPermission(before, some.Label),
        ]
        return both.every(takesOrRefuses)
      }),
    )
  })
})
