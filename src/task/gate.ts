import { FencepostError, shown } from '../errors.js'
import { limits } from '../limits.js'
import { type Duration, durationMs } from './duration.js'
import { checkedInteger, checkedName, checkOptionNames } from './options.js'

/** A concurrency limit: of all jobs with this key, whatever their task and queue, at most `limit` run at a time. */
export interface GateOptions<Input> {
  /** A fixed key, or a function of the input. */
  readonly key: string | ((input: Input) => string)
  /** 1 by default. */
  readonly limit?: number
  /**
   * What happens to a job that finds the gate full when it comes for the first time: it waits (the default), it is
   * discarded, or it waits in place of the one that waited so far, which is discarded.
   */
  readonly onFull?: 'wait' | 'discard' | 'replace'
  /** One at a time, in the order in which they were enqueued; one that fails holds up the others until it has ended. */
  readonly strict?: boolean
  /** Whoever runs for longer than `after` is no longer counted. Without it, a slot is held for as long as its job runs. */
  readonly overrun?: { readonly after: Duration; readonly then: 'admit' }
}

/** One number for all, or one for each tier; `default` is for jobs with none, and for tiers that are not named. */
export type TierLimits = number | Readonly<Record<string, number>>

/** Limits for a group of jobs, such as those of a tenant, by its tier. */
export interface GroupOptions<Input> {
  readonly id: string | ((input: Input) => string)
  readonly tier?: string | ((input: Input) => string | undefined)
  /** How many of a group run at a time, in all workers together. */
  readonly limit?: TierLimits
  /** How many of a group one worker process runs at a time. */
  readonly perProcess?: TierLimits
}

/** What a job says of its group, if its task has limits for one. */
export interface JobGroup {
  readonly id: string
  readonly tier?: string
}

export interface Gate {
  readonly kind: 'fifo' | 'gate'
  readonly key: string | ((input: never) => unknown)
  readonly limit: number
  readonly onFull: 'wait' | 'discard' | 'replace'
  readonly overrunMs: number | undefined
}

export interface Group {
  readonly id: string | ((input: never) => unknown)
  readonly tier: string | ((input: never) => unknown) | undefined
  readonly limit: TierLimits | undefined
  readonly perProcess: TierLimits | undefined
}

/** A gate as it is stored with a job. */
export interface StoredGate {
  readonly key: string
  /** None: as many as all processes together can run. */
  readonly limit?: number
  /** Per process, for the group. */
  readonly local?: number
  readonly onFull: 'wait' | 'discard' | 'replace'
  readonly overrunMs?: number
}

const knownOfGate = ['key', 'limit', 'onFull', 'strict', 'overrun'] as const satisfies (keyof GateOptions<unknown>)[]
const knownOfGroup = ['id', 'tier', 'limit', 'perProcess'] as const satisfies (keyof GroupOptions<unknown>)[]
const onFulls = ['wait', 'discard', 'replace'] as const

/** `what` names the owner of the options in errors. */
export function checkedGates(options: unknown, what: string): readonly Gate[] {
  if (options === undefined) return []
  const list: readonly unknown[] = Array.isArray(options) ? options : [options]
  if (list.length > limits.gatesMax) {
    throw new FencepostError('FP_OPTION_INVALID', `${what} has more than ${limits.gatesMax} gates`)
  }
  const gates = list.map((gate, index) => checkedGate(gate, list.length === 1 ? what : `${what}[${index}]`))
  if (gates.filter(({ kind }) => kind === 'fifo').length > 1) {
    throw new FencepostError('FP_OPTION_INVALID', `${what} has more than one strict gate`, {
      hint: 'Two strict orders could wait for one another. Join their keys into one.',
    })
  }
  return gates
}

function checkedGate(given: unknown, what: string): Gate {
  checkOptionNames(given, knownOfGate, what)
  const options = given as GateOptions<never>
  checkKey(options.key, `key of ${what}`)
  const strict: unknown = options.strict ?? false
  if (typeof strict !== 'boolean') {
    throw new FencepostError('FP_OPTION_INVALID', `strict of ${what} must be true or false, not ${shown(strict)}`)
  }
  const limit = checkedInteger(options.limit ?? 1, `limit of ${what}`, 1, limits.gateLimitMax)
  const onFull = options.onFull ?? 'wait'
  if (!onFulls.includes(onFull)) {
    throw new FencepostError(
      'FP_OPTION_INVALID',
      `onFull of ${what} must be ${onFulls.join(', ')}, not ${shown(onFull)}`,
    )
  }
  if (strict && (limit !== 1 || onFull !== 'wait' || options.overrun !== undefined)) {
    throw new FencepostError('FP_OPTION_INVALID', `${what} is strict, and has a limit, onFull or overrun`, {
      hint: 'A strict gate lets one job through at a time, in order: nothing else can be said of it.',
    })
  }
  return {
    kind: strict ? 'fifo' : 'gate',
    key: options.key,
    limit,
    onFull,
    overrunMs: overrunMs(options.overrun, what),
  }
}

function overrunMs(options: GateOptions<never>['overrun'], what: string): number | undefined {
  if (options === undefined) return undefined
  checkOptionNames(options, ['after', 'then'], `overrun of ${what}`)
  if (options.then !== 'admit') {
    throw new FencepostError(
      'FP_OPTION_INVALID',
      `then of overrun of ${what} must be admit, not ${shown(options.then)}`,
    )
  }
  return durationMs(options.after, `after of overrun of ${what}`, 1)
}

