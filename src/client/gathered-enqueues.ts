import { Coalescer, weightOf } from '../store/coalescer.js'
import type { Database } from '../store/database.js'
import { type EnqueueAnswer, enqueue, enqueueAfter, type NewJob } from '../store/enqueue.js'
import type { Alone } from '../worker/turns.js'

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
        const answers = await (carried?.then(() => allEnqueued(all)) ?? enqueue(db, all, undefined, true))
        return asks.map(() => answers) // which names each of their jobs; the ids of two calls are never the same here
      },
      weight: (jobs) => weightOf(jobs.map(({ payloadText }) => payloadText.length)),
    })
  }

  /** An id of the caller's may be one that another transaction is just storing, which would be waited for by all. */
  enqueue(jobs: readonly NewJob[], ownIds: boolean): Promise<Answers> {
    const isAlone = ownIds || jobs.length > gatheredMax
    return isAlone ? enqueue(this.#db, jobs, undefined, !ownIds) : this.#line.ask(jobs)
  }
}

function allEnqueued(jobs: readonly NewJob[]): Answers {
  return new Map(jobs.map(({ id }) => [id, 'enqueued']))
}
