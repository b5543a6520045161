import type { Json } from '../../job/json.js'
import type { Place } from './place.js'
import type { Run } from './run.js'
import { type EndingFunction, endingFunctions, type Status } from './scope.js'

export function isEnding(name: string): name is EndingFunction {
  return (endingFunctions as readonly string[]).includes(name)
}

const answers: Readonly<Record<Exclude<EndingFunction, 'result'>, (status: Status) => boolean>> = {
  succeeded: (status) => status === 'succeeded',
  failed: (status) => status !== 'succeeded',
  timed_out: (status) => status === 'timed_out',
}

/** succeeded() and the like, of the task whose transitions are evaluated. */
export function ending(name: EndingFunction, place: Place): Run {
  if (name === 'result') return ({ scope }): Json => scope.result ?? null
  const answer = answers[name]
  return ({ scope: { status } }) => {
    if (status === undefined) throw place.error('the task has not ended')
    return answer(status)
  }
}
