/** The processes of the systems under test: the first of each keeps its tables, others can join it. */
import { type Node, System } from './system.js'

export const fencepost = 'fencepost'
/** In tables of its own, which are filled once. */
export const fencepostLarge = 'fencepost, large backlog'

const programs: Readonly<Record<string, { readonly system: string; readonly [option: string]: string }>> = {
  [fencepost]: { system: 'fencepost' },
  [fencepostLarge]: { system: 'fencepost', schema: 'bench_fencepost_large' },
  'raw loop': { system: 'raw-loop' },
  'graphile-worker': { system: 'graphile-worker' },
  'pg-boss': { system: 'pg-boss' },
  'bullmq on Redis': { system: 'bullmq', on: 'redis' },
  'bullmq on PostgreSQL': { system: 'bullmq', on: 'postgres' },
  DBOS: { system: 'dbos' },
}

export interface About {
  readonly versions: Readonly<Record<string, string>>
  readonly settings: string
}

export class Systems {
  readonly #given: { readonly url: string; readonly redisPort: number | undefined }
  readonly #onStart: (name: string, about: About) => void
  readonly #running = new Map<string, System>()

  constructor(given: { url: string; redisPort: number | undefined }, onStart: (name: string, about: About) => void) {
    this.#given = given
    this.#onStart = onStart
  }

  /** The one that keeps the tables. */
  main(name: string): Promise<System> {
    return this.#kept(name, name, false)
  }

  /** Another process on the same tables, until its workload is over. */
  async guest(name: string, n: number): Promise<System> {
    await this.main(name)
    return this.#kept(`${name} #${n}`, name, true)
  }

  /** One that has done nothing yet; ended by whoever asked for it. */
  async fresh(name: string, node?: Node): Promise<System> {
    await this.main(name)
    return this.#start(name, true, node)
  }

  /** What Redis does is not seen in what PostgreSQL tells. */
  isOnPostgres(name: string): boolean {
    return programs[name]?.['on'] !== 'redis'
  }

  async endGuests(): Promise<void> {
    const guests = [...this.#running].filter(([key]) => programs[key] === undefined)
    for (const [key, guest] of guests) {
      this.#running.delete(key)
      await guest.end()
    }
  }

  async end(): Promise<void> {
    await this.endGuests()
    for (const system of this.#running.values()) await system.end()
  }

  /** Whatever they are doing. */
  kill(): void {
    for (const system of this.#running.values()) system.kill()
  }

  async #kept(key: string, name: string, guest: boolean): Promise<System> {
    const known = this.#running.get(key)
    if (known?.isAlive) return known
    const system = await this.#start(name, guest)
    this.#running.set(key, system)
    return system
  }

  async #start(name: string, guest: boolean, node?: Node): Promise<System> {
    const program = programs[name]
    if (!program) throw new Error(`there is no system ${name}`)
    if (program['on'] === 'redis' && this.#given.redisPort === undefined) throw new Error('there is no redis-server')
    const system = await System.start(name, { ...program, ...this.#given, guest }, node)
    if (!guest) this.#onStart(name, { versions: system.versions, settings: system.settings })
    return system
  }
}
