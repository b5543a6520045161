import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import type { Fencepost } from '../../src/index.js'
import type { Held } from '../harness/server-proxy.js'
import { untilDone } from './child.js'
import type { Fault } from './faults.js'
import type { Fleet } from './fleet.js'
import { type Journal, nowMs } from './journal.js'
import type { TortureServer } from './server.js'

/** So many cuts may wait for their request at one proxy: more would all strike when a process comes back. */
const armedMax = 4

/** Does what the schedule says, tells it in its journal, and counts what really happened. */
export class Disturber {
  readonly figures = {
    kills: 0,
    terms: 0,
    stops: 0,
    stalled: 0,
    cuts: 0,
    cutCommits: 0,
    heldCommits: 0,
    backendsTerminated: 0,
    crashes: 0,
    restarts: 0,
    crowds: 0,
    limits: 0,
    pauses: 0,
  }
  readonly #server: TortureServer
  readonly #fleet: Fleet
  readonly #fp: Fencepost
  readonly #journal: Journal
  readonly #underWay = new Set<Promise<void>>()
  readonly #crowd = new Set<pg.Client>()
  /** One restart, and one word on gates, at a time: the journal tells when each began and ended. */
  #restarting: Promise<void> = Promise.resolve()
  #steering: Promise<void> = Promise.resolve()
  #isOver = false

  constructor(server: TortureServer, fleet: Fleet, fp: Fencepost, journal: Journal) {
    this.#server = server
    this.#fleet = fleet
    this.#fp = fp
    this.#journal = journal
  }

  /** Returns when the last fault has begun. */
  async run(faults: readonly Fault[], beganAtMs: number, signal: AbortSignal): Promise<void> {
    for (const fault of faults) {
      const waitMs = beganAtMs + fault.atMs - nowMs()
      if (waitMs > 0) await pause(waitMs, undefined, { signal })
      signal.throwIfAborted()
      const done = this.#strike(fault)
      this.#underWay.add(done)
      void done.finally(() => this.#underWay.delete(done))
    }
  }

  /** Everything is whole again: pauses are over, connections flow, the server is there. */
  async end(): Promise<void> {
    this.#isOver = true
    await Promise.all(this.#underWay)
  }

  async #strike(fault: Fault): Promise<void> {
    const { figures } = this
    switch (fault.kind) {
      case 'kill': {
        const isWorker = this.#fleet.hasWorker(fault.slot)
        const victim = isWorker ? await this.#found(() => this.#fleet.working(fault.slot)) : fault.slot
        if (victim && this.#fleet.kill(victim) && isWorker) figures.kills++
        return
      }
      case 'term': {
        const victim = await this.#found(() => this.#fleet.working(fault.slot))
        if (victim && this.#fleet.term(victim)) figures.terms++
        return
      }
      case 'stop': {
        const victim = await this.#found(() => this.#fleet.working(fault.slot, true))
        if (victim && this.#fleet.stop(victim, fault.ms)) figures.stops++
        return
      }
      case 'stall':
        return this.#stall(fault.slot, fault.ms)
      case 'cut':
        this.#tell('cut', fault.slot)
        this.#fleet.proxy(fault.slot).cutAll()
        figures.cuts++
        return
      case 'cut commit':
        return this.#cutCommit(fault)
      case 'hold commit':
        return this.#holdCommit(fault)
      case 'terminate backends':
        return this.#terminate(fault.count)
      case 'crash':
      case 'restart':
        this.#restarting = this.#restarting.then(() => this.#restart(fault.kind))
        return this.#restarting
      case 'crowd':
        return this.#crowdOut(fault.ms)
      case 'limit':
        return this.#steer(async () => {
          this.#journal.write('limit', fault.key, fault.limit)
          await untilDone(() => this.#fp.setLimit(fault.key, fault.limit))
          this.#journal.write('limited', fault.key, fault.limit)
          figures.limits++
        })
      case 'pause':
        return this.#steer(async () => {
          const name = JSON.stringify(fault.what)
          await untilDone(() => this.#fp.pause(fault.what))
          this.#journal.write('paused', name)
          await pause(fault.ms)
          this.#journal.write('resume', name)
          await untilDone(() => this.#fp.resume(fault.what))
          figures.pauses++
        })
    }
  }

  /** A worker to be disturbed: right after a crash there may be none at work. */
  async #found(find: () => string | undefined): Promise<string | undefined> {
    for (let tries = 0; tries < 100 && !this.#isOver; tries++) {
      const found = find()
      if (found !== undefined) return found
      await pause(50)
    }
    return undefined
  }

  #steer(work: () => Promise<void>): Promise<void> {
    this.#steering = this.#steering.then(work)
    return this.#steering
  }

  async #stall(slot: string, ms: number): Promise<void> {
    this.#tell('stall', slot, ms)
    this.figures.stalled++
    const proxy = this.#fleet.proxy(slot)
    proxy.stall()
    await pause(ms)
    proxy.resume()
  }

