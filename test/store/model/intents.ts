import fc from 'fast-check'
import type { Fence } from '../../../src/job/places.js'
import type { NewJob } from '../../../src/store/enqueue.js'
import type { ClaimRequest } from '../../../src/store/lease.js'
import type { Job } from './job.js'
import type { Move } from './move.js'
import { freshJobId, jobId, type World } from './world.js'

/**
 * A move still to be made of what there is when its turn comes; nothing if there is nothing to make it of. `others` are
 * the moves of its round made before it.
 */
export type Intent = (world: World, others: readonly Move[]) => Move | undefined

/** Few jobs, so that much happens to each. */
export const jobsMax = 12

function pickFrom<Item>(items: readonly Item[], n: number): Item | undefined {
  return items[n % items.length]
}

/** In a round, those of the jobs that the round is about, if there are any. */
function inFocus<Item>(world: World, items: readonly Item[], idOf: (item: Item) => string): readonly Item[] {
  const near = items.filter((item) => world.focus?.known.includes(idOf(item)))
  return near.length > 0 ? near : items
}

const aPick = fc.nat(15)

/** True once in so many times. */
function oneIn(times: number): fc.Arbitrary<boolean> {
  return fc.nat(times - 1).map((n) => n === times - 1)
}

/** Mostly a lease that is held; else one that has ended, however long ago, or one that never was. */
const aFence = fc
  .record({
    from: fc.oneof(
      { weight: 8, arbitrary: fc.constant('held' as const) },
      { weight: 3, arbitrary: fc.constant('ended' as const) },
      { weight: 2, arbitrary: fc.constantFrom('other nonce', 'other nonce', 'other job', 'other lease') },
    ),
    n: aPick,
  })
  .map(({ from, n }) => (world: World): Fence | undefined => {
    const known = inFocus(world, world.fences.toReversed(), (fence) => fence.jobId)
    const held = known.filter((fence) => world.isHeld(fence))
    const ended = known.filter((fence) => !held.includes(fence))
    if (from === 'held' || from === 'ended') return pickFrom(from === 'held' ? held : ended, n)
    const [fence, other] = [pickFrom(held.length > 0 ? held : known, n), pickFrom(known, n + 1)]
    if (!fence || !other) return undefined
    if (from === 'other nonce') return { ...fence, nonce: fence.nonce + 1 }
    return from === 'other job' ? { ...fence, jobId: other.jobId } : { ...fence, leaseId: fence.leaseId + 1_000_000 }
  })

/** Each fence once: what a batch means that names one twice is not said. */
const someFences = fc.array(aFence, { minLength: 1, maxLength: 3 }).map((picks) => (world: World): Fence[] => {
  const found = picks.map((of) => of(world)).filter((fence) => fence !== undefined)
  return [...new Map(found.map((fence) => [`${fence.jobId}/${fence.leaseId}/${fence.nonce}`, fence])).values()]
})

function fenced(make: (fences: Fence[]) => Move): fc.Arbitrary<Intent> {
  return someFences.map((of) => (world) => {
    const fences = of(world)
    return fences.length > 0 ? make(fences) : undefined
  })
}

/** A known job, preferably in one of these places; sometimes one that does not exist. */
function aJob(...places: string[]) {
  return fc
    .record({ n: aPick, anywhere: oneIn(4), missing: oneIn(30) })
    .map(({ n, anywhere, missing }) => (world: World): string | undefined => {
      if (missing) return jobId(999)
      const ids = [...world.model.jobs.keys()]
      const there = ids.filter((id) => places.includes(world.model.jobs.get(id)?.at.in ?? ''))
      return pickFrom(
        inFocus(world, anywhere || there.length === 0 ? ids : there, (id) => id),
        n,
      )
    })
}

function onJobs(one: ReturnType<typeof aJob>, make: (jobIds: string[]) => Move): fc.Arbitrary<Intent> {
  return fc.array(one, { minLength: 1, maxLength: 3 }).map((picks) => (world) => {
    const ids = picks.map((of) => of(world)).filter((id) => id !== undefined)
    return ids.length > 0 ? make(ids) : undefined
  })
}

const aQueue = fc.constantFrom('q', 'q', 'q', 'other')

const plain = {
  task: fc.constantFrom('a', 'b'),
  queue: aQueue,
  priority: fc.constantFrom(-1, 0, 0, 1),
  failuresMax: fc.nat(2),
  lossesMax: fc.nat(1),
  leaseMs: fc.constantFrom(1_000, 5_000),
}

