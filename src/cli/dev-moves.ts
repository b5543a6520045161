import type { Fencepost } from '../client/fencepost.js'
import type { Outcome, Place } from '../job/places.js'
import type { JobView } from '../store/read.js'

/** A job went from one place to another; or something was noted about it where it is. */
export interface Move {
  readonly at: Date
  readonly jobId: string
  readonly task: string
  readonly from: Place | null
  readonly to: Place
  readonly outcome: Outcome | null
  readonly note: string
}

/** Turns the events of this process into moves: events name what happened, people want to see from where to where. */
export class MoveRecorder {
  /** How many jobs were enqueued and how many ended in which way, since the start. */
  readonly tally: Record<'enqueued' | Outcome, number> = {
    enqueued: 0,
    succeeded: 0,
    failed: 0,
    cancelled: 0,
    discarded: 0,
    expired: 0,
  }
  readonly #alive = new Map<string, { task: string; place: Place }>()
  readonly #delayed = new Set<string>()
  readonly #onMove: (move: Move) => void

  constructor(fp: Fencepost, onMove: (move: Move) => void) {
    this.#onMove = onMove
    fp.on('enqueued', ({ jobId, task }) => {
      this.tally.enqueued++
      const to = this.#delayed.delete(jobId) ? 'delayed' : 'ready'
      // A worker may have claimed it before the reply to the enqueue was read.
      if (!this.#alive.has(jobId)) this.#move(jobId, to, 'enqueued', task)
    })
    fp.on('claimed', ({ jobId, task, attempt }) => this.#move(jobId, 'leased', `attempt ${attempt}`, task))
    fp.on('finished', ({ jobId, task }) => this.#end(jobId, 'succeeded', '', task))
    fp.on('failed', ({ jobId, task, attempt, error, outcome }) => {
      const note = `attempt ${attempt} failed: ${error instanceof Error ? error.message : String(error)}`
      if (outcome) this.#end(jobId, outcome, note, task)
      else this.#move(jobId, 'delayed', note, task)
    })
    fp.on('released', ({ jobId, task, reason }) => this.#move(jobId, 'ready', `given back: ${reason}`, task))
    fp.on('lost', ({ jobId, task, worker, outcome }) => {
      const note = `lost with worker ${worker}`
      if (outcome) this.#end(jobId, outcome, note, task)
      else this.#move(jobId, 'ready', note, task)
    })
    fp.on('discarded', ({ jobId, task }) => this.#end(jobId, 'discarded', 'its gate was full', task))
    fp.on('yielded', ({ jobId }) => this.#move(jobId, 'waiting', 'paused'))
    fp.on('promoted', ({ jobId }) => this.#move(jobId, 'ready', 'due'))
    fp.on('cancel_requested', ({ jobId }) => this.#move(jobId, 'leased', 'cancel requested'))
    fp.on('cancelled', ({ jobId, task }) => this.#end(jobId, 'cancelled', '', task))
  }

  /** The event of an enqueue does not tell the place: whoever asks for a delay says so here before. */
  willBeDelayed(jobId: string): void {
    this.#delayed.add(jobId)
  }

  /** Jobs that an earlier run left behind. */
  know(jobs: readonly JobView[]): void {
    for (const { id, task, place } of jobs) if (place !== 'finished') this.#alive.set(id, { task, place })
  }

  #move(jobId: string, to: Place, note: string, named?: string): void {
    const known = this.#alive.get(jobId)
    const task = named ?? known?.task ?? '?'
    this.#alive.set(jobId, { task, place: to })
    this.#onMove({ at: new Date(), jobId, task, from: known?.place ?? null, to, outcome: null, note })
  }

  #end(jobId: string, outcome: Outcome, note: string, named?: string): void {
    const known = this.#alive.get(jobId)
    const task = named ?? known?.task ?? '?'
    this.#alive.delete(jobId)
    this.tally[outcome]++
    this.#onMove({ at: new Date(), jobId, task, from: known?.place ?? null, to: 'finished', outcome, note })
  }
}

/** `leased → finished succeeded`; only the place if the job stayed in it. */
export function moveText({ from, to, outcome }: Move): string {
  const end = outcome ? `${to} ${outcome}` : to
  if (from === to) return to
  return from ? `${from} → ${end}` : `→ ${end}`
}
