import fc from 'fast-check'
import type { Fence } from '../../../src/job/places.js'
import type { NewJob } from '../../../src/store/enqueue.js'
import type { Job } from './model.js'
import type { Move, Row } from './move.js'
import { type Round, race } from './race.js'
import type { Session } from './session.js'
import { type Tally, wordOf } from './tally.js'
import { jobId, type Server, type World } from './world.js'

/** A move still to be made of what there is when its turn comes; nothing if there is nothing to make it of. */
type Intent = (world: World, others: readonly Move[]) => Move | undefined

export type Command = fc.AsyncCommand<World, Server>

/** Few jobs, so that much happens to each. */
const jobsMax = 11

function pickFrom<Item>(items: readonly Item[], n: number): Item | undefined {
  return items[n % items.length]
}

/** In a round, those of the jobs that the round is about, if there are any. */
function inFocus<Item>(world: World, items: readonly Item[], idOf: (item: Item) => string): readonly Item[] {
  const near = items.filter((item) => world.focus?.has(idOf(item)))
  return near.length > 0 ? near : items
}

const pick = fc.nat(7)
const seldom = (weight: number) =>
  fc.oneof({ weight, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) })

/** Mostly a lease that is held; else one that has ended, however long ago, or one that never was. */
const aFence = fc
  .record({
    from: fc.oneof(
      { weight: 6, arbitrary: fc.constant('held' as const) },
      { weight: 3, arbitrary: fc.constant('ended' as const) },
      { weight: 1, arbitrary: fc.constantFrom('other nonce', 'other job', 'other lease') },
    ),
    pick,
  })
  .map(({ from, pick: n }) => (world: World): Fence | undefined => {
    const known = inFocus(world, world.fences, (fence) => fence.jobId)
    if (from === 'held')
      return pickFrom(
        known.filter((fence) => world.isHeld(fence)),
        n,
      )
    if (from === 'ended')
      return pickFrom(
        known.filter((fence) => !world.isHeld(fence)),
        n,
      )
    const [fence, other] = [pickFrom(known, n), pickFrom(known, n + 1)]
    if (!fence || !other) return undefined
    if (from === 'other nonce') return { ...fence, nonce: fence.nonce + 1 }
    return from === 'other job' ? { ...fence, jobId: other.jobId } : { ...fence, leaseId: fence.leaseId + 1_000_000 }
  })

/** Each fence once: what a batch means that names one twice is not said. */
const fences = fc.array(aFence, { minLength: 1, maxLength: 3 }).map((picks) => (world: World): Fence[] => {
  const found = picks.map((of) => of(world)).filter((fence) => fence !== undefined)
  return [...new Map(found.map((fence) => [`${fence.jobId}/${fence.leaseId}/${fence.nonce}`, fence])).values()]
})

function fenced(make: (fences: Fence[]) => Move): fc.Arbitrary<Intent> {
  return fences.map((of) => (world) => {
    const found = of(world)
    return found.length > 0 ? make(found) : undefined
  })
}

/** A known job, preferably in one of these places; sometimes one that does not exist. */
function aJob(...places: string[]) {
  return fc.record({ pick, any: seldom(3), missing: seldom(30) }).map(({ pick: n, any, missing }) => (world: World) => {
    if (missing) return jobId(jobsMax + 1)
    const ids = [...world.model.jobs.keys()]
    const there = ids.filter((id) => places.includes(world.model.jobs.get(id)?.at.in ?? ''))
    return pickFrom(
      inFocus(world, any || there.length === 0 ? ids : there, (id) => id),
      n,
    )
  })
}

function onJobs(jobs: ReturnType<typeof aJob>, make: (jobIds: string[]) => Move): fc.Arbitrary<Intent> {
  return fc.array(jobs, { minLength: 1, maxLength: 3 }).map((picks) => (world) => {
    const ids = picks.map((of) => of(world)).filter((id) => id !== undefined)
    return ids.length > 0 ? make(ids) : undefined
  })
}

