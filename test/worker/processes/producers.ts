import { EventEmitter, once } from 'node:events'
import type { Fencepost } from '../../../src/index.js'
import type { Inputs } from './handlers.js'

const producers = 3
const batch = 4
/** Long enough for some to be at work at any moment, and for two cores to have time for the processes. */
const workMsMax = 400

type EnqueueMany = <Name extends 'note' | 'charge'>(name: Name, inputs: readonly Inputs[Name][]) => Promise<string[]>

/** A load that neither dries up nor piles up: each producer enqueues a few jobs when its last have ended. */
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

  /** Returns when this many more jobs have ended. */
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
      const notes = Array.from({ length: batch - 1 }, (_, i) => ({ workMs: (n * 37 + i * 131) % workMsMax }))
      const ids = [...(await this.#enqueueMany('note', notes)), ...(await this.#enqueueMany('charge', [{}]))]
      await Promise.all(ids.map((id) => this.#fp.result(id)))
      this.#ended += batch
      this.#bell.emit('ended')
    }
  }
}
