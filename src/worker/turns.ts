import { setTimeout as pause } from 'node:timers/promises'
import { FencepostError } from '../errors.js'
import type { Events } from '../events.js'
import type { Fence } from '../job/places.js'
import type { Database } from '../store/database.js'
import { isRefusedData } from '../store/database-errors.js'
import type { FailAnswer, Failure, Finish, Finished, ReleaseAnswer, Settled } from '../store/settle.js'
import type { NewJob } from '../store/enqueue.js'
import { type Release, takeTurn, takeTurnStoring, type Turn, type TurnAnswer } from '../store/turn.js'
import { within } from './within.js'

/** While one turn is on its way, the next one gathers; with a third, each would only carry less. */
const turnsAtOnce = 2
/** What one turn settles at most: the rest goes with the next. */
const saidMax = 1_000
const saidBytesMax = 16 * 1_048_576
const pauseMsMax = 2_000
/** How long the leases of a turn of unknown fate wait for its jobs to be stored: not as long as a lease lasts. */
const storedMsMax = 500

/** What a turn asks for. `news`: how much this process had heard of when it asked. */
export type Claim = Turn['claim'] & { readonly news: number }

/** What a turn has to say to who asked for jobs. */
export type Claimed = Pick<TurnAnswer, 'leases' | 'nudged' | 'unseenMs' | 'sentAtMs'>

/** A job whose handler runs, and whose lease is not yet marked as started. */
export interface Unmarked {
  readonly lease: Fence
  readonly leaving: boolean
  readonly isSettling: boolean
  abort(reason: 'lease_lost' | 'cancelled'): void
}

export type Started = Pick<TurnAnswer['start'][number], 'answer' | 'cancelRequested'>

/**
 * Who says that a job has finished, and is told what came of that: nothing, if it went as one would expect. It is the word
 * itself: a thousand of these wait at a time.
 */
export interface Finisher {
  readonly kind: 'finish'
  readonly item: Finish
  finished(answer: Finished | undefined): void
  refused(error: unknown): void
}

type Refused = (error: unknown) => void
type Name = Pick<Turn, 'worker' | 'turn'>
/** Stores jobs without a turn, after this error of one. */
export type Alone = (failed: unknown) => Promise<void>

type Word =
  | Finisher
  | { readonly kind: 'fail'; readonly item: Failure; told(answer: Settled<FailAnswer>): void; refused: Refused }
  | { readonly kind: 'release'; readonly item: Release; told(answer: Settled<ReleaseAnswer>): void; refused: Refused }
  | { readonly kind: 'start'; readonly item: Fence; told(answer: Started): void; refused: Refused }

export interface TurnsOptions {
  readonly db: Database
  readonly events: Events
  readonly worker: () => string
  readonly tasks: readonly string[]
  /** What to claim with the next turn, if anything; `anyway` if there is a next turn even so. */
  readonly ask: (anyway: boolean) => Claim | undefined
  /** Leases whose handlers have begun without a mark, and run on: they are marked with the next turn. */
  readonly unmarked: () => readonly Unmarked[]
  /** What a claim brought: nothing, if its turn failed. */
  readonly receive: (claim: Claim, answer: Claimed) => void
  /** Some run of a workflow has something to do. */
  readonly onCalled: () => void
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

  /** Without a promise: there are tens of thousands of these a second. */
  finish(by: Finisher): void {
    this.#say(by)
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

  /** Whether a turn could leave now, on a connection that is there, besides the one for what is to be said. */
  get isFree(): boolean {
    const others = this.#underWay + (this.#words.length > 0 ? 1 : 0) // guard: turns.carried_words
    // guard: turns.carried_room
    // guard: turns.carried_connection
    return others < turnsAtOnce && this.#options.db.hasIdleConnection
  }

  /**
   * Takes a turn that stores these jobs before it claims. It says nothing: what is said may have to wait for a lock. If it fails,
   * the jobs are stored `alone`, at once; the turn then goes its own way.
   */
  carry(jobs: readonly NewJob[], claim: Claim, alone: Alone): Promise<'carried' | 'alone'> {
    const name = { worker: this.#options.worker(), turn: ++this.#number }
    const answer = takeTurnStoring(this.#options.db, { ...name, tasks: this.#options.tasks, claim }, jobs)
    const stored = answer.then(
      () => 'carried' as const,
      (error: unknown) => alone(error).then(() => 'alone' as const),
    )
    this.#underWay++
    void this.#carried(answer, stored, claim, name).finally(() => this.#over())
    return stored
  }

  /** When all that was said has been answered, and no claim is on its way. */
  rest(): Promise<void> {
    return new Promise((resolve) => {
      this.#onRest.push(resolve)
      this.look()
    })
  }

  #mark(execution: Unmarked): void {
    this.#words.push({
      kind: 'start',
      item: execution.lease,
      told: ({ answer, cancelRequested }) => {
        // guard: turns.mark_lost
        // guard: turns.mark_own_doing
        if (answer === 'stale' && !execution.leaving && !execution.isSettling) execution.abort('lease_lost')
        else if (cancelRequested) execution.abort('cancelled') // guard: turns.mark_cancelled
      },
      refused: () => {},
    })
  }

