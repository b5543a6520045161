import { EventEmitter, once } from 'node:events'
import type { Fencepost } from '../../../src/index.js'
import type { Inputs } from './handlers.js'

const producers = 3
const batch = 5
/** Long enough for some to be at work at any moment, and for two cores to have time for the processes. */
const workMsMax = 120

type EnqueueMany = <Name extends 'note' | 'charge'>(name: Name, inputs: readonly Inputs[Name][]) => Promise<string[]>

/** A load that neither dries up nor piles up: each producer enqueues a few jobs when one of its last has ended. */
export class Producers {
  readonly #enqueueMany: EnqueueMany
  readonly #fp: Fencepost
  readonly #bell = new EventEmitter()
  readonly #lanes: Promise<void[]>
  #ended = 0
  #stopping = false

  constructor(enqueueMany: EnqueueMany, fp: Fencepost) {
    this.#enqueueMany = enqueueMany
    this.#fp = fp
    this.#lanes = Promise.all(Array.from({ length: producers }, (_, lane) => this.#produce(lane)))
    this.#lanes.catch((error: unknown) => this.#bell.emit('error', error))
    this.#bell.on('error', () => {})
  }

  /** Returns when as many more batches have begun to end as make this many jobs. */
  async made(jobs: number): Promise<void> {
    const until = this.#ended + jobs
    while (this.#ended < until) await once(this.#bell, 'ended')
  }

  async stop(): Promise<void> {
    this.#stopping = true
    await this.#lanes
  }

  async #produce(lane: number): Promise<void> {
    for (let n = lane; !this.#stopping; n++) {
      const notes = Array.from({ length: batch - 1 }, (_, i) => ({ workMs: (n * 7 + i * 41) % workMsMax }))
      const ids = [...(await this.#enqueueMany('note', notes)), ...(await this.#enqueueMany('charge', [{}]))]
      await this.#fp.result(ids[n % batch] as string)
      this.#ended += batch
      this.#bell.emit('ended')
    }
  }
}
