import { FencepostError } from '../errors.js'
import { isRefusedData } from './database-errors.js'

/**
 * Puts what many ask at the same time into one statement: while one is on its way, the next ones gather. A commit costs
 * about the same whether it stores ten messages or a hundred, and who waits for its turn would otherwise wait for a connection.
 */
export interface CoalescerOptions<Ask, Answer> {
  /** In the order of the asks. */
  readonly run: (asks: readonly Ask[]) => Promise<readonly Answer[]>
  /** How much of a statement an ask takes. */
  readonly weight: (ask: Ask) => number
  /** Asks that must not be in one statement with others that have any of the same. */
  readonly apart?: (ask: Ask) => readonly string[]
  /** After this error each is asked alone: one of them may be to blame. Not so if the database is away, for instance. */
  readonly mayBeOneOfThem?: (error: unknown) => boolean
}

interface Waiting<Ask, Answer> {
  readonly ask: Ask
  readonly resolve: (answer: Answer) => void
  readonly reject: (error: unknown) => void
}

/** What is larger than this counts for more than one: statements are to have a few megabytes at most. */
const bytesOfOne = 8_192

export function weightOf(bytes: readonly number[]): number {
  return bytes.reduce((sum, size) => sum + Math.max(1, size / bytesOfOne), 0)
}

const none: readonly string[] = []
const nothing = () => none

const weightMax = 500
const runningMax = 4
/** With one on its way, another one begins only if it is worth it: what comes meanwhile makes the next one larger. */
const weightWorthIt = 50
const gatherMsMax = 2
/** What is on its way may wait for a lock, even for one of whoever asks now: then nobody waits for it. */
const patienceMs = 20

export class Coalescer<Ask, Answer> {
  readonly #options: CoalescerOptions<Ask, Answer>
  #waiting: Waiting<Ask, Answer>[] = []
  #waitingWeight = 0
  #running = 0
  #scheduled = false
  #gathering: NodeJS.Timeout | undefined
  #impatient: NodeJS.Timeout | undefined
  #last = { asks: 0, weight: 0 }

  constructor(options: CoalescerOptions<Ask, Answer>) {
    this.#options = options
  }

  ask(ask: Ask): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ ask, resolve, reject })
      this.#waitingWeight += this.#options.weight(ask)
      this.#schedule()
    })
  }

  get idle(): boolean {
    return this.#running === 0 && this.#waiting.length === 0
  }

  /** Not at once: what else has arrived with this one is read first. */
  #schedule(): void {
    if (this.#waiting.length > 0 && this.#running > 0)
      this.#impatient ??= setTimeout(() => this.#begin(true), patienceMs) // guard: coalescer.impatient
    if (this.#scheduled || !this.#mayBegin()) return
    this.#scheduled = true
    setImmediate(() => {
      this.#scheduled = false
      if (!this.#mayBegin()) return
      if (this.#othersAreComing()) this.#gathering ??= setTimeout(() => this.#begin(), gatherMsMax)
      else this.#begin()
    })
  }

  #begin(anyway = false): void {
    clearTimeout(this.#gathering)
    clearTimeout(this.#impatient)
    this.#gathering = undefined
    this.#impatient = undefined
    if (this.#mayBegin(anyway)) void this.#run(this.#take())
    else if (this.#waiting.length > 0) this.#schedule()
  }

  /** Those who have just been answered together mostly ask again together: the first of them waits for the others, a moment. */
  #othersAreComing(): boolean {
    return this.#last.asks > 1 && this.#waitingWeight < this.#last.weight * 0.75
  }

  #mayBegin(anyway = false): boolean {
    if (this.#waiting.length === 0 || this.#running >= runningMax) return false
    return anyway || this.#running === 0 || this.#waitingWeight >= weightWorthIt
  }

  #take(): Waiting<Ask, Answer>[] {
    const { weight, apart = nothing } = this.#options
    const taken: Waiting<Ask, Answer>[] = []
    const left: Waiting<Ask, Answer>[] = []
    const seen = new Set<string>()
    let total = 0
    for (const each of this.#waiting) {
      const marks = apart(each.ask)
      const fits = taken.length === 0 || total + weight(each.ask) <= weightMax
      // Behind one that has to stay, nobody passes.
      // guard: coalescer.apart
      // guard: coalescer.order
      // guard: coalescer.weight
      if (left.length > 0 || !fits || marks.some((mark) => seen.has(mark))) {
        left.push(each)
        continue
      }
      for (const mark of marks) seen.add(mark)
      total += weight(each.ask)
      taken.push(each)
    }
    this.#waiting = left
    this.#waitingWeight -= total
    this.#last = { asks: taken.length, weight: total }
    return taken
  }

  async #run(asked: readonly Waiting<Ask, Answer>[]): Promise<void> {
    this.#running++
    try {
      const answers = await this.#options.run(asked.map(({ ask }) => ask))
      asked.forEach(({ resolve }, n) => resolve(answers[n] as Answer))
    } catch (error) {
      // guard: coalescer.alone
      // guard: coalescer.unknown
      if (asked.length > 1 && (this.#options.mayBeOneOfThem ?? isAboutWhatWasAsked)(error))
        await Promise.all(asked.map((each) => this.#alone(each)))
      else for (const { reject } of asked) reject(error)
    }
    this.#running--
    this.#schedule()
  }

  async #alone({ ask, resolve, reject }: Waiting<Ask, Answer>): Promise<void> {
    try {
      const [answer] = await this.#options.run([ask])
      resolve(answer as Answer)
    } catch (error) {
      reject(error)
    }
  }
}

/** Refused data, or an id of another job; not a database that is away, or full, or a commit of which nothing is known. */
function isAboutWhatWasAsked(error: unknown): boolean {
  return isRefusedData(error) || (error instanceof FencepostError && error.code === 'FP_ID_CONFLICT')
}
