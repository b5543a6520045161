import {
  countMessages,
  createQueue,
  deleteQueue,
  listQueueNames,
  listSourceNames,
  purgeQueue,
  readQueue,
  type SqsQueue,
  setQueue,
  setTags,
} from '../store/sqs-queues.js'
import { arnOf, type Desk, noQueue, urlOf } from './desk.js'
import { invalidParameter } from './rules/parameter-errors.js'
import { policyWithoutPermission, policyWithPermission } from './rules/permissions.js'
import { askedQueueAttributes, asksForCounts, attributesOf } from './rules/queue-attributes.js'
import { checkedQueueName, nameFromArn, nameFromUrl } from './rules/queue-name.js'
import { changedSettings, createdSettings, type QueueSettings, sameSettings } from './rules/queue-settings.js'
import { allowsSource } from './rules/redrive-policy.js'
import { isAllowed, keyOf } from './rules/rights.js'
import { createdTags, tagsWith, tagsWithout } from './rules/tags.js'
import type { SqsAction } from './sqs-call.js'
import { SqsError } from './sqs-error.js'

type Queue = SqsQueue<QueueSettings>
type QueueAction =
  | 'CreateQueue'
  | 'DeleteQueue'
  | 'ListQueues'
  | 'GetQueueUrl'
  | 'GetQueueAttributes'
  | 'SetQueueAttributes'
  | 'PurgeQueue'
  | 'TagQueue'
  | 'UntagQueue'
  | 'ListQueueTags'
  | 'ListDeadLetterSourceQueues'
  | 'AddPermission'
  | 'RemovePermission'

const pageMax = 1_000
const nameCharacters = /^[\w.-]*$/
/** A change of settings that met another one looks again this often. */
const changeTriesMax = 20

/** What can be done with a queue itself. */
export function queueActions(desk: Desk): { readonly [A in QueueAction]: SqsAction<A> } {
  const { db } = desk
  const queueOf = async ({ input }: { readonly input: { readonly QueueUrl: string } }): Promise<Queue> => {
    const queue = await readQueue<QueueSettings>(db, nameFromUrl(input.QueueUrl))
    if (!queue) throw noQueue()
    return queue
  }
  return {
    CreateQueue: async ({ input, baseUrl }) => {
      const name = checkedQueueName(input.QueueName)
      const settings = createdSettings(name, input.Attributes)
      const tags = createdTags(name, input.tags)
      await checkTarget(desk, name, settings, input.Attributes)
      const made = await createQueue(db, name, settings, tags)
      if (!made.made) sameSettings(input.Attributes ?? {}, made.settings)
      return { QueueUrl: urlOf(desk, baseUrl, name) }
    },
    DeleteQueue: async ({ input }) => {
      if (!(await deleteQueue(db, nameFromUrl(input.QueueUrl)))) throw noQueue()
      return {}
    },
    ListQueues: async ({ input, baseUrl, principal }) => {
      const page = pageOf(input.MaxResults, input.NextToken)
      const key = keyOf(desk.keys, principal)
      const prefix = input.QueueNamePrefix ?? ''
      const names = nameCharacters.test(prefix) ? await listQueueNames(db, prefix, page.after, page.limit + 1) : []
      const shown = names.slice(0, page.limit).filter((name) => !key || isAllowed(key, 'ListQueues', name))
      return {
        ...(shown.length > 0 && { QueueUrls: shown.map((name) => urlOf(desk, baseUrl, name)) }),
        ...nextToken(names, page),
      }
    },
    GetQueueUrl: async ({ input, baseUrl }) => {
      const name = checkedQueueName(input.QueueName)
      if (!(await readQueue(db, name))) throw noQueue()
      return { QueueUrl: urlOf(desk, baseUrl, name) }
    },
    GetQueueAttributes: async (call) => {
      const asked = askedQueueAttributes(call.input.AttributeNames)
      const queue = await queueOf(call)
      const counts = asksForCounts(asked)
        ? await countMessages(db, queue.name)
        : { visible: 0, notVisible: 0, delayed: 0 }
      const times = { createdAt: queue.createdAt, lastModifiedAt: queue.modifiedAt }
      const Attributes = attributesOf(arnOf(desk, queue.name), queue.settings, counts, times, asked)
      return Object.keys(Attributes).length > 0 ? { Attributes } : {}
    },
    SetQueueAttributes: async (call) => {
      await change(desk, call, async (queue) => {
        const after = changedSettings(queue.settings, call.input.Attributes)
        await checkTarget(desk, queue.name, after, call.input.Attributes)
        return after
      })
      return {}
    },
    PurgeQueue: async ({ input }) => {
      const name = nameFromUrl(input.QueueUrl)
      const answer = await purgeQueue(db, name, desk.purgeEveryMs)
      if (answer === 'no_queue') throw noQueue()
      if (answer === 'too_soon') {
        const every = `Only one PurgeQueue operation on ${name} is allowed every ${desk.purgeEveryMs / 1_000} seconds.`
        throw new SqsError('PurgeQueueInProgress', every)
      }
      return {}
    },
    TagQueue: async (call) => {
      await retag(desk, call, (queue) => tagsWith(queue.name, queue.tags, call.input.Tags))
      return {}
    },
    UntagQueue: async (call) => {
      await retag(desk, call, (queue) => tagsWithout(queue.tags, call.input.TagKeys))
      return {}
    },
    ListQueueTags: async (call) => {
      const { tags } = await queueOf(call)
      return Object.keys(tags).length > 0 ? { Tags: tags } : {}
    },
    ListDeadLetterSourceQueues: async (call) => {
      const { name } = await queueOf(call)
      const page = pageOf(call.input.MaxResults, call.input.NextToken)
      const names = await listSourceNames(db, name, page.after, page.limit + 1)
      const shown = names.slice(0, page.limit)
      return { queueUrls: shown.map((each) => urlOf(desk, call.baseUrl, each)), ...nextToken(names, page) }
    },
    AddPermission: async (call) => {
      await change(desk, call, ({ name, settings }) => ({
        ...settings,
        policy: policyWithPermission(settings.policy, arnOf(desk, name), call.input),
      }))
      return {}
    },
    RemovePermission: async (call) => {
      await change(desk, call, ({ settings }) => ({
        ...settings,
        policy: policyWithoutPermission(settings.policy, call.input.Label),
      }))
      return {}
    },
  }
}

