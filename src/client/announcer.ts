import type { Database } from '../store/database.js'
import { announceTasks } from '../store/enqueue.js'

interface Named {
  readonly name: string
  readonly queue: string
}

/**
 * Makes the tasks of this process known, each once: not part of the caller's transaction, because a name that is known
 * does no harm.
 */
export class Announcer {
  readonly #db: Database
  readonly #announced = new Set<string>()

  constructor(db: Database) {
    this.#db = db
  }

  async announce(names: readonly Named[]): Promise<void> {
    const key = ({ name, queue }: Named) => JSON.stringify([name, queue])
    const fresh = new Map(names.filter((name) => !this.#announced.has(key(name))).map((name) => [key(name), name]))
    if (fresh.size === 0) return
    for (const name of fresh.keys()) this.#announced.add(name)
    try {
      await announceTasks(this.#db, [...fresh.values()])
    } catch (error) {
      for (const name of fresh.keys()) this.#announced.delete(name)
      throw error
    }
  }
}
