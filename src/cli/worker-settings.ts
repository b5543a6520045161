import type { AnyTask } from '../client/fencepost.js'
import { FencepostError, shown } from '../errors.js'
import { limits } from '../limits.js'
import { checkedMetricsOptions, type MetricsOptions } from '../observe/metrics-server.js'
import { type Duration, durationMs } from '../task/duration.js'
import { nearestName } from '../task/nearest-name.js'
import { checkedInteger } from '../task/options.js'
import type { WorkOptions } from '../worker/worker.js'
import type { WorkerSource } from './worker-source.js'

export interface WorkerFlags {
  readonly concurrency?: number
  /** `name`, or `name=n`. */
  readonly queue?: readonly string[]
  readonly poll?: Duration
  readonly grace?: Duration
  readonly listen: boolean
  /** `port`, or `host:port`. */
  readonly metrics?: true | string
}

export interface WorkerSettings {
  readonly tasks: readonly AnyTask[]
  readonly options: WorkOptions
  readonly metrics: Required<MetricsOptions> | undefined
}

/** The config, and the flags where they say otherwise. What is not said is left to the worker’s own defaults. */
export function workerSettings({ tasks: found, config }: WorkerSource, flags: WorkerFlags): WorkerSettings {
  const { concurrency = config.concurrency, poll = config.poll, grace = config.grace } = flags
  if (concurrency !== undefined) checkedInteger(concurrency, '--concurrency', 1, limits.concurrencyMax)
  if (poll !== undefined) durationMs(poll, '--poll', limits.pollMsMin, limits.timerMsMax)
  if (grace !== undefined) durationMs(grace, '--grace', 0, limits.timerMsMax)
  const listen = flags.listen ? config.listen : false
  const served = queuesOf(
    found.map(({ task }) => task),
    flags.queue ?? [],
  )
  const queues = { ...capsWithin(served.queues, config.queues ?? {}), ...served.caps }
  const options = {
    ...(concurrency !== undefined && { concurrency }),
    ...(poll !== undefined && { poll }),
    ...(grace !== undefined && { grace }),
    ...(listen !== undefined && { listen }),
    ...(Object.keys(queues).length > 0 && { queues }),
  }
  return { tasks: served.tasks, options, metrics: metricsOf(flags.metrics, config.metrics) }
}

/** With `--queue`, a worker runs the tasks of these queues alone. */
function queuesOf(tasks: readonly AnyTask[], flags: readonly string[]) {
  const queues = new Set(tasks.map(({ queue }) => queue))
  if (flags.length === 0) return { tasks, queues, caps: {} }
  const caps = new Map(flags.map(queueFlag))
  for (const name of caps.keys()) {
    if (queues.has(name)) continue
    const nearest = nearestName(name, queues)
    throw new FencepostError('FP_QUEUE_UNKNOWN', `--queue ${name}: none of the tasks runs in it`, {
      hint: `${nearest === undefined ? '' : `Did you mean ${nearest}? `}The queues of the tasks are ${[...queues].join(', ')}.`,
    })
  }
  const limited = [...caps].filter((each): each is [string, number] => each[1] !== undefined)
  return {
    tasks: tasks.filter(({ queue }) => caps.has(queue)),
    queues: new Set(caps.keys()),
    caps: Object.fromEntries(limited),
  }
}

function queueFlag(text: string): [name: string, cap: number | undefined] {
  const [, name, cap] = /^(.*?)(?:=([^=]*))?$/s.exec(text) as unknown as [string, string, string | undefined]
  if (cap === undefined) return [text, undefined]
  return [name, checkedInteger(/^\d+$/.test(cap) ? Number(cap) : cap, `--queue ${name}`, 1, limits.concurrencyMax)]
}

function capsWithin(queues: ReadonlySet<string>, caps: Readonly<Record<string, number>>): Record<string, number> {
  return Object.fromEntries(Object.entries(caps).filter(([queue]) => queues.has(queue)))
}

function metricsOf(
  flag: WorkerFlags['metrics'],
  config: boolean | MetricsOptions | undefined,
): WorkerSettings['metrics'] {
  const configured = typeof config === 'object' ? config : {}
  if (flag === undefined) return config ? checkedMetricsOptions(configured, 'metrics') : undefined
  if (flag === true) return checkedMetricsOptions(configured, '--metrics')
  const [, host, port] = /^(?:\[?(.+?)\]?:)?(\d+)$/.exec(flag) ?? []
  if (port === undefined) {
    throw new FencepostError('FP_OPTION_INVALID', `--metrics takes a port or host:port, not ${shown(flag)}`, {
      hint: 'Write --metrics=9464 or --metrics=0.0.0.0:9464, or put --metrics after the paths.',
    })
  }
  return checkedMetricsOptions({ ...configured, ...(host !== undefined && { host }), port: Number(port) }, '--metrics')
}
