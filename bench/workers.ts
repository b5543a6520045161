/** Workers that empty a queue together, each in a process of its own. */
import { setTimeout as pause } from 'node:timers/promises'
import type { System, WorkerTold } from './system.js'

export interface Drained {
  readonly seconds: number
  readonly cpuSeconds: number
  readonly rssMb: number
  readonly overshoot: number
}

/** Rarely enough to cost the workers nothing; when the last handler ended they know themselves. */
const lookMs = 25
const stalledMs = 60_000

/** From before the workers start to the end of the last handler; then it is checked that all were acknowledged. */
export async function drained(
  workers: readonly System[],
  jobs: number,
  options: Record<string, unknown>,
): Promise<Drained> {
  await Promise.all(workers.map((worker) => worker.do('begin', options)))
  let [done, changedAt] = [0, performance.now()]
  while (done < jobs) {
    await pause(lookMs)
    const counts = await Promise.all(workers.map((worker) => worker.do<{ done: number }>('count')))
    const now = sum(counts.map((count) => count.done))
    if (now > done) changedAt = performance.now()
    else if (performance.now() - changedAt > stalledMs) throw new Error(`${now} of ${jobs} jobs are done, and no more`)
    done = now
  }
  const told = await Promise.all(workers.map((worker) => worker.do<WorkerTold>('finish')))
  const { left } = await (workers[0] as System).do<{ left: number }>('left')
  if (left > 0) throw new Error(`${left} jobs are left`)
  const endedAt = Math.max(...told.map((one) => one.endedAt))
  return {
    seconds: (endedAt - Math.min(...told.map((one) => one.begunAt))) / 1_000,
    cpuSeconds: sum(told.map((one) => one.cpuSeconds)),
    rssMb: Math.max(...told.map((one) => one.rssMb)),
    overshoot: Math.max(...told.map((one) => one.overshoot)),
  }
}

export function sum(values: readonly number[]): number {
  return values.reduce((a, b) => a + b, 0)
}