export function checkedGroup(options: unknown, what: string): Group | undefined {
  if (options === undefined) return undefined
  checkOptionNames(options, knownOfGroup, what)
  const { id, tier, limit, perProcess } = options as GroupOptions<never>
  checkKey(id, `id of ${what}`)
  if (tier !== undefined) checkKey(tier, `tier of ${what}`)
  if (limit === undefined && perProcess === undefined) {
    throw new FencepostError('FP_OPTION_INVALID', `${what} has neither a limit nor perProcess`)
  }
  checkTierLimits(limit, `limit of ${what}`, limits.gateLimitMax)
  checkTierLimits(perProcess, `perProcess of ${what}`, limits.concurrencyMax)
  return { id, tier, limit, perProcess }
}

function checkTierLimits(given: TierLimits | undefined, what: string, max: number): void {
  if (given === undefined) return
  if (typeof given !== 'object' || given === null) {
    checkedInteger(given, what, 1, max)
    return
  }
  if (Object.keys(given).length === 0) throw new FencepostError('FP_OPTION_INVALID', `${what} names no tier`)
  for (const [tier, limit] of Object.entries(given)) checkedInteger(limit, `${what} for tier ${tier}`, 1, max)
}

function checkKey(key: unknown, what: string): void {
  if (typeof key !== 'function') checkedKey(key, what)
}

function checkedKey(key: unknown, what: string): string {
  return checkedName(key, what, limits.gateKeyLengthMax)
}

export interface GatedTask {
  readonly name: string
  readonly gates: readonly Gate[]
  readonly group: Group | undefined
}

/** The gates of one job: its own if it names any, otherwise its task's; in the order in which they are waited for. */
export function gatesOf(
  task: GatedTask,
  input: unknown,
  own: { readonly gate?: unknown; readonly group?: unknown },
): readonly StoredGate[] {
  const gates = own.gate === undefined ? task.gates : checkedGates(own.gate, 'gate')
  const stored: StoredGate[] = gates.map(({ kind, key, limit, onFull, overrunMs: after }) => ({
    key: `${kind}:${valueOf(key, input, `the key of a gate of task ${task.name}`)}`,
    limit,
    onFull,
    ...(after === undefined ? {} : { overrunMs: after }),
  }))
  const group = storedGroup(task, input, own.group)
  if (group) stored.push(group)
  const keys = new Set(stored.map(({ key }) => key))
  if (keys.size < stored.length) {
    throw new FencepostError('FP_OPTION_INVALID', `a job of task ${task.name} has two gates with one key`)
  }
  return stored.sort((a, b) => Buffer.compare(Buffer.from(a.key), Buffer.from(b.key)))
}

function storedGroup(task: GatedTask, input: unknown, own: unknown): StoredGate | undefined {
  const { group } = task
  if (own !== undefined && !group) {
    throw new FencepostError('FP_OPTION_INVALID', `task ${task.name} has no limits for groups`, {
      hint: 'Give the task a group: { id, limit } first; a job may then name its own group.',
    })
  }
  if (!group) return undefined
  let { id, tier }: { id: unknown; tier: unknown } = group
  if (own !== undefined) {
    checkOptionNames(own, ['id', 'tier'], 'group')
    id = checkedKey((own as JobGroup).id, 'id of group')
    tier = (own as JobGroup).tier
  }
  const name = `the group of task ${task.name}`
  const tierName =
    tier === undefined ? undefined : valueOf(tier as Gate['key'], input, `the tier of ${name}`, { mayBeNone: true })
  const limit = tierLimit(group.limit, tierName, `limit of ${name}`)
  const local = tierLimit(group.perProcess, tierName, `perProcess of ${name}`)
  return {
    key: `group:${valueOf(id as Gate['key'], input, `the id of ${name}`)}`,
    onFull: 'wait',
    ...(limit === undefined ? {} : { limit }),
    ...(local === undefined ? {} : { local }),
  }
}

function tierLimit(given: TierLimits | undefined, tier: string | undefined, what: string): number | undefined {
  if (given === undefined || typeof given === 'number') return given
  const limit = (tier !== undefined && Object.hasOwn(given, tier) ? given[tier] : undefined) ?? given['default']
  if (limit !== undefined) return limit
  throw new FencepostError('FP_OPTION_INVALID', `${what} names no tier ${shown(tier)}, and no default`)
}

function valueOf(key: Gate['key'], input: unknown, what: string): string
function valueOf(key: Gate['key'], input: unknown, what: string, options: { mayBeNone: true }): string | undefined
function valueOf(key: Gate['key'], input: unknown, what: string, options?: { mayBeNone: true }): string | undefined {
  if (typeof key === 'string') return key
  let value: unknown
  try {
    value = key(input as never)
  } catch (error) {
    throw new FencepostError(
      'FP_GATE_KEY_FAILED',
      `${what}: ${error instanceof Error ? error.message : shown(error)}`,
      {
        cause: error,
      },
    )
  }
  return value === undefined && options?.mayBeNone ? undefined : checkedKey(value, what)
}