const aNewJob = fc.record({
  n: fc.nat(jobsMax - 1),
  differs: oneIn(9),
  respelt: fc.boolean(),
  delayMs: fc.constantFrom(0, 0, 0, 500, 3_000),
  ...plain,
})

/** New ids, and ids there already: for the same request in other letters and with other options, or for another one. */
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
        const { fresh, known } = world.focus ?? { fresh: [], known: [] }
        const ids = asked.map(({ n }) => pickFrom([...fresh, ...fresh, ...known], n) ?? jobId(n))
        const jobs = new Map<string, NewJob>()
        for (const [i, { n: _, differs, respelt, ...job }] of asked.entries()) {
          const id = ids[i] as string
          const there = world.model.jobs.get(id)?.asked
          const payloadText = respelt ? `{"n": 1.0, "is": ${differs}}` : `{"is":${differs},"n":1}`
          // An id that is asked for twice in one call is asked for in the very same way: which of the two counts is not said.
          jobs.set(
            id,
            jobs.get(id) ?? {
              id,
              gatesText: null,
              ...job,
              task: there && !differs ? there.task : job.task,
              payloadText,
            },
          )
        }
        return { kind: 'enqueue', jobs: ids.map((id) => jobs.get(id) as NewJob), isolation }
      },
  )

/** Those of a round that can be repeated. */
function turnsOf(moves: readonly Move[]): ClaimRequest[] {
  return moves.flatMap((move) => ('request' in move && move.request.turn !== undefined ? [move.request] : []))
}

function newTurn(world: World, others: readonly Move[]): number {
  return 1 + Math.max(0, ...[...world.turns, ...turnsOf(others)].map(({ turn }) => turn ?? 0))
}

/** A queue as often as something is ready there. */
function readyQueues(world: World): string[] {
  return [...world.model.jobs.values()].filter(({ at }) => at.in === 'ready').map((job) => job.asked.queue)
}

const aWorker = fc.constantFrom('w1', 'w2', 'w3')

const claimIntent = fc
  .record({
    queue: aQueue,
    blind: oneIn(6),
    limit: fc.integer({ min: 1, max: 3 }),
    worker: aWorker,
    tasks: fc.constantFrom(undefined, undefined, undefined, ['a'], ['a', 'b', 'c']),
    turn: fc.constantFrom('none', 'new', 'new', 'again'),
    n: aPick,
  })
  .map(
    ({ queue, blind, tasks, turn, n, ...asked }): Intent =>
      (world, others) => {
        if (turn === 'again') {
          // Of the latest ones: their leases may still be held.
          const earlier = turnsOf(others).at(-1) ?? pickFrom(world.turns.slice(-3), n)
          return earlier && { kind: 'claim', request: earlier, again: true }
        }
        const ready = readyQueues(world)
        const worthwhile = blind || ready.includes(queue) ? queue : ready[0]
        if (worthwhile === undefined) return undefined
        const request = { ...asked, queue: worthwhile, ...(tasks && { tasks }) }
        const named = turn === 'none' ? request : { ...request, turn: newTurn(world, others) }
        return { kind: 'claim', request: named, again: false }
      },
  )

/** Often with a handler for each, and where nothing else is ready: such jobs are leased as they are stored. */
const enqueueClaimedIntent = fc
  .record({
    alike: fc.record(plain),
    count: fc.constantFrom(1, 1, 2, 3),
    amongOthers: oneIn(4),
    asked: fc.record({
      worker: aWorker,
      tasks: fc.constantFrom(['a', 'b'], ['a', 'b'], ['c', 'b']),
      limit: fc.constantFrom(2, 3, 100),
      starts: fc.constantFrom(0, 1, 3, 3, 3),
      room: fc.constantFrom(1, 3, 3, 100),
    }),
  })
  .map(
    ({ alike, count, amongOthers, asked }): Intent =>
      (world, others) => {
        const turn = newTurn(world, others)
        const empty = ['q', 'other', 'quiet'].find((queue) => !readyQueues(world).includes(queue))
        const queue = amongOthers || empty === undefined ? alike.queue : empty
        const jobs = Array.from({ length: count }, (_, n) => {
          const payloadText = `{"is":${n > 0},"n":1}` // of the first, as an enqueue of the same id has it
          return { ...alike, queue, id: freshJobId(turn, n), delayMs: 0, gatesText: null, payloadText }
        })
        return { kind: 'enqueueClaimed', jobs, request: { ...asked, queue, turn } }
      },
  )

