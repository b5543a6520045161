import { Coalescer, weightOf } from '../store/coalescer.js'
import type { Database } from '../store/database.js'
import { type EnqueueAnswer, enqueueAfter, enqueueExceptions, type NewJob } from '../store/enqueue.js'
import type { Alone } from '../worker/turns.js'

/** Of those that are not simply enqueued. */
type Answers = Map<string, EnqueueAnswer>

/** What has more jobs than this is a statement of its own. */
const gatheredMax = 100

/** Stores jobs with a turn of a worker of this process, if one can. */
type Carry = (jobs: readonly NewJob[], alone: Alone) => Promise<unknown> | undefined

/** What many callers enqueue in the same moment is one statement, and one commit; with the claim, where a worker can do it. */
export class GatheredEnqueues {
  readonly #db: Database
  readonly #line: Coalescer<readonly NewJob[], Answers>

  constructor(db: Database, carry: Carry) {
    this.#db = db
    this.#line = new Coalescer({
      run: async (asks) => {
        const all = asks.flat()
        const carried = carry(all, (failed) => enqueueAfter(db, all, failed))
        const answers = await (carried?.then(() => new Map()) ?? enqueueExceptions(db, all, undefined, true))
        return asks.map(() => answers) // the ids of two calls are never the same here
      },
      weight: (jobs) => weightOf(jobs.map(({ payloadText }) => payloadText.length)),
    })
  }

  /** An id of the caller's may be one that another transaction is just storing, which would be waited for by all. */
  enqueue(jobs: readonly NewJob[], ownIds: boolean): Promise<Answers> {
    const isAlone = ownIds || jobs.length > gatheredMax
    return isAlone ? enqueueExceptions(this.#db, jobs, undefined, !ownIds) : this.#line.ask(jobs)
  }
}
