import type { AnyTask } from '../client/fencepost.js'
import { FencepostError, shown } from '../errors.js'
import { limits } from '../limits.js'
import { checkedMetricsOptions, type MetricsOptions } from '../observe/metrics-server.js'
import { checkSqsOptions, type SqsOptions } from '../sqs/sqs-options.js'
import { type Duration, durationMs } from '../task/duration.js'
import { checkedInteger, checkedName, checkListen, checkOptionNames } from '../task/options.js'

/** The settings of `fencepost worker` and `fencepost sqs`: the default export of `fencepost.config.ts`. Flags take precedence. */
export interface WorkerConfig {
  /** The tasks, or a directory or file that exports them, seen from the config file; `./tasks` by default. */
  readonly tasks?: readonly AnyTask[] | string
  /** How many handlers run at the same time in this worker. */
  readonly concurrency?: number
  /** How many of them may be of one queue: `{ mail: 2 }`. */
  readonly queues?: Readonly<Record<string, number>>
  /** How often an idle worker looks for work. */
  readonly poll?: Duration
  /** How long running handlers have to end after SIGTERM; then their jobs are given back. */
  readonly grace?: Duration
  /** `false` to poll only, or the direct URL of the server: through a pooler that keeps no session, nothing is heard. */
  readonly listen?: boolean | string
  /** Serve metrics; `true` for the default port. */
  readonly metrics?: boolean | MetricsOptions
  /** How `fencepost sqs` speaks SQS: keys, port, ledger. */
  readonly sqs?: SqsOptions
  /** postgres://…; without it DATABASE_URL, and without that the embedded server in `.fencepost/`. */
  readonly database?: string | undefined
  readonly schema?: string
}

const known = [
  'tasks',
  'concurrency',
  'queues',
  'poll',
  'grace',
  'listen',
  'metrics',
  'sqs',
  'database',
  'schema',
] as const satisfies (keyof WorkerConfig)[]

/** Gives the settings their type, and refuses what is misspelt or out of range. */
export function defineConfig(config: WorkerConfig): WorkerConfig {
  return checkedConfig(config, 'defineConfig()')
}

export function checkedConfig(config: WorkerConfig, what: string): WorkerConfig {
  checkOptionNames(config, known, what)
  const at = (option: keyof WorkerConfig) => `${option} of ${what}`
  const { tasks, concurrency, queues, poll, grace, listen, metrics, sqs, database, schema } = config
  if (tasks !== undefined && typeof tasks !== 'string' && !Array.isArray(tasks)) {
    throw new FencepostError('FP_OPTION_INVALID', `${at('tasks')} must be tasks or a path, not ${shown(tasks)}`, {
      hint: "Write tasks: [sendMail, chargeCard] or tasks: './tasks'.",
    })
  }
  if (concurrency !== undefined) checkedInteger(concurrency, at('concurrency'), 1, limits.concurrencyMax)
  if (queues !== undefined) checkQueues(queues, at('queues'))
  if (poll !== undefined) durationMs(poll, at('poll'), limits.pollMsMin, limits.timerMsMax)
  if (grace !== undefined) durationMs(grace, at('grace'), 0, limits.timerMsMax)
  if (listen !== undefined) checkListen(listen, at('listen'))
  if (typeof metrics === 'object') checkedMetricsOptions(metrics, at('metrics'))
  else if (metrics !== undefined && typeof metrics !== 'boolean') throw notBoolean(at('metrics'), metrics)
  if (sqs !== undefined) checkSqsOptions(sqs, at('sqs'))
  if (database !== undefined && (typeof database !== 'string' || database === '')) {
    throw new FencepostError('FP_OPTION_INVALID', `${at('database')} must be a postgres:// URL, not ${shown(database)}`)
  }
  if (schema !== undefined) checkedName(schema, at('schema'))
  return config
}

function checkQueues(queues: Readonly<Record<string, number>>, option: string): void {
  if (typeof queues !== 'object' || queues === null || Array.isArray(queues)) {
    throw new FencepostError('FP_OPTION_INVALID', `${option} must be an object, not ${shown(queues)}`, {
      hint: 'Write queues: { mail: 2 } for at most two jobs of the queue mail at the same time.',
    })
  }
  for (const [queue, cap] of Object.entries(queues)) {
    checkedName(queue, `a name in ${option}`)
    checkedInteger(cap, `${queue} in ${option}`, 1, limits.concurrencyMax)
  }
}

function notBoolean(option: string, value: unknown): FencepostError {
  return new FencepostError('FP_OPTION_INVALID', `${option} must be true or false, not ${shown(value)}`)
}
