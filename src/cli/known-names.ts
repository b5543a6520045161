import { FencepostError } from '../errors.js'
import { nearestName } from '../task/nearest-name.js'

/** What some process has announced: a task, and a queue it runs in. */
export interface KnownTask {
  readonly name: string
  readonly queue: string
}

export function requireKnownTask(name: string, known: readonly KnownTask[], otherwise?: string): void {
  const names = known.map((task) => task.name)
  if (!names.includes(name)) throw unknown('FP_TASK_UNKNOWN', 'task', name, names, otherwise)
}

export function requireKnownQueue(queue: string, known: readonly KnownTask[], otherwise?: string): void {
  const queues = known.map((task) => task.queue)
  if (!queues.includes(queue)) throw unknown('FP_QUEUE_UNKNOWN', 'queue', queue, queues, otherwise)
}

function unknown(
  code: 'FP_TASK_UNKNOWN' | 'FP_QUEUE_UNKNOWN',
  kind: 'task' | 'queue',
  name: string,
  names: readonly string[],
  otherwise: string | undefined,
): FencepostError {
  const nearest = nearestName(name, names)
  const meant = nearest === undefined ? [] : [`Did you mean ${nearest}?`]
  const none = names.length === 0 ? [`No process has announced a ${kind} in this schema yet.`] : []
  const hint = [...meant, ...none, ...(otherwise === undefined ? [] : [otherwise])].join(' ')
  return new FencepostError(code, JSON.stringify(name), hint === '' ? {} : { hint })
}

/** A task runs in the queue it was announced with; a job in another one might wait there for ever. */
export function queueOfTask(name: string, known: readonly KnownTask[]): string {
  const queues = known.filter((task) => task.name === name).map((task) => task.queue)
  if (queues.length === 1) return queues[0] as string
  throw new FencepostError('FP_OPTION_INVALID', `task ${JSON.stringify(name)} is known in several queues`, {
    hint: `Choose one with --queue: ${queues.join(', ')}.`,
  })
}
