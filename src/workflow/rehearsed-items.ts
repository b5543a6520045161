import { verdictOf } from '../job/verdict.js'
import type { Json } from '../job/json.js'
import { itemRetry } from './item-retry.js'
import type { ItemPlace, MemoryItem, MemoryRuns, Outside } from './memory-runs.js'
import type { ItemEnding } from './run.js'
import type { VirtualClock } from './virtual-clock.js'

/** What comes of one try of an action, and how long it takes. */
export type Outcome = { readonly afterMs: number } & (
  | { readonly result: Json }
  | { readonly fail: { readonly message: string; readonly code?: string } }
  | { readonly timeOut: true }
)

/** Asked once for each try of each item; `attempt` counts from 1. */
export type Act = (item: Omit<MemoryItem, 'run'>, attempt: number) => Outcome

interface Working {
  readonly item: MemoryItem
  /** Takes back what is to happen to it next. */
  clear: () => void
  isRunning: boolean
  tries: number
}

/** The items of a task run that have not ended. */
interface Crew {
  readonly working: Set<Working>
  /** Those for which there was no room. */
  readonly waiting: Set<Working>
  running: number
  /** One has failed, and no other is let in. */
  isHalted: boolean
}

/** The work on items, without workers: every try begins as soon as there is room for it. */
export class RehearsedItems implements Outside {
  readonly #clock: VirtualClock
  readonly #runs: () => MemoryRuns
  readonly #act: Act
  readonly #crews = new Map<string, Crew>()

  constructor(clock: VirtualClock, runs: () => MemoryRuns, act: Act) {
    this.#clock = clock
    this.#runs = runs
    this.#act = act
  }

  make(items: readonly MemoryItem[]): void {
    for (const item of items) {
      const working: Working = { item, clear: () => {}, isRunning: false, tries: 0 }
      this.#crewOf(item).working.add(working)
      if (item.delayMs > 0) this.#later(working, item.delayMs, () => this.#try(working))
      else this.#try(working)
    }
  }

  stop(taskRun: Omit<ItemPlace, 'item'>, which: 'unstarted' | 'all'): void {
    const crew = this.#crewOf(taskRun)
    const stopped = [...crew.working].filter(({ isRunning }) => !isRunning || which === 'all')
    for (const working of stopped) this.#leave(working)
    for (const { item } of stopped) this.#runs().endItem(item, { outcome: 'cancelled', reason: 'the run stops' })
  }

  /** What is waited for is mocked like the result of an action. */
  watch({ run, task, ordinal }: Omit<ItemPlace, 'item'>, watched: string): void {
    const action = 'wait.run'
    const asked = {
      task,
      ordinal,
      item: 0,
      action,
      input: { run: watched },
      delayMs: 0,
      policy: null,
      concurrency: null,
    }
    const outcome = this.#act(asked, 1)
    this.#clock.at(this.#clock.nowMs + outcome.afterMs, () => {
      this.#runs().endWatch(
        { run, task, ordinal },
        { outcome: 'result' in outcome ? 'succeeded' : 'failed', run: watched },
      )
    })
  }

  #crewOf({ run, task, ordinal }: Omit<ItemPlace, 'item'>): Crew {
    const key = `${run}/${task}/${ordinal}`
    const crew = this.#crews.get(key) ?? { working: new Set(), waiting: new Set(), running: 0, isHalted: false }
    this.#crews.set(key, crew)
    return crew
  }

  #later(working: Working, ms: number, happen: () => void): void {
    working.clear = this.#clock.at(this.#clock.nowMs + ms, happen)
  }

  #try(working: Working): void {
    const { item } = working
    const crew = this.#crewOf(item)
    if (item.concurrency !== null && (crew.isHalted || crew.running >= item.concurrency)) {
      crew.waiting.add(working)
      return
    }
    crew.running++
    working.isRunning = true
    working.tries++
    const { run: _run, ...asked } = item
    const outcome = this.#act(asked, working.tries)
    const timeoutMs = item.policy?.timeoutMs
    const isLate = timeoutMs !== undefined && ('timeOut' in outcome || outcome.afterMs >= timeoutMs)
    if (isLate) this.#later(working, timeoutMs, () => this.#fail(working, timedOut(timeoutMs)))
    else this.#later(working, outcome.afterMs, () => this.#settle(working, outcome))
  }

  #settle(working: Working, outcome: Outcome): void {
    if ('result' in outcome) this.#end(working, { outcome: 'succeeded', result: outcome.result })
    else if ('fail' in outcome) this.#fail(working, { name: 'Error', ...outcome.fail })
    else this.#fail(working, timedOut(undefined))
  }

  /** As a worker does it. Without a word of the workflow on retries, what is mocked is what remains after the task's own. */
  #fail(working: Working, error: object): void {
    const { item, tries } = working
    const retry = itemRetry(item.policy, tries)
    const verdict = verdictOf(error, retry ?? once, tries, 0)
    if (retry && !verdict.final && tries <= retry.limit) {
      this.#rest(working)
      this.#later(working, verdict.delayMs, () => this.#try(working))
      return
    }
    if (item.policy?.halt) this.#crewOf(item).isHalted = true
    const { message, code } = verdict.error as { message: string; code?: string }
    const reason = verdict.final ? 'not_retryable' : 'failures_exhausted'
    this.#end(working, { outcome: 'failed', reason, message, code: code ?? null, error: verdict.error })
  }

  #end(working: Working, ending: ItemEnding): void {
    this.#leave(working)
    this.#runs().endItem(working.item, ending)
    this.#letIn(working.item)
  }

  /** It runs no more, and another may. */
  #rest(working: Working): void {
    working.isRunning = false
    this.#crewOf(working.item).running--
    this.#letIn(working.item)
  }

  #leave(working: Working): void {
    const crew = this.#crewOf(working.item)
    working.clear()
    if (working.isRunning) crew.running--
    working.isRunning = false
    crew.working.delete(working)
    crew.waiting.delete(working)
  }

  #letIn(taskRun: Omit<ItemPlace, 'item'>): void {
    const { waiting } = this.#crewOf(taskRun)
    const [next] = waiting
    if (!next) return
    waiting.delete(next)
    this.#try(next)
  }
}

const once = { limit: 0, backoff: 'fixed', delayMs: 0, delayMsMax: 0, jitter: 0, retryable: () => true } as const

function timedOut(ms: number | undefined): object {
  return { name: 'Error', message: ms === undefined ? 'timed out' : `timed out after ${ms} ms`, code: 'FP_TIMED_OUT' }
}
