/** A worker of the system under test from its start to its end, and what its handlers saw. Other processes may share the work. */
import { setTimeout as pause } from 'node:timers/promises'

/** The same for all processes of a machine, in milliseconds. */
const now = () => performance.timeOrigin + performance.now()
const rssMb = () => process.memoryUsage.rss() / 2 ** 20

export class WorkerRun {
  #worker
  #cpu = process.cpuUsage()
  #begunAt = now()
  #endedAt = this.#begunAt
  #done = 0
  #rssMb = 0
  #overshoot = overshoot()

  /** The time begins before the worker starts. */
  static async begin(system, { handlerMs = 0, ...options }) {
    const run = new WorkerRun()
    run.#worker = await system.work(options, (data) => run.#handle(data, handlerMs))
    return run
  }

  async #handle(data, handlerMs) {
    const leave = this.#overshoot.enter(data)
    if (handlerMs > 0) await pause(handlerMs)
    leave()
    if (++this.#done % 1_000 === 0) this.#rssMb = Math.max(this.#rssMb, rssMb())
    this.#endedAt = now()
  }

  count() {
    return { done: this.#done, at: now() }
  }

  /** What it held when the last handler ended is settled before this returns. */
  async finish() {
    const { user, system } = process.cpuUsage(this.#cpu)
    await this.#worker.stop()
    return {
      done: this.#done,
      begunAt: this.#begunAt,
      endedAt: this.#endedAt,
      cpuSeconds: (user + system) / 1e6,
      rssMb: Math.max(this.#rssMb, rssMb()),
      overshoot: this.#overshoot.most(),
    }
  }
}

/** By how many the handlers of a group at the same time were ever more than its limit: as they see it themselves. */
function overshoot() {
  const running = new Map()
  let most = 0
  return {
    enter(data) {
      if (data?.limit === undefined) return () => {}
      const atOnce = (running.get(data.group) ?? 0) + 1
      running.set(data.group, atOnce)
      most = Math.max(most, atOnce - data.limit)
      return () => running.set(data.group, running.get(data.group) - 1)
    },
    most: () => most,
  }
}
