import { hostname } from 'node:os'
import { FencepostError } from '../errors.js'
import type { Events } from '../events.js'
import { defaults, limits } from '../limits.js'
import { packageVersion } from '../package-root.js'
import type { Database } from '../store/database.js'
import type { NewJob } from '../store/enqueue.js'
import type { TurnLease } from '../store/turn.js'
import { actionCard, putActions } from '../store/runs.js'
import { registerWorker, retireWorker } from '../store/worker.js'
import { type Duration, durationMs } from '../task/duration.js'
import { checkedInteger, checkedName } from '../task/options.js'
import type { Task } from '../task/task.js'
import { Advancer } from './advancer.js'
import { Carrier } from './carrier.js'
import { Deadlines } from './deadlines.js'
import { type Bench, Execution, type Onlooker } from './executor.js'
import { Heartbeat } from './heartbeat.js'
import { Held } from './held.js'
import { Lanes } from './lanes.js'
import { Lookout } from './lookout.js'
import { Maintenance } from './maintenance.js'
import { Suspect } from './suspect.js'
import { type Alone, type Claim, type Claimed, Turns } from './turns.js'
import { UnmarkedJobs } from './unmarked.js'
import { within } from './within.js'
import { newWorkerId } from './worker-id.js'

export interface WorkOptions {
  /** How many handlers run at the same time in this worker. */
  readonly concurrency?: number
  /** How many of them may be of one queue; a queue that is named is served even if no task names it. */
  readonly queues?: Readonly<Record<string, number>>
  /** How often an idle worker looks for work, should no notice reach it. */
  readonly poll?: Duration
  /** How long stop() waits for running handlers before it aborts them and gives their jobs back. */
  readonly grace?: Duration
  /** `false`: poll only. A postgres:// URL: listen there, for a `database` that is a PgBouncer in transaction mode. */
  readonly listen?: boolean | string
}

/** What became of the jobs that a worker had when it was told to stop. */
export interface StopReport {
  /** Their handlers came to an end in the grace period. */
  readonly finished: number
  /** Given back at no charge. */
  readonly released: number
}

/** A job that was claimed in expectation of a free handler, and got none for so long, is given back. */
const waitMsMax = 250
/** A statement that takes longer than this is given up: no answer will come. */
export const statementMsMax = 15_000
/** How long the last words of a worker that stops may take to reach the database. */
const lastWordsMsMax = 10_000

/**
 * Claims jobs of its tasks and runs them.
 *
 *     lookout ──look──▶ turns ──leases──▶ lanes ──▶ executions
 *     (notice, poll)      ▲                            │ what they came to
 *                         └────────────────────────────┘
 *     heartbeat: extends, aborts        maintenance: promote, reap        advancer: runs of workflows
 */
