import type { StandardSchemaV1 } from '@standard-schema/spec'
import { FencepostError, shown } from '../errors.js'
import { defaults, limits } from '../limits.js'
import { checkedGates, checkedGroup, type Gate, type GateOptions, type Group, type GroupOptions } from './gate.js'
import { type Duration, durationMs } from './duration.js'
import type { JobContext } from './job-context.js'
import { checkedInteger, checkedName, checkOptionNames } from './options.js'
import { type RetryOptions, type RetryPolicy, retryPolicy } from './retry-policy.js'
import type { Stored } from './stored.js'

export interface TaskOptions<Input extends StandardSchemaV1, Output extends StandardSchemaV1 | undefined, Result> {
  /** Any Standard Schema validator (zod, valibot, arktype, …). Checked at enqueue and again when the job runs. */
  readonly input: Input
  /** Checks what the handler returns; a result that does not fit is a failure that is not retried. */
  readonly output?: Output
  readonly queue?: string
  /** Smaller runs first, from -100 to 100; every seventeenth turn of a worker takes the oldest job, so that none starves. */
  readonly priority?: number
  readonly retry?: RetryOptions
  /** How many times the worker may die under this job before it ends as failed. */
  readonly losses?: number
  /** A handler that runs longer is aborted, and that is a failure. `false` for no limit. */
  readonly timeout?: Duration | false
  /** How long a job stays with a worker that no longer sends heartbeats. */
  readonly lease?: Duration
  /** How many jobs with the same key run at a time. Several: waited for one after the other. */
  readonly gate?:
    | GateOptions<StandardSchemaV1.InferOutput<Input>>
    | readonly GateOptions<StandardSchemaV1.InferOutput<Input>>[]
  /** How many jobs of the same group run at a time, by its tier; in all, and in each process. */
  readonly group?: GroupOptions<StandardSchemaV1.InferOutput<Input>>
  readonly run: (
    input: StandardSchemaV1.InferOutput<Input>,
    job: JobContext,
  ) => Promise<HandlerResult<Output, Result>> | HandlerResult<Output, Result>
}

type HandlerResult<Output, Result> = Output extends StandardSchemaV1 ? StandardSchemaV1.InferInput<Output> : Result
type TaskResult<Output, Result> = Stored<
  Output extends StandardSchemaV1 ? StandardSchemaV1.InferOutput<Output> : Awaited<Result>
>

/** A named handler with an input schema and policies. `Input` is what enqueue takes, `Result` what result() gives. */
export interface Task<Input = unknown, Result = unknown> {
  readonly name: string
  readonly queue: string
  readonly priority: number
  readonly retry: RetryPolicy
  readonly lossesMax: number
  readonly timeoutMs: number | undefined
  readonly leaseMs: number
  readonly gates: readonly Gate[]
  readonly group: Group | undefined
  readonly input: StandardSchemaV1<Input>
  readonly output: StandardSchemaV1 | undefined
  readonly run: (input: unknown, job: JobContext) => unknown
  /** Never set: carries the type of the result. */
  readonly resultType?: Result
}

/** Names that workflows have a meaning for. */
const reserved = /^(core|wait|workflow)\./

export function task<
  Input extends StandardSchemaV1,
  Output extends StandardSchemaV1 | undefined = undefined,
  Result = unknown,
>(
  name: string,
  options: TaskOptions<Input, Output, Result>,
): Task<StandardSchemaV1.InferInput<Input>, TaskResult<Output, Result>> {
  checkedName(name, 'The task’s name')
  if (reserved.test(name)) {
    throw new FencepostError('FP_OPTION_INVALID', `a task cannot be called ${shown(name)}`, {
      hint: 'Names that begin with core., wait. or workflow. are those of workflows’ own actions.',
    })
  }
  return definedTask(name, options)
}

/** For names of our own, too. */
export function definedTask<
  Input extends StandardSchemaV1,
  Output extends StandardSchemaV1 | undefined = undefined,
  Result = unknown,
>(
  name: string,
  options: TaskOptions<Input, Output, Result>,
): Task<StandardSchemaV1.InferInput<Input>, TaskResult<Output, Result>> {
  const at = (option: string) => `${option} of task ${name}`
  checkOptionNames(options, known, `task ${name}`)
  checkRun(options.run, at('run'))
  checkSchema(options.input, at('input'))
  if (options.output) checkSchema(options.output, at('output'))
  return {
    name,
    queue: checkedName(options.queue ?? defaults.queue, at('queue')),
    priority: checkedInteger(
      options.priority ?? defaults.priority,
      at('priority'),
      limits.priorityMin,
      limits.priorityMax,
    ),
    retry: retryPolicy(options.retry, at('retry')),
    lossesMax: checkedInteger(options.losses ?? defaults.lossesMax, at('losses'), 0, limits.lossesMax),
    timeoutMs:
      options.timeout === false
        ? undefined
        : durationMs(options.timeout ?? defaults.timeoutMs, at('timeout'), limits.timeoutMsMin, limits.timerMsMax),
    leaseMs: durationMs(options.lease ?? defaults.leaseMs, at('lease'), limits.leaseMsMin, limits.leaseMsMax),
    gates: checkedGates(options.gate, at('gate')),
    group: checkedGroup(options.group, at('group')),
    input: options.input,
    output: options.output,
    run: options.run,
  }
}

const known = [
  'input',
  'output',
  'queue',
  'priority',
  'retry',
  'losses',
  'timeout',
  'lease',
  'gate',
  'group',
  'run',
] as const satisfies (keyof TaskOptions<StandardSchemaV1, undefined, unknown>)[]

export function checkRun(run: unknown, option: string): void {
  if (typeof run !== 'function') throw new FencepostError('FP_OPTION_INVALID', `${option} must be a function`)
}

export function checkSchema(schema: unknown, option: string): void {
  if ((schema as StandardSchemaV1 | undefined)?.['~standard']?.version !== 1) {
    throw new FencepostError('FP_OPTION_INVALID', `${option} must be a Standard Schema validator`, {
      hint: 'Use zod ≥ 3.24, valibot ≥ 1, arktype ≥ 2 or any other library that implements standardschema.dev.',
    })
  }
}
