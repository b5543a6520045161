import type { Database } from '../store/database.js'
import { announceTasks } from '../store/enqueue.js'

interface Named {
  readonly task: string
  readonly queue: string
}

/**
 * Makes the tasks of this process known, each once: not part of the caller's transaction, because a name that is known
 * does no harm.
 */
export class Announcer {
  readonly #db: Database
  readonly #announced = new Set<string>()
  /** What nearly every call names again. */
  #lastAnnounced: Named | undefined

  constructor(db: Database) {
    this.#db = db
  }

  /** Undefined if all of them are known. */
  announce(all: readonly Named[]): Promise<void> | undefined {
    let fresh: Map<string, Named> | undefined
    let last = this.#lastAnnounced // thousands of jobs of one task are one name
    for (const named of all) {
      if (named.task === last?.task && named.queue === last.queue) continue
      last = named
      const key = JSON.stringify([named.task, named.queue])
      if (!this.#announced.has(key)) (fresh ??= new Map()).set(key, named)
    }
    if (fresh) return this.#tell(fresh)
    if (last && last !== this.#lastAnnounced) this.#lastAnnounced = { task: last.task, queue: last.queue } // not its payload
    return undefined
  }

  async #tell(fresh: ReadonlyMap<string, Named>): Promise<void> {
    for (const name of fresh.keys()) this.#announced.add(name)
    try {
      const names = [...fresh.values()].map(({ task, queue }) => ({ name: task, queue }))
      await announceTasks(this.#db, names)
    } catch (error) {
      for (const name of fresh.keys()) this.#announced.delete(name)
      this.#lastAnnounced = undefined
      throw error
    }
  }
}