export class Worker {
  readonly #turnDb: Database
  readonly #backgroundDb: Database
  readonly #events: Events
  readonly #tasks: ReadonlyMap<string, Task<unknown, unknown>>
  readonly #queues: Readonly<Record<string, number>>
  readonly #graceMs: number
  readonly #bench: Bench
  readonly #held = new Held()
  readonly #deadlines = new Deadlines(() => this.#held.all())
  readonly #unmarked = new UnmarkedJobs(() => this.#turns.look())
  readonly #lanes: Lanes
  readonly #turns: Turns
  readonly #carrier: Carrier
  readonly #suspect: Suspect
  readonly #lookout: Lookout
  readonly #heartbeat: Heartbeat
  readonly #maintenance: Maintenance
  readonly #advancer: Advancer
  readonly #onlooker: Onlooker = {
    handlerEnded: (execution) => this.#handlerEnded(execution),
    settled: (execution, error) => this.#settled(execution, error),
  }
  #id = newWorkerId()
  #ended = 0
  #released = 0
  #begun = false
  #stopping = false
  #stopped: Promise<StopReport> | undefined
  #onQuiet: () => void = () => {}
  #waitTimer: NodeJS.Timeout | undefined
  #stopHearing: () => void = () => {}

  constructor(
    db: Database,
    events: Events,
    tasks: readonly Task<unknown, unknown>[],
    options: WorkOptions,
    payloadBytesMax: number,
  ) {
    this.#events = events
    this.#tasks = byName(tasks)
    const concurrency = checkedInteger(
      options.concurrency ?? defaults.concurrency,
      'concurrency',
      1,
      limits.concurrencyMax,
    )
    const pollMs = durationMs(options.poll ?? defaults.pollMs, 'poll', limits.pollMsMin, limits.timerMsMax)
    this.#graceMs = durationMs(options.grace ?? defaults.shutdownGraceMs, 'grace', 0, limits.timerMsMax)
    this.#queues = queueCaps(tasks, options.queues ?? {}, concurrency)
    this.#lanes = new Lanes(concurrency, this.#queues)

    // Tried for ever: a worker outlives its database's absence.
    const patient = { retryMs: Number.POSITIVE_INFINITY, statementMsMax }
    this.#turnDb = db.sibling({ ...patient, poolSize: 2, applicationName: 'fencepost worker' })
    this.#backgroundDb = db.sibling({ statementMsMax, poolSize: 2, applicationName: 'fencepost worker (background)' })
    const worker = () => this.#id
    this.#turns = new Turns({
      db: this.#turnDb,
      events,
      worker,
      tasks: [...this.#tasks.keys()],
      ask: (anyway) => this.#ask(anyway),
      unmarked: () => this.#unmarked.takeDue(),
      receive: (claim, answer) => this.#receive(claim, answer),
      onCalled: () => this.#advancer.call(),
    })
    this.#suspect = new Suspect({
      turns: this.#turns,
      lanes: this.#lanes,
      stopping: () => this.#stopping,
      run: (execution) => this.#run(execution),
      giveBack: (execution, reason) => this.#giveBack(execution, reason),
      forget: (execution) => this.#held.delete(execution),
      look: () => this.#look(),
    })
    const mayClaim = () => this.#mayClaim
    this.#carrier = new Carrier({ turns: this.#turns, lanes: this.#lanes, tasks: this.#tasks, mayClaim })
    this.#bench = { db, events, turns: this.#turns, deadlines: this.#deadlines, payloadBytesMax }
    this.#lookout = new Lookout({
      db: this.#backgroundDb,
      events,
      worker,
      queues: Object.keys(this.#queues),
      pollMs,
      listen: options.listen ?? true,
      turnMs: () => this.#lanes.turnMs,
      look: () => this.#look(),
    })
    this.#heartbeat = new Heartbeat({
      db: this.#backgroundDb,
      events,
      worker,
      stopping: () => this.#stopping,
      held: () => this.#held.all(),
      onLost: () => this.#goOnAsNew(),
    })
    this.#advancer = new Advancer({ db: this.#backgroundDb, events, tasks: this.#tasks, look: () => this.#look() })
    this.#maintenance = new Maintenance({
      db: this.#backgroundDb,
      events,
      pollMs,
      onRing: () => this.#advancer.call(),
      onRound: (moved) => {
        this.#suspect.lookNowAndThen()
        if (moved) this.#look()
      },
    })
  }

  get id(): string {
    return this.#id
  }

  /** How many round trips it has made to settle and to claim. */
  get turns(): number {
    return this.#turns.count
  }

  /** Makes itself known and begins to claim. */
  async begin(): Promise<void> {
    await this.#register()
    if (await this.#turnDb.isAboveReadCommitted()) this.#turnDb.sayReadCommitted() // guard: worker.read_committed
    await this.#turnDb.prepareMoves()
    this.#begun = true
    this.#events.emit('worker_started', { worker: this.#id, queues: this.#queues, tasks: [...this.#tasks.keys()] })
    this.#stopHearing = this.#events.on('enqueued', ({ jobId, queue }) => {
      if (Object.hasOwn(this.#queues, queue) && !this.#carrier.hasLookedFor(jobId)) this.#look() // guard: worker.carried
    })
    this.#look()
  }

  /** Stores jobs in the transaction that claims them, if it has handlers free for them. */
  carry(jobs: readonly NewJob[], alone: Alone): Promise<unknown> | undefined {
    return this.#carrier.carry(jobs, alone)
  }

  /** Stops claiming, waits for running handlers, then aborts and gives back what is left, at no charge. */
  stop(): Promise<StopReport> {
    this.#stopped ??= this.#stop() // guard: worker.stopped_once
    return this.#stopped
  }

  get #mayClaim(): boolean {
    // guard: worker.ask_begun (it is told of work before it is registered, and before it has said its isolation level)
    // guard: worker.ask_stopping
    // guard: worker.ask_suspect
    return this.#begun && !this.#stopping && !this.#suspect.isHere
  }

  /** What to claim with the next turn. */
  #ask(anyway: boolean): Claim | undefined {
    if (!this.#mayClaim) return undefined
    const claim = this.#lanes.claim(anyway, this.#suspect.isWanted)
    this.#suspect.asked(claim)
    return claim
  }

  #receive(claim: Claim, { leases, nudged, unseenMs, sentAtMs }: Claimed): void {
    this.#suspect.answered(claim)
    const { dry } = this.#lanes.answered(claim, leases, sentAtMs)
    for (const lease of leases) this.#accept(lease, sentAtMs)
    this.#suspect.runWhenAlone()
    if (dry)
      this.#lookout.nothing(leases.length > 0, nudged, unseenMs) // guard: worker.unseen
    else this.#lookout.found()
  }

  #accept(lease: TurnLease, sentAtMs: number): void {
    const task = this.#tasks.get(lease.task)
    if (!task) {
      // The claim names our tasks; should it ever bring another, that is for a worker who knows it.
      const trouble = (error: unknown) =>
        this.#events.emit('error', { during: `giving back job ${lease.jobId}`, error })
      void this.#turns.release({ ...lease, reason: 'unknown_task' }).catch(trouble) // guard: worker.known_task
      return
    }
    const execution = new Execution(this.#bench, task, lease, sentAtMs)
    this.#held.add(execution)
    if (this.#events.hears('claimed')) {
      const { jobId, queue, tries } = lease
      this.#events.emit('claimed', { jobId, task: lease.task, queue, worker: this.#id, attempt: tries })
    }
    if (this.#stopping) {
      // guard: worker.arrived_late
      this.#giveBack(execution, 'shutdown')
    } else if (lease.losses > 0 && !lease.started) {
      // guard: worker.suspect
      this.#suspect.accept(execution)
    } else if (this.#lanes.enter(execution)) {
      this.#run(execution)
    } else {
      this.#waitTimer ??= setTimeout(() => this.#giveBackLate(), waitMsMax)
    }
  }

  /** The slot is taken. */
  #run(execution: Execution): void {
    if (performance.now() > execution.validUntilMs) {
      // guard: worker.expired
      // It waited longer than its lease lasts, as in a process that was stopped: another attempt may run already. If
      // not, the job goes back at no charge: it has not begun.
      this.#giveBack(execution, 'no_room')
      this.#handlerEnded(execution)
      return
    }
    if (!execution.lease.started && !this.#suspect.is(execution)) {
      // guard: worker.marked
      this.#unmarked.add(execution)
    }
    execution.run(this.#onlooker)
  }

  #handlerEnded(execution: Execution): void {
    this.#ended++
    this.#suspect.ended(execution)
    const next = this.#lanes.leave(execution.lease.queue)
    if (next) this.#run(next)
    this.#suspect.runWhenAlone()
    if (this.#lanes.isEmpty) this.#onQuiet()
    this.#turns.look()
  }

  #settled(execution: Execution, error: unknown): void {
    if (error !== undefined) this.#events.emit('error', { during: `settling job ${execution.lease.jobId}`, error })
    this.#held.delete(execution)
    void execution.letGo()
  }

  #giveBack(execution: Execution, reason: 'shutdown' | 'cancelled' | 'no_room'): void {
    if (execution.isSettling) return // guard: worker.counted_once
    this.#released++
    void execution
      .giveBack(reason)
      .catch((error: unknown) =>
        this.#events.emit('error', { during: `giving back job ${execution.lease.jobId}`, error }),
      )
      .finally(() => this.#held.delete(execution))
  }

  #giveBackLate(): void {
    this.#waitTimer = undefined
    // guard: worker.given_back_late
    for (const execution of this.#lanes.drop(performance.now() - waitMsMax)) this.#giveBack(execution, 'no_room')
    if (this.#lanes.waiting > 0) this.#waitTimer = setTimeout(() => this.#giveBackLate(), waitMsMax)
  }

  #look(): void {
    if (this.#stopping) return
    this.#lanes.refill()
    this.#turns.look()
  }

  async #stop(): Promise<StopReport> {
    this.#stopping = true
    this.#events.emit('worker_stopping', { worker: this.#id, running: this.#lanes.running })
    this.#ended = 0
    this.#released = 0
    clearTimeout(this.#waitTimer)
    this.#stopHearing()
    const unbegun = [...this.#lanes.drop(), ...this.#suspect.stop()]
    const drained = within(this.#graceMs, this.#quiet()) // guard: worker.grace_max
    // A claim that is still on its way must not take up again what is given back.
    const background = [this.#lookout.stop(), this.#maintenance.stop(), this.#advancer.stop()]
    await within(lastWordsMsMax, Promise.all([this.#turns.rest(), ...background]))
    for (const execution of unbegun) this.#giveBack(execution, 'shutdown')
    await drained // guard: worker.grace
    this.#unmarked.stop() // not before: what runs on in the grace period is marked
    this.#deadlines.stop()
    const finished = this.#ended
    for (const execution of this.#held.all()) this.#giveBack(execution, 'shutdown')
    const toldAll = await within(lastWordsMsMax, this.#turns.rest()) // guard: worker.last_words
    await within(lastWordsMsMax, this.#heartbeat.stop()) // guard: worker.beats_in_grace
    if (toldAll) await within(lastWordsMsMax, retireWorker(this.#backgroundDb, this.#id)) // guard: worker.retired
    await Promise.all([this.#turnDb.close(), this.#backgroundDb.close()])
    const report = { finished, released: this.#released }
    this.#events.emit('worker_stopped', { worker: this.#id, ...report })
    return report
  }

  /** When no handler runs. */
  #quiet(): Promise<void> {
    return new Promise((resolve) => {
      this.#onQuiet = resolve
      if (this.#lanes.isEmpty) resolve()
    })
  }

  async #goOnAsNew(): Promise<void> {
    const worker = this.#id
    this.#id = newWorkerId()
    await retireWorker(this.#backgroundDb, worker)
    await this.#register()
    this.#events.emit('worker_lost', { worker, now: this.#id })
    this.#lookout.restart()
    this.#look()
  }

  async #register(): Promise<void> {
    await putActions(this.#backgroundDb, [...this.#tasks.values()].map(actionCard))
    await registerWorker(this.#backgroundDb, {
      id: this.#id,
      pid: process.pid,
      host: hostname(),
      version: packageVersion,
      queues: this.#queues,
      tasks: [...this.#tasks.keys()],
    })
  }
}

function byName(tasks: readonly Task<unknown, unknown>[]): ReadonlyMap<string, Task<unknown, unknown>> {
  const named = new Map<string, Task<unknown, unknown>>()
  for (const task of tasks) {
    if (named.has(task.name)) throw new FencepostError('FP_TASK_DUPLICATE', task.name) // guard: worker.one_of_a_name
    named.set(task.name, task)
  }
  return named
}

/** The queues of the tasks, and those that are named, each with how many handlers it may have. */
function queueCaps(
  tasks: readonly Task<unknown, unknown>[],
  named: Readonly<Record<string, number>>,
  concurrency: number,
): Record<string, number> {
  const caps = Object.fromEntries(tasks.map(({ queue }) => [queue, concurrency]))
  for (const [queue, cap] of Object.entries(named)) {
    checkedName(queue, 'a queue of work()')
    caps[queue] = checkedInteger(cap, `queues.${queue}`, 1, limits.concurrencyMax)
  }
  return caps
}
