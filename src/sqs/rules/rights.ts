import { FencepostError, shown } from '../../errors.js'
import { checkOptionNames } from '../../task/options.js'
import { SqsError } from '../sqs-error.js'
import { echoed } from './characters.js'

export type Right = 'send' | 'receive' | 'manage' | '*'

/** What the holder of an access key may do. */
export interface KeyRights {
  readonly secret: string
  /** By patterns of names, as `mail-*`; without it, everything on every queue. */
  readonly queues?: Readonly<Record<string, readonly Right[]>>
}

/** By access key id. */
export type AccessKeys = Readonly<Record<string, KeyRights>>

const rights: readonly string[] = ['send', 'receive', 'manage', '*'] satisfies Right[]

/** What any of these rights is enough for. Every other action needs `manage`. */
const enough: ReadonlyMap<string, readonly Right[]> = new Map<string, readonly Right[]>([
  ['SendMessage', ['send']],
  ['SendMessageBatch', ['send']],
  ['ReceiveMessage', ['receive']],
  ['DeleteMessage', ['receive']],
  ['DeleteMessageBatch', ['receive']],
  ['ChangeMessageVisibility', ['receive']],
  ['ChangeMessageVisibilityBatch', ['receive']],
  ['GetQueueUrl', ['send', 'receive', 'manage']],
  ['GetQueueAttributes', ['send', 'receive', 'manage']],
])

function rightsFor(action: string): readonly Right[] {
  return enough.get(action) ?? ['manage']
}

/**
 * Whether a key may do this with this queue. Without a queue it is ListQueues, which may be called by whoever manages
 * any queue; the answer then leaves out the queues that this function, asked for each, denies.
 */
export function isAllowed(key: KeyRights, action: string, queueName: string | undefined): boolean {
  if (key.queues === undefined) return true
  const needed = rightsFor(action)
  return Object.entries(key.queues).some(([pattern, granted]) => {
    const concerns = queueName === undefined ? action === 'ListQueues' || pattern === '*' : matches(pattern, queueName)
    return concerns && granted.some((right) => right === '*' || needed.includes(right))
  })
}

export function requireAllowed(
  accessKeyId: string,
  key: KeyRights,
  action: string,
  queueName: string | undefined,
): void {
  if (isAllowed(key, action, queueName)) return
  const what = queueName === undefined ? '' : ` on the queue ${echoed(queueName)}`
  const needed = rightsFor(action).join(' or ')
  const text = `The access key ${echoed(accessKeyId)} is not allowed to perform ${echoed(action)}${what}: it needs the right ${needed}.`
  throw new SqsError('AccessDeniedException', text)
}

/** Messages come into a queue also as dead letters of another one, and by a task that moves them. */
export function requireAllowedToFeed(accessKeyId: string, key: KeyRights, action: string, queueName: string): void {
  if (isAllowed(key, 'SendMessage', queueName) || isAllowed(key, 'SetQueueAttributes', queueName)) return
  const text = `The access key ${echoed(accessKeyId)} is not allowed to perform ${echoed(action)} with messages going to the queue ${echoed(queueName)}: it needs the right send or manage there.`
  throw new SqsError('AccessDeniedException', text)
}

/** The key of this id, and not what every object inherits under a name such as `constructor`. */
export function keyOf(keys: AccessKeys, accessKeyId: string): KeyRights | undefined {
  return Object.hasOwn(keys, accessKeyId) ? keys[accessKeyId] : undefined
}

/** Refuses access keys of the config that are misspelt: a right that does not exist would be one that nobody has. */
export function checkedAccessKeys(keys: unknown, what: string): AccessKeys {
  if (!isRecord(keys)) throw invalidOption(`${what} must be an object of access keys, not ${shown(keys)}`)
  for (const [id, key] of Object.entries(keys)) {
    const at = `${shown(id)} of ${what}`
    if (!/^\w{1,128}$/.test(id)) throw invalidOption(`${at} must be up to 128 letters, digits and underscores`)
    checkOptionNames(key, ['secret', 'queues'], at)
    const { secret, queues } = key as { readonly secret?: unknown; readonly queues?: unknown }
    // The secret itself must appear in no error.
    if (typeof secret !== 'string' || secret === '') throw invalidOption(`secret of ${at} must be a non-empty string`)
    if (queues !== undefined) checkQueueRights(queues, `queues of ${at}`)
  }
  return keys as AccessKeys
}

function checkQueueRights(queues: unknown, at: string): void {
  if (!isRecord(queues)) throw invalidOption(`${at} must be an object of patterns, not ${shown(queues)}`)
  for (const [pattern, granted] of Object.entries(queues)) {
    if (!/^[A-Za-z0-9_.*-]{1,80}$/.test(pattern)) {
      throw invalidOption(
        `${shown(pattern)} in ${at} must be the name of a queue, in which * stands for any characters`,
      )
    }
    const isRight = (right: unknown) => typeof right === 'string' && rights.includes(right)
    if (Array.isArray(granted) && granted.every(isRight)) continue
    const wrong: unknown = Array.isArray(granted) ? granted.find((right) => !isRight(right)) : granted
    throw invalidOption(`${shown(pattern)} in ${at} must be a list of ${rights.join(', ')}, not ${shown(wrong)}`)
  }
}

/** Part by part from the left, and so in linear time: a regular expression with many stars would backtrack. */
function matches(pattern: string, name: string): boolean {
  const [start = '', ...others] = pattern.split('*')
  const end = others.pop()
  if (end === undefined) return name === start
  if (!name.startsWith(start)) return false
  let from = start.length
  for (const part of others) {
    const found = name.indexOf(part, from)
    if (found === -1) return false
    from = found + part.length
  }
  return name.length - end.length >= from && name.endsWith(end)
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function invalidOption(message: string): FencepostError {
  return new FencepostError('FP_OPTION_INVALID', message)
}
