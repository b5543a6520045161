import { FencepostError } from '../errors.js'
import { checkedJobId, newJobId } from '../job/job-id.js'
import { jsonText } from '../job/json.js'
import { type GateOptions, gatesOf, type JobGroup, type StoredGate } from '../task/gate.js'
import { limits } from '../limits.js'
import type { NewJob } from '../store/enqueue.js'
import { type Duration, durationMs } from '../task/duration.js'
import { checkedInteger, checkedName, checkOptionNames } from '../task/options.js'
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
  /** Instead of its task's gates. */
  readonly gate?: GateOptions<never> | readonly GateOptions<never>[]
  /** Instead of the group that its task tells from the input; the limits are its task's. */
  readonly group?: JobGroup
}

const known = ['id', 'queue', 'priority', 'delay', 'gate', 'group'] as const satisfies (keyof JobOptions)[]

/** Checks everything that can be checked without the database, so that nothing is half done. */
export async function newJob(
  task: Task,
  input: unknown,
  options: JobOptions,
  payloadBytesMax: number,
): Promise<NewJob> {
  checkOptionNames(options, known, 'a job')
  return checkedJob(task, storableJob(task, input, options, payloadBytesMax), options)
}

/** The jobs of one call, or the first fault in them: then nothing is stored. */
export function newJobs(
  task: Task,
  items: readonly ({ readonly input: unknown } & JobOptions)[],
  payloadBytesMax: number,
  onGate: (gate: StoredGate) => void,
): NewJob[] | Promise<NewJob[]> {
  if (!Array.isArray(items) || items.some((item) => typeof item !== 'object' || item === null)) {
    throw new FencepostError('FP_OPTION_INVALID', 'enqueueMany takes an array of { input, … }')
  }
  if (items.length > limits.enqueueManyMax) {
    const problem = `enqueueMany takes at most ${limits.enqueueManyMax} jobs, not ${items.length}`
    throw new FencepostError('FP_OPTION_INVALID', problem)
  }
  let bytes = 0
  const storable = items.map((item) => {
    checkItem(item)
    const job = storableJob(task, item.input, item, payloadBytesMax)
    bytes += job.payloadText.length
    if (bytes <= limits.enqueueManyBytesMax) return job
    const problem = `the inputs of one call have more than ${limits.enqueueManyBytesMax} bytes together`
    throw new FencepostError('FP_INPUT_TOO_LARGE', problem, { hint: 'Enqueue fewer jobs per call.' })
  })
  const jobs: (NewJob | Promise<NewJob>)[] = []
  try {
    storable.forEach((job, n) => jobs.push(checkedJob(task, job, items[n] as JobOptions, onGate)))
  } catch (error) {
    void Promise.allSettled(jobs.filter(isPending)) // nobody waits for what else the schema may refuse, later
    throw error
  }
  const isThere = !jobs.some(isPending)
  return isThere ? (jobs as NewJob[]) : Promise.all(jobs as Promise<NewJob>[])
}

/** A copy without the input would be one more object for each of thousands: it is made for the error only. */
function checkItem(item: { readonly input: unknown } & JobOptions): void {
  if (Object.keys(item).every((name) => name === 'input' || (known as readonly string[]).includes(name))) return
  const { input: _, ...options } = item
  checkOptionNames(options, known, 'a job')
}

function isPending(job: NewJob | Promise<NewJob>): job is Promise<NewJob> {
  return job instanceof Promise
}

/** What needs no schema is checked at once: in a batch, the first fault ends it before more memory is spent. */
function storableJob(task: Task, input: unknown, options: JobOptions, payloadBytesMax: number): NewJob {
  return {
    id: options.id === undefined ? newJobId() : checkedJobId(options.id),
    task: task.name,
    payloadText: jsonText(input, 'the input', payloadBytesMax),
    queue: checkedName(options.queue ?? task.queue, 'queue'),
    priority: checkedInteger(options.priority ?? task.priority, 'priority', limits.priorityMin, limits.priorityMax),
    delayMs: options.delay === undefined ? 0 : durationMs(options.delay, 'delay'),
    failuresMax: task.retry.limit,
    lossesMax: task.lossesMax,
    leaseMs: task.leaseMs,
    gatesText: null,
  }
}

/**
 * The schema sees what the worker will see: the stored JSON, not the live value. A Date, for one, has become text. What
 * the schema makes of it tells the gates.
 */
function checkedJob(
  task: Task,
  job: NewJob,
  { gate, group }: JobOptions,
  onGate?: (gate: StoredGate) => void,
): NewJob | Promise<NewJob> {
  const mayHaveGates = task.gates.length > 0 || task.group !== undefined || gate !== undefined || group !== undefined
  const gated = (input: unknown): NewJob => {
    const gates = mayHaveGates ? gatesOf(task, input, { gate, group }) : []
    if (gates.length === 0) return job
    if (onGate) gates.forEach(onGate)
    return { ...job, gatesText: JSON.stringify(gates) }
  }
  const input = validated(task.input, JSON.parse(job.payloadText), `the input of task ${task.name}`)
  return input instanceof Promise ? input.then(gated) : gated(input)
}
