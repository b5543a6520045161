import { randomFrom } from '../worker/graphs/random-workflow.js'

/** What the jobs of a run are like; each is a task of that name. */
export const kinds = [
  'plain', // returns at once
  'note', // commits a row of its own with its outcome
  'slow', // the same, after a second or so
  'charge', // a step with an effect outside, then as note
  'flaky', // fails so often as its input says, then as note
  'doomed', // fails until its budget is used up
  'delayed', // note, not before its time
  'gated', // note, behind one gate
  'paired', // note, behind two
  'strict', // note, in the order of its key; every fifth fails once
  'victim', // somebody asks to cancel it
  'carried', // note, under an id that the engine makes, from a process with a worker of its own; some take a second or so
  'copied', // plain, under an id that the engine makes, a thousand at a time; one of 25 as note
] as const
export type Kind = (typeof kinds)[number]

/** Their ids do not tell their numbers: their payloads do. */
export const freshKinds = ['carried', 'copied'] as const satisfies readonly Kind[]
export type FreshKind = (typeof freshKinds)[number]

export function isFresh(kind: string): kind is FreshKind {
  return freshKinds.includes(kind as FreshKind)
}

/** What is known of a job before it exists: a function of the seed and its number. */
export interface Spec {
  readonly n: number
  readonly kind: Kind
  readonly failures: number
  readonly workMs: number
  readonly delayMs: number
  /** Keys of its gates, as they are stored. */
  readonly gates: readonly string[]
  /** After it was to be enqueued. */
  readonly cancelAfterMs: number
}

/** The declared limits. Those of `fixed` never change: what holds for them can be checked to the instant. */
const fixedGates: Readonly<Record<string, number>> = {
  'gate:one': 1,
  'gate:two': 2,
  'gate:three': 3,
  'gate:a': 2,
  'gate:b': 2,
}
export const changedGates: Readonly<Record<string, number>> = { 'gate:u': 3, 'gate:v': 3 }
export const gateLimits: Readonly<Record<string, number>> = { ...fixedGates, ...changedGates }
const singleGates = ['gate:one', 'gate:two', 'gate:three', 'gate:u', 'gate:v']
const strictKeys = 3

/** Pauses are of this queue: what is in it may have to wait. */
export const sideQueue = 'side'
const sideKinds: readonly Kind[] = ['flaky', 'delayed', 'gated', 'doomed']

/** No backlog is ever in it: only what nothing waits before is carried. */
const ownQueue = 'own'

export function queueOf(kind: Kind): string {
  if (kind === 'carried') return ownQueue
  return sideKinds.includes(kind) ? sideQueue : 'default'
}

/** A transaction for each of a thousand jobs that are copied would be all that workers do: one of so many has one. */
const copiedPerEffect = 25

/** Whether it commits a row of its own with its outcome. */
export function hasEffect({ kind, n }: Pick<Spec, 'kind' | 'n'>): boolean {
  if (kind === 'copied') return n % copiedPerEffect === 0
  return kind !== 'plain' && kind !== 'doomed'
}

/** A doomed job fails once more than its budget. */
export const doomedFailuresMax = 1

export interface Batch {
  readonly index: number
  readonly lane: Lane
  readonly atMs: number
  readonly kind: Kind | 'run' | 'message'
  readonly first: number
  readonly count: number
}

/** Of one producer: what is in one lane is asked for one after the other. */
export const lanes = ['bulk', 'copies', 'odd', 'strict', 'runs', 'mail'] as const
type Lane = (typeof lanes)[number]

export const producers = 2
export const carriers = 2
/** Numbers of one producer's jobs, runs and messages, or of one carrier's jobs. */
const numbersOfOne = 2 ** 32

/** One copy after the other, of one producer. A thousand handlers are a second's work of all workers. */
const secondsBetweenCopies = 12
/** No fewer are copied. */
export const copiedMin = 1_000

export interface Plan {
  readonly seed: number
  readonly minutes: number
  /** Plain jobs of one producer in a second, more or less. */
  readonly plain: number
}

export const plainPerSecond = 200

