import type { Finish, Finished } from '../store/settle.js'
import type { Turns } from '../worker/turns.js'

/** What comes of a finish that goes with the next turn, also if that is what one would expect. */
export function finishInTurn(turns: Turns, item: Finish): Promise<Finished> {
  const { jobId, leaseId } = item
  const expected: Finished = { jobId, leaseId, answer: 'finished', outcome: 'succeeded', duplicate: false }
  return new Promise((resolve, refused) =>
    turns.finish({ kind: 'finish', item, finished: (told) => resolve(told ?? expected), refused }),
  )
}
