import type { Fencepost } from '../../src/index.js'
import { isPassing } from './child.js'
import type { Entry, Journal } from './journal.js'
import { makeTask } from './tasks.js'
import { type FreshKind, specOf } from './work.js'

/** Not for long: many a crash lasts longer, and then a caller has to be told the truth about what became of its jobs. */
export const freshRetryMs = 1_000

interface FreshCall {
  readonly seed: number
  readonly kind: FreshKind
  readonly first: number
  readonly count: number
}

/**
 * Enqueues these numbers under ids that the engine makes, once: asked for again they would be other jobs. What it is about to
 * ask for is told before, so that nothing can be there that nobody knows of.
 */
export async function enqueueFresh(
  fp: Fencepost,
  journal: Journal,
  { seed, kind, first, count }: FreshCall,
): Promise<void> {
  const numbers = Array.from({ length: count }, (_, n) => first + n)
  journal.write('intend', first, count, kind)
  try {
    const jobs = await fp.enqueueMany(
      makeTask(kind),
      numbers.map((n) => ({ input: { n, failures: 0, workMs: specOf(seed, kind, n).workMs, gates: [] } })),
    )
    jobs.forEach(({ id }, n) => journal.write('stored', first + n, id))
  } catch (error) {
    if (!isPassing(error)) throw error
    journal.write('refused', first, (error as { code: string }).code)
  }
}

/** The first numbers of the calls that processes before have made, and the number after all of them. */
export function intended(entries: readonly Entry[]): Map<number, number> {
  return new Map(
    entries.flatMap(([what, , first, count]) =>
      what === 'intend' ? [[first as number, (first as number) + (count as number)]] : [],
    ),
  )
}