const queue = fc.oneof({ weight: 3, arbitrary: fc.constant('q') }, { weight: 1, arbitrary: fc.constant('other') })

const aNewJob = fc.record({
  n: fc.nat(jobsMax),
  differs: seldom(8),
  task: fc.constantFrom('a', 'b'),
  queue,
  priority: fc.constantFrom(-1, 0, 0, 1),
  delayMs: fc.constantFrom(0, 0, 0, 500, 3_000),
  failuresMax: fc.nat(2),
  lossesMax: fc.nat(1),
  leaseMs: fc.constantFrom(1_000, 5_000),
})

/** A new id, or one there already: the same request in other letters and with other options, or another request. */
const enqueueIntent = fc
  .record({
    asked: fc.array(aNewJob, { minLength: 1, maxLength: 3 }),
    isolation: fc.oneof(
      { weight: 4, arbitrary: fc.constant('read committed' as const) },
      { weight: 1, arbitrary: fc.constantFrom('repeatable read' as const, 'serializable' as const) },
    ),
  })
  .map(
    ({ asked, isolation }): Intent =>
      (world) => {
        const jobs = new Map<string, NewJob>()
        const ids = asked.map(({ n }) => pickFrom([...(world.focus ?? [])], n) ?? jobId(n))
        for (const [i, { n, differs, ...job }] of asked.entries()) {
          const id = ids[i] as string
          const there = world.model.jobs.get(id)?.asked
          // With another id each, or the very same twice: which of two that differ counts is not said.
          const payloadText = n % 2 ? `{"n": 1.0, "is": ${differs}}` : `{"is":${differs},"n":1}`
          jobs.set(id, jobs.get(id) ?? { id, ...job, task: there && !differs ? there.task : job.task, payloadText })
        }
        return { kind: 'enqueue', jobs: ids.map((id) => jobs.get(id) as NewJob), isolation }
      },
  )

const claimIntent = fc
  .record({
    queue,
    blind: seldom(5),
    limit: fc.integer({ min: 1, max: 3 }),
    worker: fc.constantFrom('w1', 'w2', 'w3'),
    tasks: fc.oneof(
      { weight: 4, arbitrary: fc.constant(undefined) },
      { weight: 1, arbitrary: fc.constantFrom(['a'], ['b'], ['a', 'b'], ['c']) },
    ),
    turn: fc.constantFrom('none', 'new', 'new', 'again'),
    pick,
  })
  .map(
    ({ tasks, turn, blind, pick: n, ...asked }): Intent =>
      (world, others) => {
        const ready = [...world.model.jobs.values()].filter(({ at }) => at.in === 'ready').map((job) => job.asked.queue)
        const there = blind || ready.includes(asked.queue) ? asked.queue : (ready[0] ?? asked.queue)
        const request = { ...asked, queue: there, ...(tasks && { tasks }) }
        const named = [...world.turns, ...others.flatMap((move) => (move.kind === 'claim' ? [move.request] : []))]
        const turns = named.filter((earlier) => earlier.turn !== undefined)
        if (turn === 'none') return { kind: 'claim', request, again: false }
        if (turn === 'new') return { kind: 'claim', request: { ...request, turn: turns.length + 1 }, again: false }
        // Of the latest ones: those whose leases may still be held.
        const earlier = pickFrom(turns.slice(-3), n)
        return earlier && { kind: 'claim', request: earlier, again: true }
      },
  )

const finishIntent = fc.tuple(fences, fc.nat(99)).map(
  ([of, result]): Intent =>
    (world) => {
      const items = of(world).map((fence, i) => ({ ...fence, resultText: `{"r": ${result + i}}` }))
      return items.length > 0 ? { kind: 'finish', items } : undefined
    },
)

