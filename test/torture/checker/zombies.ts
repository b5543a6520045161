import { leaseMs } from '../faults.js'
import type { History } from './history.js'

/** How many processes were stopped for longer than a lease lasts while a handler of theirs was at work. */
export function countZombies({ jobs, disturbances }: History): number {
  const deaths = new Map(disturbances.filter(({ what }) => what === 'kill').map(({ pid, fromMs }) => [pid, fromMs]))
  const stops = disturbances
    .filter(({ what }) => what === 'stop')
    .map(({ pid, fromMs, untilMs }) => ({ pid, fromMs, untilMs: Math.min(untilMs, deaths.get(pid) ?? untilMs) }))
    .filter(({ fromMs, untilMs }) => untilMs - fromMs > leaseMs)
  const withHandler = new Set<(typeof stops)[0]>()
  for (const { attempts } of jobs.values()) {
    for (const { pid, startedAtMs, endedAtMs = Number.POSITIVE_INFINITY } of attempts) {
      for (const stop of stops) {
        if (stop.pid === pid && startedAtMs < stop.fromMs && endedAtMs > stop.untilMs) withHandler.add(stop)
      }
    }
  }
  return withHandler.size
}
