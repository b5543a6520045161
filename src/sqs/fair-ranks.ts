/** Ranks are stored as a smallint. */
const rankMax = 32_767
/** Nobody asks for less: so whoever gets less has come into an empty queue, where what is known of others is outdated. */
const rankMin = 1
/** Beyond it a queue's groups are forgotten, and begin again where the queue is: fairness is worth no more memory. */
const groupsMax = 10_000

/**
 * Who takes turns in a standard queue: each message gets the rank that follows the last one of its group, so that the first
 * message of a quiet group is not behind the thousandth of a busy one. What this process knows is enough to be fair: it is
 * what it has sent, corrected by what the database answers (see sqs_send).
 */
export class FairRanks {
  readonly #queues = new Map<string, Map<string, number>>()

  /** For the messages of one request, in their order. */
  ranks(queue: string, groups: readonly (string | null)[]): number[] {
    const next = new Map<string, number>()
    return groups.map((group) => {
      if (group === null) return 0
      const rank = next.get(group) ?? this.#queues.get(queue)?.get(group) ?? rankMin
      next.set(group, rank + 1)
      return Math.min(rank, rankMax)
    })
  }

  /** What ranks they got: lower ones than asked for if nothing waited, higher ones if the queue has gone on. */
  given(queue: string, groups: readonly (string | null)[], asked: readonly number[], got: readonly number[]): void {
    let known = this.#queues.get(queue)
    if (!known || known.size > groupsMax || got.some((rank, n) => rank < (asked[n] ?? 0))) {
      known = new Map()
      this.#queues.set(queue, known)
    }
    groups.forEach((group, n) => {
      if (group !== null) known.set(group, (got[n] ?? 0) + 1)
    })
  }
}
