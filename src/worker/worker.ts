import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { FencepostError } from '../errors.js'
import type { Events } from '../events.js'
import { defaults, limits } from '../limits.js'
import type { Database } from '../store/database.js'
import { claim, type Lease } from '../store/lease.js'
import { release } from '../store/settle.js'
import { type Duration, durationMs } from '../task/duration.js'
import { checkedInteger } from '../task/options.js'
import type { Task } from '../task/task.js'
import { Execution } from './executor.js'
import { Heartbeat } from './heartbeat.js'
import { Maintenance } from './maintenance.js'

export interface WorkOptions {
  /** How many handlers run at the same time in this worker. */
  readonly concurrency?: number
  /** How often an idle worker looks for work. */
  readonly poll?: Duration
  /** How long stop() waits for running handlers before it aborts them and gives their jobs back. */
  readonly grace?: Duration
}

/**
 * Claims jobs of its tasks and runs them.
 *
 *     poll ──claim──▶ executions ──settle──▶ (free slots) ──▶ claim at once
 *                        ▲ abort
 *     heartbeat ─────────┘            maintenance: promote, lose
 */
export class Worker {
  readonly id = `${hostname()}/${process.pid}/${randomUUID().slice(0, 8)}`
  readonly #db: Database
  readonly #events: Events
  readonly #tasks: ReadonlyMap<string, Task<unknown, unknown>>
  readonly #queues: readonly string[]
  readonly #payloadBytesMax: number
  readonly #concurrency: number
  readonly #pollMs: number
  readonly #graceMs: number
  readonly #running = new Map<number, { execution: Execution; done: Promise<void> }>()
  readonly #heartbeat: Heartbeat
  readonly #maintenance: Maintenance
  #turn = 0
  #stopping = false
  #stopped: Promise<void> | undefined
  #rest: { timer: NodeJS.Timeout; end: () => void } | undefined
  readonly #loop: Promise<void>

  constructor(
    db: Database,
    events: Events,
    tasks: readonly Task<unknown, unknown>[],
    options: WorkOptions,
    payloadBytesMax: number,
  ) {
    this.#db = db
    this.#events = events
    this.#payloadBytesMax = payloadBytesMax
    this.#concurrency = checkedInteger(
      options.concurrency ?? defaults.concurrency,
      'concurrency',
      1,
      limits.concurrencyMax,
    )
    this.#pollMs = durationMs(options.poll ?? defaults.pollMs, 'poll', limits.pollMsMin, limits.timerMsMax)
    this.#graceMs = durationMs(options.grace ?? defaults.shutdownGraceMs, 'grace', 0, limits.timerMsMax)
    this.#tasks = byName(tasks)
    this.#queues = [...new Set(tasks.map((task) => task.queue))]
    this.#heartbeat = new Heartbeat(db, events, () => [...this.#running.values()].map(({ execution }) => execution))
    this.#maintenance = new Maintenance(db, events, this.#pollMs, () => this.#look())
    this.#loop = this.#run()
  }

  /** Stops claiming, waits for running handlers, then aborts and gives back what is left, at no charge. */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop()
    return this.#stopped
  }

  async #stop(): Promise<void> {
    this.#stopping = true
    this.#look()
    await this.#loop
    await this.#maintenance.stop()
    const all = Promise.allSettled([...this.#running.values()].map(({ done }) => done))
    let timer: NodeJS.Timeout | undefined
    const grace = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, this.#graceMs)
    })
    await Promise.race([all, grace])
    clearTimeout(timer)
    await Promise.all([...this.#running.values()].map(({ execution }) => execution.giveBack('shutdown')))
    await this.#heartbeat.stop()
  }

  async #run(): Promise<void> {
    while (!this.#stopping) {
      const room = this.#concurrency - this.#running.size
      const claimed = room > 0 ? await this.#claim(room) : 0
      if (claimed < room || this.#running.size >= this.#concurrency) await this.#wait()
    }
  }

  async #claim(room: number): Promise<number> {
    let claimed = 0
    for (const queue of this.#queues) {
      if (claimed >= room || this.#stopping) break
      try {
        const leases = await claim(this.#db, {
          queue,
          limit: room - claimed,
          worker: this.id,
          tasks: [...this.#tasks.keys()],
          turn: ++this.#turn,
        })
        claimed += leases.length
        if (this.#stopping && leases.length > 0) await release(this.#db, leases, 'shutdown')
        else for (const lease of leases) this.#execute(lease)
      } catch (error) {
        this.#events.emit('error', { during: `claiming from queue ${queue}`, error })
        return 0
      }
    }
    return claimed
  }

  #execute(lease: Lease): void {
    const task = this.#tasks.get(lease.task) as Task<unknown, unknown>
    const { jobId, queue, tries: attempt } = lease
    this.#events.emit('claimed', { jobId, task: lease.task, queue, worker: this.id, attempt })
    const execution = new Execution(this.#db, this.#events, task, lease, this.#payloadBytesMax)
    const done = execution
      .run()
      .catch((error: unknown) => this.#events.emit('error', { during: `settling job ${lease.jobId}`, error }))
      .finally(() => {
        this.#running.delete(lease.leaseId)
        this.#look()
      })
    this.#running.set(lease.leaseId, { execution, done })
  }

  /** Ends the current rest: there may be room, work, or an order to stop. */
  #look(): void {
    this.#rest?.end()
  }

  #wait(): Promise<void> {
    if (this.#stopping) return Promise.resolve()
    return new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer)
        this.#rest = undefined
        resolve()
      }
      const timer = setTimeout(end, this.#pollMs)
      this.#rest = { timer, end }
    })
  }
}

function byName(tasks: readonly Task<unknown, unknown>[]): ReadonlyMap<string, Task<unknown, unknown>> {
  const named = new Map<string, Task<unknown, unknown>>()
  for (const task of tasks) {
    if (named.has(task.name)) throw new FencepostError('FP_TASK_DUPLICATE', task.name)
    named.set(task.name, task)
  }
  return named
}