const failIntent = fc.tuple(fences, fc.constantFrom(0, 0, 500, 3_000), seldom(6), fc.nat(99)).map(
  ([of, delayMs, final, error]): Intent =>
    (world) => {
      const items = of(world).map((fence, i) => {
        return { ...fence, errorText: `{"e": ${error + i}}`, delayMs: i === 1 ? 0 : delayMs, final: final && i !== 1 }
      })
      return items.length > 0 ? { kind: 'fail', items } : undefined
    },
)

const names = fc.constantFrom('x', 'x', 'y')
const parkIntent = fc.tuple(aFence, names, fc.constantFrom(null, 0, 500, 3_000, 10_000)).map(
  ([of, name, waitMs]): Intent =>
    (world) => {
      const fence = of(world)
      return fence && { kind: 'park', fence, name, waitMs }
    },
)

const wakeIntent = fc.tuple(aJob('parked', 'leased'), names, fc.nat(99)).map(
  ([of, name, payload]): Intent =>
    (world) => {
      const id = of(world)
      return id === undefined ? undefined : { kind: 'wake', jobId: id, name, payload }
    },
)

/** Mostly only if there is something to do. */
function maintenance(kind: 'lose' | 'promote', isDue: (world: World) => boolean): fc.Arbitrary<Intent> {
  return fc.tuple(fc.constantFrom(1, 2, 1_000), seldom(5)).map(
    ([limit, blind]) =>
      (world) =>
        blind || isDue(world) ? { kind, limit } : undefined,
  )
}

function someAt(world: World, isDue: (at: Job['at'], now: number) => boolean): boolean {
  return [...world.model.jobs.values()].some(({ at }) => isDue(at, world.model.now))
}

const intents: Record<Move['kind'], { weight: number; arbitrary: fc.Arbitrary<Intent> }> = {
  enqueue: { weight: 5, arbitrary: enqueueIntent },
  claim: { weight: 10, arbitrary: claimIntent },
  start: { weight: 5, arbitrary: fenced((found) => ({ kind: 'start', fences: found })) },
  extend: { weight: 3, arbitrary: fenced((found) => ({ kind: 'extend', fences: found })) },
  finish: { weight: 1, arbitrary: finishIntent },
  fail: { weight: 4, arbitrary: failIntent },
  release: { weight: 2, arbitrary: fenced((found) => ({ kind: 'release', fences: found, reason: 'drained' })) },
  park: { weight: 4, arbitrary: parkIntent },
  wake: { weight: 3, arbitrary: wakeIntent },
  lose: {
    weight: 4,
    arbitrary: maintenance('lose', (world) => someAt(world, (at, now) => at.in === 'leased' && at.expiresAt <= now)),
  },
  promote: {
    weight: 4,
    arbitrary: maintenance('promote', (world) =>
      someAt(world, (at, now) => 'dueAt' in at && at.dueAt !== null && at.dueAt <= now),
    ),
  },
  cancel: {
    weight: 2,
    arbitrary: fc
      .constantFrom(null, 'not wanted')
      .chain((reason) => onJobs(aJob('leased', 'parked'), (jobIds) => ({ kind: 'cancel', jobIds, reason }))),
  },
  retry: { weight: 4, arbitrary: onJobs(aJob('finished'), (jobIds) => ({ kind: 'retry', jobIds })) },
}
const anIntent = fc.oneof(...Object.values(intents))
/** In a round, more of the moves that end something. */
const aRival = fc.oneof(
  { weight: 3, arbitrary: anIntent },
  ...(['finish', 'fail', 'release', 'cancel', 'extend'] as const).map((kind) => ({ ...intents[kind], weight: 1 })),
)

function told(answer: readonly Row[]): string {
  return answer.map(wordOf).join(', ') || 'nothing'
}

class Step implements Command {
  #told = 'step'

  constructor(
    readonly intent: Intent,
    readonly connection: number,
    readonly tally: Tally,
  ) {}

  check(world: World): boolean {
    return this.intent(world, []) !== undefined
  }