  async #cutCommit({ slot, text, at }: Fault & { kind: 'cut commit' }): Promise<void> {
    const proxy = this.#fleet.proxy(slot)
    if (proxy.armed >= armedMax) return
    const struck = at === 'before' ? proxy.loseRequest(text) : proxy.loseReplyTo(text)
    void struck.then(() => {
      this.#tell('cut', slot)
      this.figures.cutCommits++
    })
  }

  async #holdCommit({ slot, text, at, ms, then }: Fault & { kind: 'hold commit' }): Promise<void> {
    const proxy = this.#fleet.proxy(slot)
    if (proxy.armed >= armedMax) return
    void proxy.holdRequest(text, at).then(async (held: Held) => {
      this.#tell('hold', slot, ms)
      this.figures.heldCommits++
      await pause(this.#isOver ? 0 : ms)
      if (then === 'cut') held.cut()
      else held.letGo()
    })
  }

  async #restart(kind: 'crash' | 'restart'): Promise<void> {
    this.#journal.write('away')
    await this.#server.restart(kind === 'crash' ? 'immediate' : 'fast')
    this.#journal.write('back')
    if (kind === 'crash') this.figures.crashes++
    else this.figures.restarts++
  }

  /** Ends some sessions, whatever they are at. */
  async #terminate(count: number): Promise<void> {
    const ended = await this.#asAdmin((admin) =>
      admin.query(
        `select pg_terminate_backend(pid) from (
           select pid from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()
           order by random() limit $1) s`,
        [count],
      ),
    )
    this.#journal.write('terminated')
    this.figures.backendsTerminated += ended?.rowCount ?? 0
  }

  /** Takes all connections that are left, for a while. */
  async #crowdOut(ms: number): Promise<void> {
    this.#journal.write('crowd', ms)
    const untilMs = nowMs() + ms
    while (nowMs() < untilMs) {
      const client = await this.#connect()
      if (client) this.#crowd.add(client)
      else await pause(50)
    }
    this.figures.crowds++
    await Promise.all([...this.#crowd].map((client) => client.end().catch(() => {})))
    this.#crowd.clear()
  }

  async #connect(): Promise<pg.Client | undefined> {
    const client = new pg.Client({ connectionString: this.#server.url, connectionTimeoutMillis: 2_000 })
    client.on('error', () => {})
    try {
      await client.connect()
      return client
    } catch {
      return undefined // full, or away
    }
  }

  async #asAdmin<Result>(work: (admin: pg.Client) => Promise<Result>): Promise<Result | undefined> {
    const admin = await this.#connect()
    try {
      return admin && (await work(admin))
    } catch {
      return undefined
    } finally {
      await admin?.end().catch(() => {})
    }
  }

  /** A disturbance of the process that is in this slot now. */
  #tell(what: string, slot: string, ms = 0): void {
    this.#journal.write(what, this.#fleet.pid(slot) ?? null, ms)
  }
}
