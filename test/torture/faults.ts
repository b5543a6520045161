import { randomFrom } from '../worker/graphs/random-workflow.js'
import { carriers, changedGates, producers, sideQueue } from './work.js'

const workers = 4
export const sqsServers = 2

/** The processes that are disturbed, each behind a proxy of its own. */
export const slots = {
  worker: Array.from({ length: workers }, (_, n) => `worker-${n}`),
  producer: Array.from({ length: producers }, (_, n) => `producer-${n}`),
  sqs: Array.from({ length: sqsServers }, (_, n) => `sqs-${n}`),
  client: ['client-0'],
  carrier: Array.from({ length: carriers }, (_, n) => `carrier-${n}`),
}
export const allSlots = Object.values(slots).flat()

/** Leases of the torture's tasks. */
export const leaseMs = 2_000

export type Fault = { readonly atMs: number } & (
  | { readonly kind: 'kill' | 'term'; readonly slot: string }
  | { readonly kind: 'stop' | 'stall'; readonly slot: string; readonly ms: number }
  | { readonly kind: 'cut'; readonly slot: string }
  | { readonly kind: 'cut commit'; readonly slot: string; readonly text: string; readonly at: 'before' | 'after' }
  | {
      readonly kind: 'hold commit'
      readonly slot: string
      readonly text: string
      readonly at: 'before' | 'after'
      readonly ms: number
      readonly then: 'cut' | 'let go'
    }
  | { readonly kind: 'terminate backends'; readonly count: number }
  | { readonly kind: 'crash' | 'restart' }
  | { readonly kind: 'crowd'; readonly ms: number }
  | { readonly kind: 'limit'; readonly key: string; readonly limit: number }
  | {
      readonly kind: 'pause'
      readonly what: { readonly queue: string } | { readonly gate: string }
      readonly ms: number
    }
)

/** What is in the requests that commit, of each kind of process. */
const commits: Readonly<Record<keyof typeof slots, readonly string[]>> = {
  worker: ['; commit', '_turn\0', '_turn\0', 'advance', 'end_step', 'extend'],
  // Few of copies: each waits for the next one, and of ten in a minute some are to go through.
  producer: ['enqueue_', 'enqueue_', 'enqueue_', 'enqueue_', 'start_run', 'start_run', 'from stdin', '"n":'],
  sqs: ['_sqs_send\0', '_sqs_delete\0', '_sqs_receive\0'],
  client: ['cancel'],
  // A number is in the payload of what is carried, and of what is copied.
  carrier: ['"n":', '"n":', '"n":', '"n":', 'enqueue_', '; commit', '_turn\0'],
}

/** Whose commits are cut or held: of each kind its share. */
const shares = { worker: 3, producer: 2, sqs: 1, client: 1, carrier: 3 } as const
const cutKinds = Object.entries(shares).flatMap(([kind, share]) =>
  Array.from({ length: share }, () => kind as keyof typeof shares),
)

const quietAtStartMs = 4_000
const quietAtEndMs = 2_000

/** The faults of a run, in the order of their times: a function of the seed. */
export function faultsOf(seed: number, minutes: number): Fault[] {
  const random = randomFrom(seed * 17 + 5)
  const below = (max: number) => Math.floor(random() * max)
  const pick = <Value>(values: readonly Value[]) => values[below(values.length)] as Value
  const worker = () => pick(slots.worker)
  const carrier = () => pick(slots.carrier)
  const anyKind = () => pick(cutKinds)
  const commit = () => {
    const kind = anyKind()
    return { slot: pick(slots[kind]), text: pick(commits[kind]), at: pick(['before', 'after'] as const) }
  }
  const perMinute: [number, () => DistributiveOmit<Fault, 'atMs'>][] = [
    [22, () => ({ kind: 'kill', slot: worker() })],
    [6, () => ({ kind: 'kill', slot: carrier() })],
    [2, () => ({ kind: 'kill', slot: pick(slots.producer) })],
    [3, () => ({ kind: 'kill', slot: pick(slots.sqs) })],
    [1, () => ({ kind: 'kill', slot: 'client-0' })],
    [4, () => ({ kind: 'term', slot: worker() })],
    [12, () => ({ kind: 'stop', slot: worker(), ms: leaseMs * 1.3 + below(2_000) })],
    [2, () => ({ kind: 'term', slot: carrier() })],
    [5, () => ({ kind: 'stop', slot: carrier(), ms: leaseMs * 1.3 + below(2_000) })],
    [8, () => ({ kind: 'stall', slot: pick(allSlots), ms: 200 + below(4_000) })],
    [6, () => ({ kind: 'cut', slot: pick(allSlots) })],
    [100, () => ({ kind: 'cut commit', ...commit() })],
    [12, () => ({ kind: 'hold commit', ...commit(), ms: 500 + below(4_000), then: pick(['cut', 'let go'] as const) })],
    [8, () => ({ kind: 'terminate backends', count: 1 + below(6) })],
    [1, () => ({ kind: 'crash' })],
    [0.5, () => ({ kind: 'restart' })],
    [1, () => ({ kind: 'crowd', ms: 1_000 + below(2_000) })],
    [10, () => ({ kind: 'limit', key: pick(Object.keys(changedGates)), limit: 1 + below(5) })],
    [
      4,
      () => ({
        kind: 'pause',
        what: random() < 0.5 ? { queue: sideQueue } : { gate: pick(Object.keys(changedGates)) },
        ms: 500 + below(3_000),
      }),
    ],
  ]
  const lastMs = minutes * 60_000 - quietAtEndMs
  return perMinute
    .flatMap(([rate, make]) =>
      Array.from({ length: Math.max(1, Math.round(rate * minutes)) }, () => ({
        ...make(),
        atMs: quietAtStartMs + random() * (lastMs - quietAtStartMs),
      })),
    )
    .sort((a, b) => a.atMs - b.atMs)
}

type DistributiveOmit<Union, Key extends PropertyKey> = Union extends unknown ? Omit<Union, Key> : never