  async run(world: World, server: Server): Promise<void> {
    const move = this.intent(world, []) as Move
    this.#told = `c${this.connection + 1}: ${world.describe(move)}`
    const answer = await world.step(server, server.sessions[this.connection] as Session, move)
    this.#told += ` → ${told(answer)}`
    this.tally.count(move, answer)
  }

  toString(): string {
    return `\n    ${this.#told}`
  }
}

class Advance implements Command {
  constructor(
    readonly ms: number,
    readonly tally: Tally,
  ) {}

  check(): boolean {
    return true
  }

  async run(world: World, server: Server): Promise<void> {
    await server.advance(this.ms)
    world.model.now += this.ms
    this.tally.steps++
  }

  toString(): string {
    return `\n    advance ${this.ms} ms`
  }
}

class Race implements Command {
  #told = 'race'

  constructor(
    readonly how: Round['how'],
    readonly late: boolean,
    readonly about: readonly number[],
    readonly wishes: readonly Intent[],
    readonly tally: Tally,
  ) {}

  /** All moves are made of the state before the round, and of the same one or two jobs where they name any. */
  #round(world: World): Round {
    const moves: Move[] = []
    const ids = [...world.model.jobs.keys()]
    const held = ids.filter((id) => world.model.jobs.get(id)?.at.in === 'leased')
    const known = held.length > 0 ? held : ids
    world.focus = new Set(this.about.flatMap((n) => [jobId(n), ...known.slice(n % known.length).slice(0, 1)]))
    for (const wish of this.wishes) {
      const move = wish(world, moves)
      if (move) moves.push(move)
    }
    world.focus = undefined
    return { how: this.how, moves: moves.slice(0, 3), late: this.late && moves[0]?.kind === 'enqueue' }
  }

  check(world: World): boolean {
    return this.#round(world).moves.length > 1
  }

  async run(world: World, server: Server): Promise<void> {
    const round = this.#round(world)
    this.#told = `${round.how}${round.late ? ', late' : ''}: ${round.moves.map((move) => world.describe(move)).join(' | ')}`
    const answers = await race(world, server, round)
    this.#told += ` → ${answers.map(told).join(' | ')}`
    for (const [i, answer] of answers.entries()) this.tally.count(round.moves[i] as Move, answer)
    this.tally.rounds++
  }

  toString(): string {
    return `\n    ${this.#told}`
  }
}

const step = (tally: Tally) =>
  fc.tuple(anIntent, fc.nat(2)).map(([intent, connection]): Command => new Step(intent, connection, tally))
const advance = (tally: Tally) =>
  fc.constantFrom(1, 500, 1_000, 3_000, 10_000).map((ms): Command => new Advance(ms, tally))

/** One move at a time, each on one of several connections. */
export function sequential(tally: Tally): fc.Arbitrary<Iterable<Command>> {
  const one = fc.oneof({ weight: 6, arbitrary: step(tally) }, { weight: 1, arbitrary: advance(tally) })
  return fc.commands([one], { maxCommands: 160, size: 'max' })
}

/** Rounds of two or three moves at once, and single moves between them that bring the jobs into all places. */
export function racing(tally: Tally): fc.Arbitrary<Iterable<Command>> {
  const round = fc
    .tuple(
      fc.constantFrom('free', 'barrier', 'commit', 'rollback'),
      fc.boolean(),
      fc.array(fc.nat(jobsMax), { minLength: 1, maxLength: 2 }),
      fc.array(aRival, { minLength: 3, maxLength: 4 }),
    )
    .map(([how, late, about, wishes]): Command => new Race(how, late, about, wishes, tally))
  const one = fc.oneof(
    { weight: 5, arbitrary: round },
    { weight: 5, arbitrary: step(tally) },
    { weight: 2, arbitrary: advance(tally) },
  )
  return fc.commands([one], { maxCommands: 160, size: 'max' })
}
