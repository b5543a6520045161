import { setTimeout as pause } from 'node:timers/promises'
import { FencepostError } from '../errors.js'
import type { Events } from '../events.js'
import type { Fence } from '../job/places.js'
import type { Database } from '../store/database.js'
import { isRefusedData } from '../store/database-errors.js'
import type { FailAnswer, Failure, Finish, Finished, ReleaseAnswer, Settled } from '../store/settle.js'
import { type Release, takeTurn, type Turn, type TurnAnswer, type TurnLease } from '../store/turn.js'

/** While one turn is on its way, the next one gathers; with a third, each would only carry less. */
const turnsAtOnce = 2
/** What one turn settles at most: the rest goes with the next. */
const saidMax = 1_000
const pauseMsMax = 2_000

export type Claim = Turn['claim']
export type Started = TurnAnswer['start'][number]

type Said =
  | { readonly kind: 'finish'; readonly item: Finish; readonly told: (answer: Finished) => void }
  | { readonly kind: 'fail'; readonly item: Failure; readonly told: (answer: Settled<FailAnswer>) => void }
  | { readonly kind: 'release'; readonly item: Release; readonly told: (answer: Settled<ReleaseAnswer>) => void }
  | { readonly kind: 'start'; readonly item: Fence; readonly told: (answer: Started) => void }

type Word = Said & { readonly refused: (error: unknown) => void }

export interface TurnsOptions {
  readonly db: Database
  readonly events: Events
  readonly worker: () => string
  readonly tasks: readonly string[]
  /** What to claim with the next turn, if anything; `anyway` if there is a next turn even so. */
  readonly ask: (anyway: boolean) => Claim | undefined
  /** What a claim brought: nothing, if its turn failed. */
  readonly receive: (leases: readonly TurnLease[], claim: Claim, sentAtMs: number) => void
}

/**
 * Gathers what the handlers have come to, and says it together with the next claim, in one round trip.
 *
 * A turn that the database refuses is taken apart until the one word that it cannot store is alone; that word is handed
 * back to who said it, the others are settled. A database that is away is tried until it is back: what was said is kept,
 * and nothing is claimed meanwhile, so that no more can be said than was leased.
 */
export class Turns {
  readonly #options: TurnsOptions
  readonly #words: Word[] = []
  #number = 0
  #underWay = 0
  #scheduled = false
  #onRest: (() => void)[] = []

  constructor(options: TurnsOptions) {
    this.#options = options
  }

  /** How many there have been. */
  get count(): number {
    return this.#number
  }

  finish(item: Finish): Promise<Finished> {
    return new Promise((told, refused) => this.#say({ kind: 'finish', item, told, refused }))
  }

  fail(item: Failure): Promise<Settled<FailAnswer>> {
    return new Promise((told, refused) => this.#say({ kind: 'fail', item, told, refused }))
  }

  release(item: Release): Promise<Settled<ReleaseAnswer>> {
    return new Promise((told, refused) => this.#say({ kind: 'release', item, told, refused }))
  }

  start(item: Fence): Promise<Started> {
    return new Promise((told, refused) => this.#say({ kind: 'start', item, told, refused }))
  }

  /** There may be something to claim. */
  look(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    // Not at once: what ends in this very tick goes with the same turn.
    setImmediate(() => {
      this.#scheduled = false
      this.#take()
    })
  }

  /** When all that was said has been answered, and no claim is on its way. */
  rest(): Promise<void> {
    return new Promise((resolve) => {
      this.#onRest.push(resolve)
      this.look()
    })
  }

  #say(word: Word): void {
    this.#words.push(word)
    this.look()
  }

  #take(): void {
    while (this.#underWay < turnsAtOnce) {
      const claim = this.#options.ask(this.#words.length > 0)
      if (this.#words.length === 0 && !claim) break
      const words = this.#words.splice(0, saidMax)
      this.#underWay++
      void this.#turn(words, claim).finally(() => {
        this.#underWay--
        this.look()
      })
    }
    if (this.#underWay === 0) for (const resolve of this.#onRest.splice(0)) resolve()
  }

  async #turn(words: readonly Word[], claim: Claim | undefined): Promise<void> {
    for (let tries = 0; ; tries++) {
      try {
        return await this.#send(words, claim)
      } catch (error) {
        claim = undefined // asked again later, with what there is room for then
        if (error instanceof FencepostError && error.code === 'FP_CLOSED') {
          for (const { refused } of words) refused(error)
          return
        }
        if (words.length === 0 || !isRefusedData(error)) {
          this.#options.events.emit('error', { during: 'settling and claiming', error })
          await pause(Math.min(100 * 2 ** Math.min(tries, 10), pauseMsMax))
          if (words.length === 0) return
        } else if (words.length === 1) {
          return words[0]?.refused(error)
        } else {
          const half = Math.ceil(words.length / 2)
          await this.#turn(words.slice(0, half), undefined)
          return this.#turn(words.slice(half), undefined)
        }
      }
    }
  }

  async #send(words: readonly Word[], claim: Claim | undefined): Promise<void> {
    const { db, worker, tasks, receive } = this.#options
    const items = <Kind extends Said['kind']>(kind: Kind) =>
      words.filter((word) => word.kind === kind).map((word) => word.item) as Extract<Said, { kind: Kind }>['item'][]
    const sentAtMs = performance.now()
    let leases: readonly TurnLease[] = []
    try {
      const answer = await takeTurn(db, {
        worker: worker(),
        turn: ++this.#number,
        finish: items('finish'),
        fail: items('fail'),
        release: items('release'),
        start: items('start'),
        claim: claim ?? nothing,
        tasks,
      })
      leases = answer.leases
      tell(words, answer)
    } finally {
      if (claim) receive(leases, claim, sentAtMs)
    }
  }
}

const nothing: Claim = { queues: [], room: 0, suspect: false }

function tell(words: readonly Word[], answer: TurnAnswer): void {
  const key = ({ jobId, leaseId }: { jobId: string; leaseId: number }) => `${jobId}/${leaseId}`
  const by = <Told extends { jobId: string; leaseId: number }>(answers: readonly Told[]) =>
    answers.length === 0 ? undefined : new Map(answers.map((told) => [key(told), told]))
  const [finish, fail, release, start] = [by(answer.finish), by(answer.fail), by(answer.release), by(answer.start)]
  for (const word of words) {
    const { jobId, leaseId } = word.item
    switch (word.kind) {
      case 'finish':
        word.told(
          finish?.get(key(word.item)) ?? { jobId, leaseId, answer: 'finished', outcome: 'succeeded', duplicate: false },
        )
        break
      case 'fail':
        word.told(fail?.get(key(word.item)) as Settled<FailAnswer>)
        break
      case 'release':
        word.told(release?.get(key(word.item)) as Settled<ReleaseAnswer>)
        break
      case 'start':
        word.told(start?.get(key(word.item)) as Started)
        break
    }
  }
}
