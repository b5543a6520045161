import { setTimeout as pause } from 'node:timers/promises'
import type { Database } from '../store/database.js'
import { type JobView, listJobs, listQueues, type QueueView } from '../store/read.js'
import { paintFor } from './colours.js'
import { demoQueue } from './demo.js'
import type { Move, MoveRecorder } from './dev-moves.js'
import { type DevState, drawDevScreen, jobsThatFit } from './dev-screen.js'
import { type DevView, troubleText } from './dev-view.js'
import { LiveScreen } from './live-screen.js'

const lookEveryMs = 250
/** Looking may take this share of the time, however large the tables are. */
const lookShareMax = 0.1
const movesKept = 20
const troubleShownMs = 10_000

/** The live screen: where the jobs are is read from the database, so that what other processes do is seen as well. */
export class DevLive implements DevView {
  readonly #db: Database
  readonly #server: string
  readonly #tally: MoveRecorder['tally']
  #jobs: readonly JobView[] = []
  #queue: QueueView | undefined
  #moves: readonly Move[] = []
  #trouble: { text: string; at: number } | undefined

  constructor(db: Database, server: string, tally: MoveRecorder['tally']) {
    this.#db = db
    this.#server = server
    this.#tally = tally
  }

  moved(move: Move): void {
    this.#moves = [...this.#moves, move].slice(-movesKept)
  }

  failed(during: string, error: unknown): void {
    this.#trouble = { text: troubleText(during, error), at: Date.now() }
  }

  async show(signal: AbortSignal): Promise<void> {
    const paint = paintFor(process.stdout)
    const screen = new LiveScreen(process.stdout, (size) => drawDevScreen(this.#state(), size, paint))
    try {
      while (!signal.aborted) {
        const lookedAt = Date.now()
        await this.#look(jobsThatFit(screen.size))
        screen.redraw()
        const restMs = Math.max(lookEveryMs, (Date.now() - lookedAt) / lookShareMax)
        await pause(restMs, undefined, { signal }).catch(() => {}) // aborted: no rest
      }
    } finally {
      screen.close()
    }
  }

  async #look(jobs: number): Promise<void> {
    try {
      this.#jobs = await listJobs(this.#db, { queue: demoQueue, limit: jobs })
      this.#queue = (await listQueues(this.#db)).find(({ queue }) => queue === demoQueue)
    } catch (error) {
      this.failed('looking', error)
    }
  }

  #state(): DevState {
    const trouble = this.#trouble && Date.now() - this.#trouble.at < troubleShownMs ? this.#trouble.text : undefined
    return {
      server: this.#server,
      queue: this.#queue,
      tally: this.#tally,
      jobs: this.#jobs,
      moves: this.#moves,
      trouble,
    }
  }
}