  #say(word: Word): void {
    this.#words.push(word)
    this.look()
  }

  #take(): void {
    while (this.#underWay < turnsAtOnce) {
      for (const execution of this.#options.unmarked()) this.#mark(execution)
      const claim = this.#options.ask(this.#words.length > 0)
      if (this.#words.length === 0 && !claim) break
      const words = this.#words.splice(0, saidAtOnce(this.#words))
      this.#underWay++
      void this.#turn(words, claim).finally(() => this.#over())
    }
    if (this.#underWay === 0) for (const resolve of this.#onRest.splice(0)) resolve() // guard: turns.rest
  }

  #over(): void {
    this.#underWay--
    this.look()
  }

  async #carried(answer: Promise<TurnAnswer>, stored: Promise<unknown>, claim: Claim, name: Name): Promise<void> {
    const told = await answer.catch((error: unknown) => (isUnknown(error) ? 'unknown' : 'failed'))
    if (told === 'unknown') {
      // guard: turns.carried_unknown
      // Once they are stored, a first try that has yet to arrive finds its ids taken, and claims nothing that nobody hears of.
      await within(storedMsMax, stored) // guard: turns.carried_late
      return this.#turn([], claim, name)
    }
    // Who enqueues hears of it before the handler begins, however much that does before it first waits.
    await new Promise(setImmediate) // guard: turns.carried_first
    if (told === 'failed')
      this.#options.receive(claim, nothingClaimed()) // guard: turns.carried_dropped
    else this.#hear(claim, told)
  }

  /** `first`: the name of a first try of which nobody knows what became. */
  async #turn(words: readonly Word[], claim: Claim | undefined, first?: Name): Promise<void> {
    const worker = first?.worker ?? this.#options.worker() // a repeat is one only under the same name
    let turn = first?.turn ?? ++this.#number
    let repeated = first !== undefined
    for (let tries = 0; ; tries++) {
      try {
        return await this.#send(words, claim, { worker, turn }, repeated) // guard: turns.same_name
      } catch (error) {
        // For as long as nobody has told what became of it. What is refused now was refused then, too.
        repeated = (repeated || isUnknown(error)) && !isRefusedData(error) // guard: turns.repeated
        if (!repeated) {
          // Asked again later, with what there is room for then.
          if (claim) this.#options.receive(claim, nothingClaimed()) // guard: turns.claim_dropped
          claim = undefined
          turn = ++this.#number
        }
        if (error instanceof FencepostError && error.code === 'FP_CLOSED') {
          for (const word of words) word.refused(error) // guard: turns.closed
          return
        }
        if (words.length === 0 || !isRefusedData(error)) {
          this.#options.events.emit('error', { during: 'settling and claiming', error })
          await pause(Math.min(100 * 2 ** Math.min(tries, 10), pauseMsMax))
          if (words.length === 0 && !repeated) return // guard: turns.again
        } else if (words.length === 1) {
          // guard: turns.taken_apart
          return words[0]?.refused(error) // guard: turns.refused
        } else {
          const half = Math.ceil(words.length / 2)
          await this.#turn(words.slice(0, half), undefined)
          return this.#turn(words.slice(half), undefined)
        }
      }
    }
  }

  async #send(words: readonly Word[], claim: Claim | undefined, name: Name, repeated: boolean): Promise<void> {
    const answer = await takeTurn(this.#options.db, { ...name, ...this.#said(words, claim) }, repeated)
    tell(words, answer)
    this.#hear(claim, answer)
  }

  #said(words: readonly Word[], claim: Claim = nothing): Omit<Turn, keyof Name> {
    const items = <Kind extends Word['kind']>(kind: Kind) =>
      words.filter((word) => word.kind === kind).map((word) => word.item) as Extract<Word, { kind: Kind }>['item'][]
    return {
      finish: items('finish'),
      fail: items('fail'),
      release: items('release'),
      start: items('start'),
      claim,
      tasks: this.#options.tasks,
    }
  }

  #hear(claim: Claim | undefined, answer: TurnAnswer): void {
    if (answer.called) this.#options.onCalled()
    if (claim) this.#options.receive(claim, answer)
  }
}

const nothing: Claim = { queues: [], room: 0, suspect: false, news: 0 }

function isUnknown(error: unknown): boolean {
  return error instanceof FencepostError && error.code === 'FP_COMMIT_UNKNOWN'
}

function nothingClaimed(): Claimed {
  return { leases: [], nudged: false, unseenMs: undefined, sentAtMs: performance.now() }
}

/** How many words fit into one turn: a message to the database must not outgrow what either side can hold. */
function saidAtOnce(words: readonly Word[]): number {
  let bytes = 0
  for (let count = 0; count < Math.min(words.length, saidMax); count++) {
    const { kind, item } = words[count] as Word
    bytes += kind === 'finish' ? item.resultText.length : kind === 'fail' ? item.errorText.length : 0
    if (bytes > saidBytesMax && count > 0) return count // guard: turns.bytes
  }
  return saidMax
}

function tell(words: readonly Word[], answer: TurnAnswer): void {
  const key = ({ jobId, leaseId }: { jobId: string; leaseId: number }) => `${jobId}/${leaseId}`
  const by = <Told extends { jobId: string; leaseId: number }>(answers: readonly Told[]) =>
    answers.length === 0 ? undefined : new Map(answers.map((told) => [key(told), told]))
  const [finish, fail, release, start] = [by(answer.finish), by(answer.fail), by(answer.release), by(answer.start)]
  for (const word of words) {
    switch (word.kind) {
      case 'finish':
        word.finished(finish?.get(key(word.item)))
        break
      case 'fail':
        word.told(fail?.get(key(word.item)) as Settled<FailAnswer>)
        break
      case 'release':
        word.told(release?.get(key(word.item)) as Settled<ReleaseAnswer>)
        break
      case 'start':
        word.told(start?.get(key(word.item)) ?? { answer: 'started', cancelRequested: false })
        break
    }
  }
}
