import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { FencepostError } from '../../../src/errors.js'
import {
  checkedAccessKeys,
  isAllowed,
  type KeyRights,
  keyOf,
  type Right,
  requireAllowed,
} from '../../../src/sqs/rules/rights.js'
import { refusedWith } from './refusal.js'

const holder = (queues?: Record<string, readonly Right[]>): KeyRights => ({
  secret: 's3cret',
  ...(queues && { queues }),
})

const sending = ['SendMessage', 'SendMessageBatch']
const receiving = [
  'ReceiveMessage',
  'DeleteMessage',
  'DeleteMessageBatch',
  'ChangeMessageVisibility',
  'ChangeMessageVisibilityBatch',
]
const looking = ['GetQueueUrl', 'GetQueueAttributes']
const managing = [
  'AddPermission',
  'CancelMessageMoveTask',
  'CreateQueue',
  'DeleteQueue',
  'ListDeadLetterSourceQueues',
  'ListMessageMoveTasks',
  'ListQueueTags',
  'ListQueues',
  'PurgeQueue',
  'RemovePermission',
  'SetQueueAttributes',
  'StartMessageMoveTask',
  'TagQueue',
  'UntagQueue',
  'SomethingNew',
]
const everything = [...sending, ...receiving, ...looking, ...managing]

describe('a right', () => {
  it.each<[Right[], string[]]>([
    [[], []],
    [['send'], [...sending, ...looking]],
    [['receive'], [...receiving, ...looking]],
    [['manage'], [...looking, ...managing]],
    [
      ['send', 'receive'],
      [...sending, ...receiving, ...looking],
    ],
    [['*'], everything],
  ])('%j is enough for %j', (rights, actions) => {
    const key = holder({ mail: rights })
    expect(everything.filter((action) => isAllowed(key, action, 'mail'))).toEqual(actions)
    expect(everything.filter((action) => isAllowed(key, action, 'other'))).toEqual([])
  })

  it('needs not be listed for a key without a list of queues', () => {
    expect(everything.every((action) => isAllowed(holder(), action, 'mail'))).toBe(true)
    expect(isAllowed(holder({}), 'SendMessage', 'mail')).toBe(false)
  })

  it('adds up over the patterns that fit', () => {
    const key = holder({ 'mail-*': ['send'], '*-eu': ['receive'], 'mail-eu-x': ['manage'] })
    const may = (queue: string) =>
      ['SendMessage', 'ReceiveMessage', 'PurgeQueue'].map((action) => isAllowed(key, action, queue))
    expect(may('mail-eu')).toEqual([true, true, false])
    expect(may('mail-us')).toEqual([true, false, false])
    expect(may('push-eu')).toEqual([false, true, false])
    expect(may('mail-eu-x')).toEqual([true, false, true])
  })
})

describe('a pattern', () => {
  it.each<[string, string[], string[]]>([
    ['*', ['a', 'a.fifo', ''], []],
    ['mail', ['mail'], ['mail2', 'xmail', 'Mail', '']],
    ['mail*', ['mail', 'mail2'], ['xmail']],
    ['*.fifo', ['a.fifo', '.fifo'], ['a.fifo2', 'afifo']],
    ['a*b', ['ab', 'axb', 'abab'], ['a', 'b', 'aba', 'xab']],
    ['a*a', ['aa', 'aba'], ['a']],
    ['a*b*c', ['abc', 'axbxc', 'abbc', 'abcbc'], ['acb', 'ac']],
    ['**', ['', 'x'], []],
    ['a**b', ['ab', 'axb'], ['a']],
    ['a.b', ['a.b'], ['axb']],
  ])('%s fits %j and not %j', (pattern, fitting, others) => {
    const fits = (name: string) => isAllowed(holder({ [pattern]: ['*'] }), 'SendMessage', name)
    expect(fitting.filter((name) => !fits(name))).toEqual([])
    expect(others.filter(fits)).toEqual([])
  })

  it('fits what the regular expression would', () => {
    const letters = fc.string({ unit: fc.constantFrom('a', 'b', '*'), maxLength: 8 })
    fc.assert(
      fc.property(letters, fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 10 }), (pattern, name) => {
        const expected = new RegExp(`^${pattern.replaceAll('*', '.*')}$`).test(name)
        expect(isAllowed(holder({ [pattern]: ['*'] }), 'SendMessage', name)).toBe(expected)
      }),
      { numRuns: 1_000 },
    )
  })
})

