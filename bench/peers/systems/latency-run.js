/** From the call that adds a job to its handler, at a steady rate. Who adds may be another process than the one that works. */
import { setTimeout as pause } from 'node:timers/promises'

/** The same for all processes of a machine, in milliseconds. */
const now = () => performance.timeOrigin + performance.now()

/** Those of the first `warmUpSeconds` are not counted. */
function countsOf({ perSecond, seconds, warmUpSeconds }) {
  return { unmeasured: Math.round(perSecond * warmUpSeconds), jobs: Math.round(perSecond * seconds) }
}

/** The side that works. */
export class LatencyRun {
  #tookMs = []
  #worker
  #ended
  #all = new Promise((resolve) => (this.#ended = resolve))

  static async begin(system, options) {
    const run = new LatencyRun()
    const { unmeasured, jobs } = countsOf(options)
    run.#worker = await system.work({ concurrency: options.concurrency }, async ({ n, at }) => {
      if (n < unmeasured) return
      run.#tookMs.push(now() - at)
      if (run.#tookMs.length === jobs) run.#ended()
    })
    await pause(2_000) // it has found out that there is nothing to do
    return run
  }

  async end() {
    await this.#all
    await this.#worker.stop()
    const sorted = this.#tookMs.sort((a, b) => a - b)
    return { p50: sorted[Math.floor(sorted.length / 2)], p99: sorted[Math.floor(sorted.length * 0.99)] }
  }
}

/** The side that adds. */
export async function addSteadily(system, options) {
  const { unmeasured, jobs } = countsOf(options)
  const begunAt = performance.now()
  const adding = []
  for (let n = 0; n < unmeasured + jobs; n++) {
    const waitMs = begunAt + (n * 1_000) / options.perSecond - performance.now()
    if (waitMs > 0) await pause(waitMs)
    adding.push(system.add(n, { n, at: now() }))
  }
  await Promise.all(adding)
}