const finishIntent = fc.tuple(someFences, fc.nat(99)).map(
  ([of, result]): Intent =>
    (world) => {
      const items = of(world).map((fence, i) => ({ ...fence, resultText: `{"r": ${result + i}}` }))
      return items.length > 0 ? { kind: 'finish', items } : undefined
    },
)

const failIntent = fc.tuple(someFences, fc.constantFrom(0, 0, 500, 3_000), oneIn(7), fc.nat(99)).map(
  ([of, delayMs, final, error]): Intent =>
    (world) => {
      const items = of(world).map((fence, i) => {
        const isSecond = i === 1
        return {
          ...fence,
          errorText: `{"e": ${error + i}}`,
          delayMs: isSecond ? 0 : delayMs,
          final: final && !isSecond,
        }
      })
      return items.length > 0 ? { kind: 'fail', items } : undefined
    },
)

const aName = fc.constantFrom('x', 'x', 'y')

const parkIntent = fc.tuple(aFence, aName, fc.constantFrom(null, 0, 500, 3_000, 10_000)).map(
  ([of, name, waitMs]): Intent =>
    (world) => {
      const fence = of(world)
      return fence && { kind: 'park', fence, name, waitMs }
    },
)

const wakeIntent = fc.tuple(fc.oneof(aJob('parked'), aJob('leased', 'ready')), aName, oneIn(4), fc.nat(99)).map(
  ([of, name, blind, payload]): Intent =>
    (world) => {
      const id = of(world)
      if (id === undefined) return undefined
      const at = world.model.jobs.get(id)?.at
      return { kind: 'wake', jobId: id, name: at?.in === 'parked' && !blind ? at.name : name, payload }
    },
)

/** Mostly only if there is something to do. */
function maintenance(kind: 'lose' | 'promote', isDue: (at: Job['at'], now: number) => boolean): fc.Arbitrary<Intent> {
  return fc.tuple(fc.constantFrom(1, 2, 1_000), oneIn(6)).map(([limit, blind]) => (world) => {
    const someDue = [...world.model.jobs.values()].some(({ at }) => isDue(at, world.model.now))
    return blind || someDue ? { kind, limit } : undefined
  })
}

const cancelIntent = fc
  .constantFrom(null, 'not wanted')
  .chain((reason) => onJobs(aJob('leased', 'parked'), (jobIds) => ({ kind: 'cancel', jobIds, reason })))

const ofEach: Record<Move['kind'], { weight: number; arbitrary: fc.Arbitrary<Intent> }> = {
  enqueue: { weight: 5, arbitrary: enqueueIntent },
  claim: { weight: 12, arbitrary: claimIntent },
  enqueueClaimed: { weight: 4, arbitrary: enqueueClaimedIntent },
  start: { weight: 6, arbitrary: fenced((fences) => ({ kind: 'start', fences })) },
  extend: { weight: 3, arbitrary: fenced((fences) => ({ kind: 'extend', fences })) },
  finish: { weight: 2, arbitrary: finishIntent },
  fail: { weight: 4, arbitrary: failIntent },
  release: { weight: 2, arbitrary: fenced((fences) => ({ kind: 'release', fences, reason: 'drained' })) },
  park: { weight: 5, arbitrary: parkIntent },
  wake: { weight: 4, arbitrary: wakeIntent },
  lose: { weight: 4, arbitrary: maintenance('lose', (at, now) => at.in === 'leased' && at.expiresAt <= now) },
  promote: {
    weight: 4,
    arbitrary: maintenance('promote', (at, now) => 'dueAt' in at && at.dueAt !== null && at.dueAt <= now),
  },
  cancel: { weight: 1, arbitrary: cancelIntent },
  retry: { weight: 4, arbitrary: onJobs(aJob('finished'), (jobIds) => ({ kind: 'retry', jobIds })) },
}

export const anIntent = fc.oneof(...Object.values(ofEach))

function anyOf(...kinds: Move['kind'][]): fc.Arbitrary<Intent> {
  return fc.oneof(...kinds.map((kind) => ofEach[kind].arbitrary))
}

/** For a round: any moves, or such as want the same rows. */
export const someRivals = fc
  .constantFrom(
    anIntent,
    anyOf('finish', 'fail', 'release', 'cancel', 'extend', 'lose', 'park', 'start'),
    anyOf('claim', 'claim', 'claim', 'cancel', 'release'),
    anyOf('enqueueClaimed', 'enqueueClaimed', 'claim', 'enqueue', 'release'),
    anyOf('cancel', 'retry', 'wake', 'promote', 'park'),
    anyOf('enqueue'),
  )
  .chain((one) => fc.array(one, { minLength: 3, maxLength: 4 }))
