import { setTimeout as pause } from 'node:timers/promises'
import { type Fencepost, fencepost } from '../../src/index.js'
import { defaults } from '../../src/limits.js'
import { Journal, nowMs } from './journal.js'
import type { Plan } from './work.js'

/** What a process of the torture is told by the program that starts it. */
export interface ChildOptions extends Plan {
  readonly slot: string
  /** Of the database, through the slot's proxy. */
  readonly url: string
  readonly journal: string
  /** When the run began, by the clock of the journals. */
  readonly beganAtMs: number
  readonly providerUrl: string
  readonly sqsPorts: readonly number[]
}

/** What a worker says to the program: it works, and so many of its handlers take long. */
export interface WorkerWord {
  readonly slow: number
}

export function childOptions(): ChildOptions {
  return JSON.parse(process.argv[2] as string) as ChildOptions
}

/** Tells the program that handlers which take long have begun, or ended; 0: that this process works. */
export function slowTeller(): (change: 1 | 0 | -1) => void {
  let slow = 0
  return (change) => {
    slow += change
    process.send?.({ slow } satisfies WorkerWord)
  }
}

/** Begins the journal; without its program a child has nothing to do. */
export function childJournal({ journal: path }: ChildOptions): Journal {
  const journal = new Journal(path)
  journal.write('up', process.pid)
  process.on('disconnect', () => process.exit(0))
  noteLags(journal)
  return journal
}

/** Tries until the database lets us in: a process may be started while the server is away. */
export async function connected(
  url: string,
  poolSize: number,
  databaseRetry: number = defaults.databaseRetryMs,
): Promise<Fencepost> {
  for (;;) {
    try {
      return await fencepost({ database: url, migrate: false, poolSize, databaseRetry })
    } catch (error) {
      if (!isPassing(error)) throw error
      await pause(200)
    }
  }
}

/** Ends when it has worked: what is tried again has to be safe to repeat. */
export async function untilDone<Result>(call: () => Promise<Result>): Promise<Result> {
  for (;;) {
    try {
      return await call()
    } catch (error) {
      if (!isPassing(error)) throw error
      await pause(100)
    }
  }
}

const passing = ['FP_DATABASE_UNREACHABLE', 'FP_COMMIT_UNKNOWN', 'FP_DATABASE_ERROR']

export function isPassing(error: unknown): boolean {
  return passing.includes((error as { code?: string }).code as string)
}

const lookEveryMs = 100
const lagMsMin = 400

/** A process that got no time from a busy machine may lose its leases for that alone: then it says so. */
function noteLags(journal: Journal): void {
  let before = nowMs()
  setInterval(() => {
    const lagMs = nowMs() - before - lookEveryMs
    if (lagMs > lagMsMin) journal.write('lag', process.pid, Math.round(lagMs))
    before = nowMs()
  }, lookEveryMs).unref()
}