/** Changes settings that nobody else has changed meanwhile; otherwise it looks again. */
async function change(
  desk: Desk,
  { input }: { readonly input: { readonly QueueUrl: string } },
  changed: (queue: Queue) => QueueSettings | Promise<QueueSettings>,
): Promise<void> {
  const name = nameFromUrl(input.QueueUrl)
  for (let tries = 0; tries < changeTriesMax; tries++) {
    const queue = await readQueue<QueueSettings>(desk.db, name)
    if (!queue) throw noQueue()
    const answer = await setQueue(desk.db, name, queue.settings, await changed(queue))
    if (answer === 'set') return
    if (answer === 'no_queue') throw noQueue()
  }
  throw new SqsError('RequestThrottled', 'The attributes of the queue are being changed by many at once. Try again.')
}

async function retag(
  desk: Desk,
  { input }: { readonly input: { readonly QueueUrl: string } },
  changed: (queue: Queue) => Readonly<Record<string, string>>,
): Promise<void> {
  const name = nameFromUrl(input.QueueUrl)
  for (let tries = 0; tries < changeTriesMax; tries++) {
    const queue = await readQueue<QueueSettings>(desk.db, name)
    if (!queue) throw noQueue()
    if (await setTags(desk.db, name, queue.tags, changed(queue))) return
  }
  throw new SqsError('RequestThrottled', 'The tags of the queue are being changed by many at once. Try again.')
}

/** A dead-letter queue must be there, and must let this queue in: looked at when a request names it. */
async function checkTarget(
  desk: Desk,
  name: string,
  { redrivePolicy }: QueueSettings,
  asked: Readonly<Record<string, string>> | undefined,
): Promise<void> {
  if (!redrivePolicy || asked?.['RedrivePolicy'] === undefined) return
  const text = asked['RedrivePolicy']
  const refuse = (reason: string) => {
    throw new SqsError(
      'InvalidParameterValueException',
      `Value ${text} for parameter RedrivePolicy is invalid. Reason: ${reason}`,
    )
  }
  const targetName = nameFromArn(redrivePolicy.deadLetterTargetArn) ?? ''
  // What is dead already would go round and round, and be received by nobody.
  if (targetName === name) return refuse('A queue cannot be its own dead-letter queue.')
  const target = await readQueue<QueueSettings>(desk.db, targetName)
  if (!target) return refuse('Dead letter target does not exist.')
  if (!allowsSource(target.settings.redriveAllowPolicy, arnOf(desk, name))) {
    refuse('The dead-letter queue does not allow this queue as a source (RedriveAllowPolicy).')
  }
}

interface Page {
  readonly limit: number
  readonly after: string
  readonly asked: boolean
}

/** The token is the last name that was shown: names do not change, so no page repeats or misses one. */
function pageOf(maxResults: number | undefined, token: string | undefined): Page {
  if (maxResults !== undefined && !(maxResults >= 1 && maxResults <= pageMax)) {
    throw invalidParameter('MaxResults', maxResults, `MaxResults must be an integer between 1 and ${pageMax}.`)
  }
  if (token !== undefined && maxResults === undefined) {
    throw new SqsError('InvalidParameterCombinationException', 'MaxResults is required when NextToken is given.')
  }
  const after = token === undefined ? '' : Buffer.from(token, 'base64url').toString()
  if (!nameCharacters.test(after)) throw invalidParameter('NextToken', token ?? '', 'It is not a token of this list.')
  return { limit: maxResults ?? pageMax, after, asked: maxResults !== undefined }
}

function nextToken(names: readonly string[], { limit, asked }: Page): { NextToken?: string } {
  const last = names[limit - 1]
  return asked && names.length > limit && last !== undefined
    ? { NextToken: Buffer.from(last).toString('base64url') }
    : {}
}
