import { FencepostError } from '../errors.js'
import { checkedJobId, newJobId } from '../job/job-id.js'
import { jsonText } from '../job/json.js'
import { limits } from '../limits.js'
import type { NewJob } from '../store/enqueue.js'
import { type Duration, durationMs } from '../task/duration.js'
import { checkedInteger, checkedName } from '../task/options.js'
import type { Task } from '../task/task.js'
import { validated } from '../task/validate.js'

export interface JobOptions {
  /** A UUID of your own: enqueueing the same job again under it is safe and does nothing. */
  readonly id?: string
  readonly queue?: string
  /** Smaller runs first. */
  readonly priority?: number
  /** Not before this much time has passed, by the database's clock. */
  readonly delay?: Duration
}

const known = new Set(['id', 'queue', 'priority', 'delay'])

/** Checks everything that can be checked without the database, so that nothing is half done. */
export async function newJob<Input>(
  task: Task<Input>,
  input: Input,
  options: JobOptions,
  payloadBytesMax: number,
): Promise<NewJob> {
  for (const option of Object.keys(options)) {
    if (!known.has(option)) {
      throw new FencepostError('FP_OPTION_INVALID', `enqueue has no option ${JSON.stringify(option)}`, {
        hint: `The options of a job are ${[...known].join(', ')}.`,
      })
    }
  }
  const id = options.id === undefined ? newJobId() : checkedJobId(options.id)
  const payloadText = jsonText(input, 'the input', payloadBytesMax)
  // The schema sees what the worker will see: the stored JSON, not the live value. A Date, for one, has become text.
  await validated(task.input, JSON.parse(payloadText), `the input of task ${task.name}`)
  return {
    id,
    task: task.name,
    payloadText,
    queue: checkedName(options.queue ?? task.queue, 'queue'),
    priority: checkedInteger(options.priority ?? task.priority, 'priority', limits.priorityMin, limits.priorityMax),
    delayMs: options.delay === undefined ? 0 : durationMs(options.delay, 'delay'),
    failuresMax: task.retry.limit,
    lossesMax: task.lossesMax,
    leaseMs: task.leaseMs,
  }
}
