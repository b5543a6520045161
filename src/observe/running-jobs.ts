import type { Fencepost } from '../client/fencepost.js'

/** What is known of an attempt that this process has claimed. */
export interface Attempt {
  readonly task: string
  readonly queue: string
  readonly worker: string
  readonly attempt: number
  readonly claimedAtMs: number
}

/**
 * The attempts of this process, from their claim to their end. Most events name the job alone: whoever writes a line or
 * counts wants to know its queue, its worker and how long it took as well.
 */
export class RunningJobs {
  readonly #attempts = new Map<string, Attempt>()
  readonly #stops: (() => void)[]

  /** Listen after this was made: an end is then still known when it is told, and forgotten right after. */
  constructor(fp: Pick<Fencepost, 'on'>) {
    const forget = ({ jobId }: { jobId: string }) => {
      const ended = this.#attempts.get(jobId)
      queueMicrotask(() => {
        // The answer that ended it may also hold its next lease, told meanwhile.
        if (this.#attempts.get(jobId) === ended) this.#attempts.delete(jobId)
      })
    }
    this.#stops = [
      fp.on('claimed', ({ jobId, task, queue, worker, attempt }) => {
        this.#attempts.set(jobId, { task, queue, worker, attempt, claimedAtMs: performance.now() })
      }),
      ...(['finished', 'failed', 'parked', 'released', 'cancelled', 'stale'] as const).map((end) => fp.on(end, forget)),
    ]
  }

  get count(): number {
    return this.#attempts.size
  }

  of(jobId: string): Attempt | undefined {
    return this.#attempts.get(jobId)
  }

  stop(): void {
    for (const stop of this.#stops) stop()
  }
}
