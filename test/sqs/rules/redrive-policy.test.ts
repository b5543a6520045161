import { describe, expect, it } from 'vitest'
import { allowsSource, type RedriveAllowPolicy } from '../../../src/sqs/rules/redrive-policy.js'

const source = 'arn:aws:sqs:us-east-1:000000000000:mail'

describe('a queue may be the dead-letter queue', () => {
  it.each<[string, RedriveAllowPolicy | null, boolean]>([
    ['of every queue if it has no policy', null, true],
    ['of every queue if it allows all', { redrivePermission: 'allowAll' }, true],
    ['of none if it denies all', { redrivePermission: 'denyAll' }, false],
    ['of those it lists', { redrivePermission: 'byQueue', sourceQueueArns: [`${source}x`, source] }, true],
    ['of no other', { redrivePermission: 'byQueue', sourceQueueArns: [`${source}x`] }, false],
  ])('%s', (_, policy, allowed) => {
    expect(allowsSource(policy, source)).toBe(allowed)
  })
})