describe('an action without a queue', () => {
  it.each<[Record<string, Right[]>, string, boolean]>([
    [{ 'mail-*': ['manage'] }, 'ListQueues', true],
    [{ 'mail-*': ['send'] }, 'ListQueues', false],
    [{ 'mail-*': ['*'] }, 'CancelMessageMoveTask', false],
    [{ '*': ['manage'] }, 'CancelMessageMoveTask', true],
  ])('with %j: %s', (queues, action, allowed) => {
    expect(isAllowed(holder(queues), action, undefined)).toBe(allowed)
  })
})

describe('a denial', () => {
  it('names the key, the action and the queue, and what is needed, but not the secret', () => {
    const key = holder({ mail: ['send'] })
    expect(refusedWith(() => requireAllowed('AKIA1', key, 'SendMessage', 'mail'))).toBeUndefined()
    expect(refusedWith(() => requireAllowed('AKIA1', key, 'PurgeQueue', 'mail'))).toBe(
      'AccessDeniedException: The access key AKIA1 is not allowed to perform PurgeQueue on the queue mail: it needs the right manage.',
    )
    expect(refusedWith(() => requireAllowed('AKIA1', key, 'GetQueueUrl', 'other'))).toBe(
      'AccessDeniedException: The access key AKIA1 is not allowed to perform GetQueueUrl on the queue other: it needs the right send or receive or manage.',
    )
    expect(refusedWith(() => requireAllowed('AKIA1', key, 'ListQueues', undefined))).toBe(
      'AccessDeniedException: The access key AKIA1 is not allowed to perform ListQueues: it needs the right manage.',
    )
  })
})

describe('the access keys of the config', () => {
  it.each<unknown>([
    {},
    { AKIA1: { secret: 's' } },
    { AKIA1: { secret: 's', queues: {} } },
    { AKIA1: { secret: 's', queues: { '*': ['*'], 'mail-*.fifo': ['send', 'receive', 'manage'], none: [] } } },
  ])('may be %j', (keys) => {
    expect(checkedAccessKeys(keys, 'keys')).toBe(keys)
  })

  it.each<[unknown, string]>([
    [undefined, 'keys must be an object of access keys, not undefined'],
    [[], 'keys must be an object of access keys'],
    [{ 'a b': { secret: 's' } }, '"a b" of keys must be up to 128 letters'],
    [{ A: 's' }, '"A" of keys'],
    [{ A: { secret: '' } }, 'secret of "A" of keys must be a non-empty string'],
    [{ A: {} }, 'secret of "A" of keys must be a non-empty string'],
    [{ A: { secret: 's', queue: {} } }, 'has no option "queue"'],
    [{ A: { secret: 's', queues: ['mail'] } }, 'queues of "A" of keys must be an object of patterns'],
    [{ A: { secret: 's', queues: { 'a b': ['send'] } } }, '"a b" in queues of "A" of keys must be the name of a queue'],
    [{ A: { secret: 's', queues: { mail: 'send' } } }, 'must be a list of send, receive, manage, *, not "send"'],
    [{ A: { secret: 's', queues: { mail: ['sned'] } } }, 'must be a list of send, receive, manage, *, not "sned"'],
    [{ A: { secret: 's', queues: { mail: [undefined] } } }, 'must be a list of'],
  ])('may not be %j', (keys, text) => {
    expect(() => checkedAccessKeys(keys, 'keys')).toThrow(FencepostError)
    expect(() => checkedAccessKeys(keys, 'keys')).toThrow(text)
  })

  it('are found by their id, and nothing else is', () => {
    const keys = { AKIA1: holder() }
    expect(keyOf(keys, 'AKIA1')).toBe(keys.AKIA1)
    expect(keyOf(keys, 'AKIA2')).toBeUndefined()
    expect(keyOf(keys, 'constructor')).toBeUndefined()
    expect(keyOf(keys, '__proto__')).toBeUndefined()
  })
})
