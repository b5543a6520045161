import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { type Entry, readJournal } from '../journal.js'
import { batchesOf, type FreshKind, type Kind, type Plan, producers, type Spec, specOf } from '../work.js'

/** One lease of a job, as its handler told it. */
export interface Attempt {
  readonly attempt: number
  readonly startedAtMs: number
  readonly pid: number
  /** When it was about to commit: until then it held its gates. */
  leftAtMs?: number
  endedAtMs?: number
  threw?: boolean
  aborted?: 'timeout' | 'other'
  /** When it was told to stop. A handler that goes on is left behind: its job, and its gates, do not wait for it. */
  abortedAtMs?: number
  /** Its own worker has recorded the end: the lease was its until then. */
  settled?: 'finished' | 'failed'
}

export interface JobStory {
  readonly spec: Spec
  /** The first time that its enqueue was asked for, and when it was acknowledged. */
  triedAtMs?: number
  ackedAtMs?: number
  readonly fresh?: FreshEnqueue
  readonly attempts: Attempt[]
}

/** What its process was told of a job that the engine gave its id. */
export interface FreshEnqueue {
  /** The first number of the call, which has so many jobs. */
  readonly call: number
  readonly count: number
  id?: string
  /** The code of the error. */
  refusal?: string
}

export interface CancelStory {
  readonly askedAtMs: number
  answer?: string
  outcome?: string | null
  answeredAtMs?: number
}

export interface Call {
  readonly n: number
  readonly attempt: number
  readonly key: string
  readonly atMs: number
}

export interface MessageStory {
  sentAtMs?: number
  sentId?: string
  readonly received: { readonly id: string; readonly askedAtMs: number }[]
  deletes: number
}

/** From when to when something may have cost a process its leases. No pid: all of them. */
export interface Disturbance {
  readonly what: string
  readonly pid: number | undefined
  readonly fromMs: number
  untilMs: number
}

/** Everything that was told outside of the engine. */
export interface History {
  readonly seed: number
  readonly jobs: ReadonlyMap<number, JobStory>
  readonly cancels: ReadonlyMap<number, CancelStory>
  readonly calls: readonly Call[]
  /** When a step had returned, by `n/attempt`. */
  readonly stepsDone: readonly { readonly n: number; readonly attempt: number; readonly atMs: number }[]
  /** Runs that were asked for, and whether that was acknowledged. */
  readonly runs: ReadonlyMap<number, { acked: boolean }>
  /** Jobs that ran as parts of runs: `run/part` and the ids of those jobs. */
  readonly parts: ReadonlyMap<string, ReadonlySet<string>>
  readonly messages: ReadonlyMap<number, MessageStory>
  readonly limits: readonly {
    readonly key: string
    readonly limit: number
    readonly askedAtMs: number
    doneAtMs?: number
  }[]
  readonly pauses: readonly { readonly what: string; readonly fromMs: number; untilMs: number }[]
  readonly disturbances: readonly Disturbance[]
  /** What is added to the clock of the journals to get that of the wall. */
  readonly wallOffsetMs: number
}

export class RecordedHistory implements History {
  readonly seed: number
  readonly jobs = new Map<number, JobStory>()
  readonly cancels = new Map<number, CancelStory>()
  readonly calls: Call[] = []
  readonly stepsDone: { n: number; attempt: number; atMs: number }[] = []
  readonly runs = new Map<number, { acked: boolean }>()
  readonly parts = new Map<string, Set<string>>()
  readonly messages = new Map<number, MessageStory>()
  readonly limits: { key: string; limit: number; askedAtMs: number; doneAtMs?: number }[] = []
  readonly pauses: { what: string; fromMs: number; untilMs: number }[] = []
  readonly disturbances: Disturbance[] = []
  wallOffsetMs = 0

  constructor(seed: number) {
    this.seed = seed
  }

  /** What a producer tried and got acknowledged. */
  addProducer(entries: readonly Entry[], batches: ReturnType<typeof batchesOf>): void {
    for (const [what, atMs, index] of entries) {
      const batch = batches[index as number]
      if (what === 'send') this.#message(index as number)
      if (what === 'sent') this.#message(index as number).sentAtMs = atMs
      if (!batch || (what !== 'try' && what !== 'ack')) continue
      for (let n = batch.first; n < batch.first + batch.count; n++) {
        if (batch.kind === 'message') continue
        if (batch.kind === 'run') this.runs.set(n, { acked: what === 'ack' })
        else this.#asked(batch.kind, n, what, atMs)
      }
    }
    for (const [what, , m, id] of entries) if (what === 'sent') this.#message(m as number).sentId = id as string
  }

