import { type QueueSettings, settableAttributes, unknownAttribute, writtenSettings } from './queue-settings.js'

export interface MessageCounts {
  /** That a receive could take now. */
  readonly visible: number
  /** Received and not deleted. */
  readonly notVisible: number
  readonly delayed: number
}

export interface QueueTimes {
  readonly createdAt: Date
  readonly lastModifiedAt: Date
}

const countAttributes = [
  'ApproximateNumberOfMessages',
  'ApproximateNumberOfMessagesNotVisible',
  'ApproximateNumberOfMessagesDelayed',
]

const readable = [...settableAttributes, ...countAttributes, 'CreatedTimestamp', 'LastModifiedTimestamp', 'QueueArn']

/** The attributes that GetQueueAttributes asks for, All unfolded. Asking for none is allowed, and answered with none. */
export function askedQueueAttributes(names: readonly string[] = []): ReadonlySet<string> {
  const asked = new Set<string>()
  for (const name of names) {
    if (name === 'All') for (const each of readable) asked.add(each)
    else if (readable.includes(name)) asked.add(name)
    else throw unknownAttribute(name, [...readable, 'All'])
  }
  return asked
}

/** Counting costs the database something: only for those who ask. */
export function asksForCounts(asked: ReadonlySet<string>): boolean {
  return countAttributes.some((name) => asked.has(name))
}

/** The answer to GetQueueAttributes. What is not set, and FifoQueue of a standard queue, is left out as AWS does. */
export function attributesOf(
  arn: string,
  settings: QueueSettings,
  counts: MessageCounts,
  times: QueueTimes,
  asked: ReadonlySet<string> = askedQueueAttributes(['All']),
): Record<string, string> {
  const all = {
    ...writtenSettings(settings),
    QueueArn: arn,
    ApproximateNumberOfMessages: String(counts.visible),
    ApproximateNumberOfMessagesNotVisible: String(counts.notVisible),
    ApproximateNumberOfMessagesDelayed: String(counts.delayed),
    CreatedTimestamp: epochSeconds(times.createdAt),
    LastModifiedTimestamp: epochSeconds(times.lastModifiedAt),
  }
  return Object.fromEntries(Object.entries(all).filter(([name]) => asked.has(name)))
}

function epochSeconds(time: Date): string {
  return String(Math.floor(time.getTime() / 1_000))
}
