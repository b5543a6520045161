import type { Json } from '../job/json.js'
import { limits } from '../limits.js'
import { durationMs } from '../task/duration.js'
import type { Items } from './definition.js'
import { ExpressionError } from './expression.js'
import type { Trouble } from './run.js'

/** What needs nobody: it has ended as soon as it has begun. */
export function isInline(action: string): boolean {
  return action === 'core.echo' || action === 'core.noop' || action === 'core.fail'
}

/** What waits for a time, a signal, a person or another run; no worker is held. */
export function isWait(action: string): boolean {
  return action === 'core.sleep' || action === 'core.ask' || action.startsWith('wait.')
}

export function isRun(action: string): boolean {
  return action.startsWith('workflow.')
}

export function isJob(action: string): boolean {
  return !isInline(action) && !isWait(action) && !isRun(action)
}

/** A failure that the workflow itself asks for, or is at fault for. */
export class ActionFailure extends Error {
  readonly code: string

  constructor(message: string, code: string) {
    super(message)
    this.code = code
  }
}

export function runInline(action: string, input: Json): Json {
  if (action === 'core.echo') return input
  if (action === 'core.noop') return null
  const { message, code } = (input ?? {}) as { message?: Json; code?: Json }
  throw new ActionFailure(textOf(message) ?? 'failed by core.fail', textOf(code) ?? 'FP_CORE_FAIL')
}

/** What a wait waits for. */
export interface Wait {
  readonly input: Json
  readonly name?: string
  readonly asks?: boolean
  readonly run?: string
  readonly at?: number
  readonly ms?: number
}

export function waitOf(action: string, input: Json, nowMs: number): Wait {
  const given = (typeof input === 'object' && input !== null && !Array.isArray(input) ? input : {}) as Record<
    string,
    Json
  >
  switch (action) {
    case 'wait.signal':
      return { input, name: textOf(given['name']) ?? '' }
    case 'wait.run': {
      const run = given['run']
      if (typeof run !== 'string' || !/^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/i.test(run))
        throw unfit('run', 'the id of a run', run)
      return { input, run }
    }
    case 'wait.time':
      return { input, at: timeOf(given['at']) }
    case 'core.sleep':
      if (given['until'] !== undefined) return { input, at: timeOf(given['until']) }
      return { input, ms: sleepMs(given['for']) }
    default: {
      // An approval: the time it expires is stored with the question, for people.
      const expires = given['expires']
      if (expires === undefined || expires === null) return { input, asks: true }
      const ms = sleepMs(expires)
      return { input: { ...given, expiresAt: new Date(nowMs + ms).toISOString() }, asks: true, ms }
    }
  }
}

/** The year 9999. */
const timeMax = 253_402_300_799_999

function timeOf(value: Json | undefined): number {
  const at = typeof value === 'number' ? value : typeof value === 'string' ? Date.parse(value) : Number.NaN
  if (!Number.isFinite(at) || Math.abs(at) > timeMax)
    throw unfit('time', 'a timestamp like 2030-01-31T08:00:00Z', value)
  return at
}

function sleepMs(value: Json | undefined): number {
  try {
    return durationMs(value as never, 'duration')
  } catch {
    throw unfit('duration', "like '30s' or '2d'", value)
  }
}

function unfit(what: string, wanted: string, value: Json | undefined): ActionFailure {
  return new ActionFailure(`its ${what} must be ${wanted}, not ${JSON.stringify(value ?? null)}`, 'FP_INPUT_INVALID')
}

function textOf(value: Json | undefined): string | undefined {
  return value === undefined || value === null ? undefined : typeof value === 'string' ? value : JSON.stringify(value)
}

/** The items of a task: one list, or lists that are zipped; in batches, if it says so. */
export function listOf(value: Json, { zipped, batchSize }: Items): Json[] {
  const list = zipped ? zip(value as Record<string, Json>) : value
  if (!Array.isArray(list)) {
    throw new ActionFailure(`with_items must be a list, not ${describe(list)}`, 'FP_ITEMS_NO_LIST')
  }
  if (batchSize === null) return list
  return Array.from({ length: Math.ceil(list.length / batchSize) }, (_, n) =>
    list.slice(n * batchSize, (n + 1) * batchSize),
  )
}

function zip(lists: Record<string, Json>): Json[] {
  const named = Object.entries(lists)
  for (const [name, list] of named) {
    if (!Array.isArray(list))
      throw new ActionFailure(`${name} of with_items must be a list, not ${describe(list)}`, 'FP_ITEMS_NO_LIST')
  }
  const lengths = named.map(([, list]) => (list as Json[]).length)
  if (new Set(lengths).size > 1) {
    const each = named.map(([name], n) => `${name} has ${lengths[n]}`).join(', ')
    throw new ActionFailure(`the lists of with_items must have the same length: ${each}`, 'FP_ITEMS_UNEVEN')
  }
  return Array.from({ length: lengths[0] ?? 0 }, (_, n) =>
    Object.fromEntries(named.map(([name, list]) => [name, (list as Json[])[n] as Json])),
  )
}

export function concurrencyOf(value: Json): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= limits.gateLimitMax) return value
  throw new ActionFailure(
    `concurrency must be a whole number from 1 to ${limits.gateLimitMax}, not ${describe(value)}`,
    'FP_INPUT_INVALID',
  )
}

function describe(value: Json | undefined): string {
  if (value === null || value === undefined) return 'null'
  return typeof value === 'object' ? 'an object' : `${typeof value} ${JSON.stringify(value).slice(0, 60)}`
}

/** `where` names the part of the definition. */
export function troubleOf(error: unknown, where: string): Trouble {
  if (error instanceof ExpressionError)
    return { code: 'FP_EXPRESSION', message: `${where}: ${error.problem}`, place: error.text }
  if (error instanceof ActionFailure) return { code: error.code, message: error.message }
  throw error
}
