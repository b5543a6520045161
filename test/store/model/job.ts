import type { Json } from '../../../src/job/json.js'
import type { Ending, Fence, Outcome } from '../../../src/job/places.js'
import type { NewJob } from '../../../src/store/enqueue.js'
import type { Row } from './move.js'

/** A job as the model sees it. Times are milliseconds since the epoch of the test. */
export interface Job {
  readonly asked: NewJob & { readonly payload: Json; readonly createdAt: number; readonly dueAt: number | null }
  readonly seq: number
  tries: number
  failures: number
  losses: number
  releases: number
  failuresMax: number
  lossesMax: number
  at: Place
  readonly attempts: Attempt[]
  readonly mailbox: Map<string, Mail>
}

export type Leased = {
  in: 'leased'
  readonly fence: Fence
  readonly worker: string
  readonly turn: number | null
  readonly claimedAt: number
  expiresAt: number
  startedAt: number | null
  cancelAt: number | null
  cancelReason: string | null
}

type Finished = {
  in: 'finished'
  readonly outcome: Outcome
  readonly reason: string | null
  readonly endedAt: number
  readonly lease: Leased | null
  readonly result: Json
  readonly error: Json
}

export type Place =
  | { in: 'ready' }
  | { in: 'delayed'; readonly dueAt: number }
  | { in: 'parked'; readonly dueAt: number | null; readonly name: string }
  | Leased
  | Finished

/** `fence` is null for an ending without a lease, which gets there when it is undone by a retry. */
interface Attempt {
  readonly fence: Fence | null
  readonly ending: Ending
  readonly endedAt: number
  readonly lease: {
    readonly claimedAt: number | null
    readonly startedAt: number | null
    readonly worker: string
  } | null
  readonly reason: string | null
  readonly error: Json
  late: { readonly at: number; readonly ending: Ending; readonly said: Json } | null
  undone: { readonly at: number; readonly outcome: Outcome } | null
}

interface Mail {
  dueAt: number | null
  sent: { readonly at: number; readonly payload: number } | null
}

export function parse(text: string | undefined): Json {
  return text === undefined ? null : (JSON.parse(text) as Json)
}

export function same(a: Fence, b: Fence): boolean {
  return a.jobId === b.jobId && a.leaseId === b.leaseId && a.nonce === b.nonce
}

export function attemptOf(job: Job, fence: Fence): Attempt | undefined {
  return job.attempts.find((attempt) => attempt.fence && same(attempt.fence, fence))
}

export function outcomeOf(job: Job | undefined): Outcome | null {
  return job?.at.in === 'finished' ? job.at.outcome : null
}

export function mailOf(job: Job, name: string): Mail {
  const mail = job.mailbox.get(name) ?? { dueAt: null, sent: null }
  job.mailbox.set(name, mail)
  return mail
}

export function cancelReason(lease: Leased): string {
  return lease.cancelReason ?? 'cancel_requested'
}

/** An entry of the log, without what only some have. */
export function anAttempt(fence: Fence | null, ending: Ending, endedAt: number): Attempt {
  const by = fence && { jobId: fence.jobId, leaseId: fence.leaseId, nonce: fence.nonce }
  return { fence: by, ending, endedAt, lease: null, reason: null, error: null, late: null, undone: null }
}

/** Whether another attempt than the one that speaks has reported success, too, in time or late. */
export function anotherSucceeded(job: Job | undefined, speaker: Fence): boolean {
  const late =
    job?.attempts.filter((attempt) => attempt.late?.ending === 'succeeded').map((attempt) => attempt.fence) ?? []
  const ender = job?.at.in === 'finished' && job.at.outcome === 'succeeded' ? job.at.lease?.fence : undefined
  return [ender, ...late].some((fence) => fence && !same(fence, speaker))
}

/** As a claim by itself answers it. */
export function leaseRow(job: Job): Row {
  const { task, queue, priority, payload, leaseMs, createdAt } = job.asked
  const { tries, failures, losses, releases, failuresMax } = job
  const { fence, claimedAt, expiresAt } = job.at as Leased
  return {
    ...fence,
    task,
    queue,
    priority,
    payload,
    tries,
    failures,
    losses,
    releases,
    failuresMax,
    leaseMs,
    claimedAt,
    expiresAt,
    createdAtMs: createdAt,
    policy: null,
  }
}

/** As a turn tells of it, just claimed. */
export function turnLeaseRow(job: Job): Row {
  const { claimedAt: _, expiresAt: __, ...row } = leaseRow(job)
  return { ...row, leftMs: job.asked.leaseMs, started: (job.at as Leased).startedAt !== null }
}
