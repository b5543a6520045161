import type { Progress } from './run.js'

/** Names of tasks are anybody's: one may be called `constructor`. */
export function progressOf({
  ordinals,
  joins,
  latest,
  signals = [],
  answers,
  heard = [],
  callers = [],
  secrets = [],
  cutOff = [],
}: Partial<Progress>): Progress {
  const bare = <Value>(given: Record<string, Value> = {}) =>
    Object.assign(Object.create(null), given) as Record<string, Value>
  const counted = Object.entries(joins ?? {}).map(
    ([name, { done, fired }]) => [name, { done, fired: bare(fired) }] as const,
  )
  return {
    ordinals: bare(ordinals),
    joins: bare(Object.fromEntries(counted)),
    latest: bare(latest),
    signals: [...signals],
    answers: bare(answers),
    heard: [...heard],
    callers,
    secrets,
    cutOff: [...cutOff],
  }
}