/** Everything that one producer is to ask for. */
export function batchesOf({ seed, minutes, plain }: Plan, producer: number): Batch[] {
  const random = randomFrom(seed * 31 + producer + 1)
  const next = { job: producer * numbersOfOne, run: producer * numbersOfOne, message: producer * numbersOfOne }
  const batches: Batch[] = []
  const ask = (lane: Lane, atMs: number, kind: Batch['kind'], count: number) => {
    const numbered = kind === 'run' || kind === 'message' ? kind : 'job'
    batches.push({ index: batches.length, lane, atMs, kind, first: next[numbered], count })
    next[numbered] += count
  }
  const about = (count: number) => Math.max(1, Math.round(count * (0.5 + random())))
  for (let second = 0; second < minutes * 60; second++) {
    const atMs = (second + random()) * 1_000
    ask('bulk', atMs, 'plain', about(plain))
    if (second % secondsBetweenCopies === (producer * secondsBetweenCopies) / producers) {
      ask('copies', atMs, 'copied', copiedMin + Math.floor(random() * 200))
    }
    ask('odd', atMs, 'note', about(8))
    ask('odd', atMs, 'slow', 1)
    ask('odd', atMs, 'charge', about(3))
    ask('odd', atMs, 'flaky', about(3))
    if (second % 2 === 0) ask('odd', atMs, 'doomed', 1)
    ask('odd', atMs, 'delayed', about(3))
    ask('odd', atMs, 'gated', about(5))
    ask('odd', atMs, 'paired', about(2))
    ask('odd', atMs, 'victim', about(3))
    ask('strict', atMs, 'strict', about(2))
    if (second % 2 === 1) ask('runs', atMs, 'run', 1)
    ask('mail', atMs, 'message', about(5))
  }
  return batches
}

/** What a carrier asks for in one moment: so many calls, of so many jobs each. */
export interface Moment {
  readonly pauseMs: number
  readonly calls: readonly number[]
}

/** One after the other, for as long as the run lasts, for a carrier that begins with this number. */
export function* momentsOf(seed: number, first: number): Generator<Moment, never> {
  const random = randomFrom(seed * 43 + first)
  const below = (max: number) => Math.floor(random() * max)
  for (;;) {
    const calls = Array.from({ length: 1 + below(3) }, () => (below(4) === 0 ? 2 : 1))
    yield { pauseMs: 20 + below(100), calls }
  }
}

/** The first number of a carrier's jobs. */
export function firstOfCarrier(carrier: number): number {
  return (producers + carrier) * numbersOfOne
}

/** Who stops a process wants one with a handler at work: those that take so long are told of. */
export const slowMsMin = 800

export function specOf(seed: number, kind: Kind, n: number): Spec {
  const producer = Math.floor(n / numbersOfOne)
  const random = randomFrom(seed + (n % numbersOfOne) * 2_654_435_761 + producer * 97)
  const below = (max: number) => Math.floor(random() * max)
  const pick = (keys: readonly string[]) => keys[below(keys.length)] as string
  const peculiarities: Readonly<Record<Kind, () => Partial<Spec>>> = {
    plain: () => ({}),
    doomed: () => ({}),
    note: () => ({ workMs: below(20) }),
    slow: () => ({ workMs: slowMsMin + below(1_200) }),
    charge: () => ({ workMs: below(30) }),
    flaky: () => ({ failures: 1 + below(3) }),
    delayed: () => ({ delayMs: 200 + below(4_000) }),
    gated: () => ({ workMs: 10 + below(60), gates: [pick(singleGates)] }),
    paired: () => ({ workMs: 10 + below(40), gates: ['gate:a', 'gate:b'] }),
    strict: () => ({
      workMs: below(15),
      failures: below(5) === 0 ? 1 : 0,
      gates: [`fifo:${producer}-${below(strictKeys)}`],
    }),
    victim: () => ({
      workMs: below(3) * 400,
      delayMs: below(3) === 0 ? 1_000 : 0,
      gates: below(3) === 0 ? [pick(singleGates)] : [],
      cancelAfterMs: below(1_500),
    }),
    carried: () => ({ workMs: below(20) === 0 ? slowMsMin + below(1_200) : below(10) }),
    copied: () => ({}),
  }
  return { n, kind, failures: 0, workMs: 0, delayMs: 0, gates: [], cancelAfterMs: 0, ...peculiarities[kind]() }
}

/** The items of a run, by its number: a list, two branches, a join. */
export function itemsOf(seed: number, run: number): number[] {
  const random = randomFrom(seed + run * 7_919)
  return Array.from({ length: 1 + Math.floor(random() * 6) }, (_, item) => item)
}

/** What every run must have done once. */
export function partsOf(seed: number, run: number): string[] {
  return [...itemsOf(seed, run).map((item) => `each/${item}`), 'left/0', 'right/0', 'after/0']
}

/** The id says the number, which grows, so that the newest are neighbours in an index. */
export function jobIdOf(seed: number, n: number): string {
  const time = n.toString(16).padStart(12, '0')
  const tail = (seed >>> 0).toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-${tail}`
}

export function numberOf(jobId: string): number {
  return Number.parseInt(jobId.slice(0, 8) + jobId.slice(9, 13), 16)
}
