import type { History } from './history.js'

/** How many calls under fresh ids came to which end: what was never refused, or never left open, was not put to the test. */
export function countFresh({ jobs }: History): Record<string, number> {
  const counts = { freshEnqueues: 0, freshRefused: 0, freshUnknown: 0, freshUnanswered: 0 }
  for (const { spec, fresh, ackedAtMs } of jobs.values()) {
    if (fresh?.call !== spec.n) continue
    counts.freshEnqueues++
    if (fresh.refusal === 'FP_COMMIT_UNKNOWN') counts.freshUnknown++
    else if (fresh.refusal) counts.freshRefused++
    else if (ackedAtMs === undefined) counts.freshUnanswered++
  }
  return counts
}