  #asked(kind: Kind, n: number, what: string, atMs: number): void {
    const known = this.jobs.get(n)
    if (!known) this.jobs.set(n, { spec: specOf(this.seed, kind, n), triedAtMs: atMs, attempts: [] })
    else if (what === 'ack') known.ackedAtMs ??= atMs
  }

  /** What was asked for under ids that were yet to be made, and what was answered. */
  addFresh(entries: readonly Entry[]): void {
    for (const [what, atMs, n, ...rest] of entries) {
      if (what === 'intend') this.#intended(atMs, n as number, rest[0] as number, rest[1] as FreshKind)
      const story = this.jobs.get(n as number)
      if (!story?.fresh) continue
      if (what === 'stored') {
        story.ackedAtMs = atMs
        story.fresh.id = rest[0] as string
      }
      if (what !== 'refused') continue
      for (let each = story.fresh.call; each < story.fresh.call + story.fresh.count; each++) {
        const { fresh } = this.jobs.get(each) as { fresh: FreshEnqueue }
        fresh.refusal = rest[0] as string
      }
    }
  }

  #intended(triedAtMs: number, call: number, count: number, kind: FreshKind): void {
    for (let n = call; n < call + count; n++) {
      this.jobs.set(n, { spec: specOf(this.seed, kind, n), triedAtMs, fresh: { call, count }, attempts: [] })
    }
  }

  addWorker(entries: readonly Entry[]): void {
    let pid = 0
    for (const entry of entries) {
      const [what, atMs, n, attempt, word] = entry
      if (what === 'up') pid = n as number
      if (what === 'lag') this.#lag(atMs, n as number, attempt as number)
      if (what === 'step') this.stepsDone.push({ n: n as number, attempt: attempt as number, atMs })
      if (what === 'item') {
        const part = `${n}/${attempt}`
        const ids = this.parts.get(part) ?? new Set()
        this.parts.set(part, ids.add(word as string))
      }
      const story = this.jobs.get(n as number)
      if (!story) continue
      if (what === 'start') story.attempts.push({ attempt: attempt as number, startedAtMs: atMs, pid })
      const told = story.attempts.findLast((each) => each.attempt === attempt)
      if (!told) continue
      if (what === 'left') told.leftAtMs = atMs
      if (what === 'abort') {
        told.aborted = word as 'timeout' | 'other'
        told.abortedAtMs = atMs
      }
      if (what === 'settled') told.settled = word as 'finished' | 'failed'
      if (what === 'end') {
        told.endedAtMs = atMs
        told.threw = word !== 'ok'
      }
    }
  }

  addClient(entries: readonly Entry[]): void {
    for (const [what, atMs, n, word, more] of entries) {
      if (what === 'cancel' && !this.cancels.has(n as number)) this.cancels.set(n as number, { askedAtMs: atMs })
      const cancel = this.cancels.get(n as number)
      if (what === 'cancelled' && cancel) {
        Object.assign(cancel, { answer: word, outcome: more, answeredAtMs: atMs })
      }
      if (what === 'received') {
        this.#message(n as number).received.push({ id: word as string, askedAtMs: more as number })
      }
      if (what === 'delete') this.#message(n as number).deletes++
    }
  }

  addProvider(entries: readonly Entry[]): void {
    for (const [, atMs, n, attempt, key] of entries) {
      this.calls.push({ n: n as number, attempt: attempt as number, key: key as string, atMs })
    }
  }

  addDriver(entries: readonly Entry[]): void {
    for (const [what, atMs, first, second] of entries) {
      const pid = typeof first === 'number' ? first : undefined
      const disturbed = (forMs: number, whom = pid) =>
        this.disturbances.push({ what, pid: whom, fromMs: atMs, untilMs: atMs + forMs })
      const since = (begun: string) => this.disturbances.findLast((each) => each.what === begun && each.pid === pid)
      if (what === 'clock') this.wallOffsetMs = (first as number) - atMs
      if (what === 'kill' || what === 'term' || what === 'cut') disturbed(0)
      if (what === 'stall' || what === 'hold') disturbed(second as number)
      if (what === 'terminated') disturbed(0, undefined)
      if (what === 'crowd') disturbed(first as number, undefined)
      if (what === 'stop' || what === 'away') disturbed(Number.POSITIVE_INFINITY)
      const over = what === 'cont' ? since('stop') : what === 'back' ? since('away') : undefined
      if (over) over.untilMs = atMs
      if (what === 'limit') this.limits.push({ key: first as string, limit: second as number, askedAtMs: atMs })
      if (what === 'limited') (this.limits.at(-1) as History['limits'][0]).doneAtMs = atMs
      if (what === 'paused') {
        this.pauses.push({ what: first as string, fromMs: atMs, untilMs: Number.POSITIVE_INFINITY })
      }
      const pause = this.pauses.at(-1)
      if (what === 'resume' && pause) pause.untilMs = atMs
    }
  }

  #lag(atMs: number, pid: number, lagMs: number): void {
    this.disturbances.push({ what: 'lag', pid, fromMs: atMs - lagMs, untilMs: atMs })
  }

  #message(m: number): MessageStory {
    const known = this.messages.get(m)
    if (known) return known
    const made: MessageStory = { received: [], deletes: 0 }
    this.messages.set(m, made)
    return made
  }
}

export function readHistory(directory: string, plan: Plan): RecordedHistory {
  const history = new RecordedHistory(plan.seed)
  const read = (name: string) => readJournal(join(directory, `${name}.jsonl`))
  const named = readdirSync(directory).map((file) => file.replace('.jsonl', ''))
  for (let n = 0; n < producers; n++) history.addProducer(read(`producer-${n}`), batchesOf(plan, n))
  for (const name of named) if (/^(producer|carrier)-/.test(name)) history.addFresh(read(name))
  for (const name of named) if (/^(worker|carrier)-/.test(name)) history.addWorker(read(name))
  for (const { attempts } of history.jobs.values()) attempts.sort((a, b) => a.startedAtMs - b.startedAtMs)
  history.addClient(read('client-0'))
  history.addProvider(read('provider'))
  history.addDriver(read('driver'))
  return history
}
