import { isDeepStrictEqual } from 'node:util'
import type { Json } from '../../../src/job/json.js'
import type { Ending, Fence, Outcome } from '../../../src/job/places.js'
import type { ClaimRequest } from '../../../src/store/lease.js'
import {
  anAttempt,
  anotherSucceeded,
  attemptOf,
  cancelReason,
  type Job,
  type Leased,
  leaseRow,
  mailOf,
  outcomeOf,
  type Place,
  parse,
  same,
  turnLeaseRow,
} from './job.js'
import { type Move, type MoveOf, type Row, sorted } from './move.js'

/** What only the database can know, because it makes it up or because it depends on who had which row locked. */
export interface Seen {
  readonly answer: readonly Row[]
  seqOf(jobId: string): number
  /** Jobs whose rows a move that skips locked rows may pass over. None, unless moves race. */
  readonly passedOver: ReadonlySet<string>
}

/**
 * What the moves mean, said a second time, without a database: a map of jobs, and one function per move that changes
 * it and returns the answer. It knows nothing of locks: moves happen one after the other, at a time that stands still.
 */
export class Model {
  now = 0
  jobs = new Map<string, Job>()
  /** Those given out before this step, or before this round: new ones are larger. */
  seqMax = 0
  leaseIdMax = 0

  clone(): Model {
    const { now, jobs, seqMax, leaseIdMax } = this
    return Object.assign(new Model(), structuredClone({ now, jobs, seqMax, leaseIdMax }))
  }

  apply(move: Move, seen: Seen): Row[] {
    switch (move.kind) {
      case 'enqueue':
        return this.#enqueue(move, seen)
      case 'claim':
        return this.#claim(move, seen)
      case 'enqueueClaimed':
        return this.#enqueueClaimed(move, seen)
      case 'start':
        return sorted(move.fences.map((fence) => this.#start(fence)))
      case 'extend':
        return sorted(move.fences.map((fence) => this.#extend(fence, seen)))
      case 'finish':
        return sorted(this.#finish(move))
      case 'fail':
        return sorted(
          this.#settle(move.items, 'failed', (job, lease, item) => {
            job.failures++
            lease.startedAt ??= lease.claimedAt // whatever says so has run
            const reason = this.#failureReason(job, lease, item.final)
            this.#log(job, lease, 'failed', reason, parse(item.errorText))
            if (reason) return this.#end(job, lease.cancelAt === null ? 'failed' : 'cancelled', reason, lease, item)
            job.at = item.delayMs > 0 ? { in: 'delayed', dueAt: this.now + item.delayMs } : { in: 'ready' }
            return 'retrying'
          }),
        )
      case 'release':
        return sorted(
          this.#settle(move.fences, 'released', (job, lease) => {
            job.releases++
            this.#log(job, lease, 'released', move.reason)
            if (lease.cancelAt !== null) return this.#end(job, 'cancelled', cancelReason(lease), lease)
            job.at = { in: 'ready' }
            return 'released'
          }),
        )
      case 'lose':
        return this.#lose(move, seen)
      case 'park':
        return [this.#park(move)]
      case 'wake':
        return [{ answer: this.#wake(move) }]
      case 'promote':
        return this.#promote(move, seen)
      case 'cancel':
        return sorted([...new Set(move.jobIds)].map((id) => this.#cancel(id, move.reason)))
      default:
        return sorted([...new Set(move.jobIds)].map((id) => this.#retry(id)))
    }
  }

  /** All or none. What is there already is not touched, and is fine if it is the same request. */
  #enqueue(move: Pick<MoveOf<'enqueue'>, 'jobs'>, seen: Seen): Row[] {
    const requests = new Map<string, Job['asked']>()
    for (const job of move.jobs) {
      const payload = parse(job.payloadText)
      const first = this.jobs.get(job.id)?.asked ?? requests.get(job.id)
      if (first && !(first.task === job.task && isDeepStrictEqual(first.payload, payload)))
        return [{ error: 'FP_ID_CONFLICT' }]
      if (first) requests.set(job.id, first)
      else
        requests.set(job.id, {
          ...job,
          payload,
          createdAt: this.now,
          dueAt: job.delayMs > 0 ? this.now + job.delayMs : null,
        })
    }
    const answers: Row[] = []
    let seqBefore = this.seqMax
    for (const [jobId, asked] of requests) {
      answers.push({ jobId, answer: this.jobs.has(jobId) ? 'existing' : 'enqueued' })
      if (this.jobs.has(jobId)) continue
      const { failuresMax, lossesMax, dueAt } = asked
      const seq = seen.seqOf(jobId) > seqBefore ? seen.seqOf(jobId) : Number.NaN
      seqBefore = seq
      const counters = { tries: 0, failures: 0, losses: 0, releases: 0, failuresMax, lossesMax }
      const at: Place = dueAt === null ? { in: 'ready' } : { in: 'delayed', dueAt }
      this.jobs.set(jobId, { asked, seq, ...counters, at, attempts: [], mailbox: new Map() })
    }
    return sorted(answers)
  }

  #claim({ request, again }: MoveOf<'claim'>, seen: Seen): Row[] {
    const { queue, worker, turn } = request
    const held = this.#inOrder(queue).filter(({ at }) => at.in === 'leased' && at.worker === worker && at.turn === turn)
    return (again && held.length > 0 ? held : this.#take(request, seen)).map(leaseRow)
  }

  /** One after the other, with nobody in between: whether the jobs have been ready makes no difference. */
  #enqueueClaimed({ jobs, request }: MoveOf<'enqueueClaimed'>, seen: Seen): Row[] {
    this.#enqueue({ jobs }, seen)
    const limit = Math.min(request.limit, request.room)
    return this.#take({ ...request, limit }, seen, request.starts).map(turnLeaseRow)
  }

  #inOrder(queue: string): Job[] {
    return [...this.jobs.values()]
      .filter(({ asked }) => asked.queue === queue)
      .toSorted((a, b) => a.asked.priority - b.asked.priority || a.seq - b.seq)
  }

  /**
   * `starts`: a turn has a free handler for so many. It leaves alone what has to run alone, and marks whatever had a
   * lease before; a claim by itself makes no difference, and marks nothing.
   */
  #take({ queue, tasks, limit, worker, turn }: ClaimRequest, seen: Seen, starts?: number): Job[] {
    const free = this.#inOrder(queue)
      .filter(({ at, asked }) => at.in === 'ready' && (tasks?.includes(asked.task) ?? true))
      .filter(({ asked, losses }) => !seen.passedOver.has(asked.id) && (starts === undefined || losses === 0))
    const isAged = turn !== undefined && (turn % 17 === 0 || limit >= 100)
    const oldest = isAged ? free.toSorted((a, b) => a.seq - b.seq).slice(0, 1) : []
    const taken = [...oldest, ...free.filter((job) => !oldest.includes(job))].slice(0, limit)
    for (const [i, job] of taken.entries()) {
      const { leaseId, nonce } = { leaseId: Number.NaN, nonce: Number.NaN, ...seen.answer[i] }
      const isStarted = starts !== undefined && (i < starts || job.tries > 0)
      job.tries++
      job.at = {
        in: 'leased',
        fence: { jobId: job.asked.id, leaseId: leaseId > this.leaseIdMax ? leaseId : Number.NaN, nonce },
        worker,
        turn: turn ?? null,
        claimedAt: this.now,
        expiresAt: this.now + job.asked.leaseMs,
        startedAt: isStarted ? this.now : null,
        cancelAt: null,
        cancelReason: null,
      }
    }
    return taken
  }

  #start(fence: Fence): Row {
    const lease = this.#held(fence)?.lease
    if (lease) lease.startedAt ??= this.now
    return fencedRow(fence, lease ? 'started' : 'stale', lease)
  }

  #extend(fence: Fence, seen: Seen): Row {
    const held = this.#held(fence)
    if (!held) return fencedRow(fence, 'gone', undefined)
    const { job, lease } = held
    if (seen.passedOver.has(fence.jobId)) return fencedRow(fence, 'busy', lease)
    lease.expiresAt = Math.max(lease.expiresAt, this.now + job.asked.leaseMs)
    return fencedRow(fence, 'extended', lease)
  }

  /** A request to cancel that nobody has honoured yet loses: the work is done. */
  #finish(move: MoveOf<'finish'>): Row[] {
    const rows = this.#settle(move.items, 'succeeded', (job, lease, item) => {
      lease.startedAt ??= lease.claimedAt
      if (job.tries > 1) this.#log(job, lease, 'succeeded', null)
      this.#end(job, 'succeeded', lease.cancelAt === null ? null : 'cancel_came_too_late', lease, item)
      return 'finished'
    })
    // Nothing is looked up for a call in which only first tries finish: that is the fast way, and nearly every call.
    const isFast = rows.every(
      ({ answer, jobId }) => answer === 'finished' && this.jobs.get(jobId as string)?.tries === 1,
    )
    return move.items.map((item, i) => {
      return { ...rows[i], duplicate: !isFast && anotherSucceeded(this.jobs.get(item.jobId), item) }
    })
  }

  #failureReason(job: Job, lease: Leased, final: boolean): string | null {
    if (lease.cancelAt !== null) return cancelReason(lease)
    if (final) return 'not_retryable'
    return job.failures > job.failuresMax ? 'failures_exhausted' : null
  }

  #lose({ limit }: MoveOf<'lose'>, seen: Seen): Row[] {
    const expired = [...this.jobs.values()]
      .flatMap((job) => (job.at.in === 'leased' && job.at.expiresAt <= this.now ? [{ job, lease: job.at }] : []))
      .toSorted((a, b) => a.lease.fence.leaseId - b.lease.fence.leaseId)
    const free = expired.filter(({ job }) => !seen.passedOver.has(job.asked.id))
    const leastTaken = limit - (expired.length - free.length)
    const rows = free.slice(0, Math.max(leastTaken, Math.min(limit, seen.answer.length))).map(({ job, lease }): Row => {
      const { jobId, leaseId } = lease.fence
      return { jobId, leaseId, worker: lease.worker, answer: this.#loseOne(job, lease), outcome: outcomeOf(job) }
    })
    return sorted(rows)
  }

  /** What had not started costs nothing. */
  #loseOne(job: Job, lease: Leased): string {
    const started = lease.startedAt !== null
    if (started) job.losses++
    else job.releases++
    this.#log(job, lease, started ? 'lost' : 'released', started ? 'lease_ran_out' : 'lease_ran_out_before_start')
    if (lease.cancelAt !== null) return this.#end(job, 'cancelled', cancelReason(lease), lease)
    if (started && job.losses > job.lossesMax) return this.#end(job, 'failed', 'losses_exhausted', lease)
    job.at = { in: 'ready' }
    return started ? 'lost' : 'released'
  }

  /** The first due time under a name stands, and so does the first signal. */
  #park({ fence, name, waitMs }: MoveOf<'park'>): Row {
    const held = this.#held(fence)
    if (!held) return { answer: this.#refuse(fence, 'parked', name), payload: null, dueAt: null }
    const { job, lease } = held
    const mail = mailOf(job, name)
    mail.dueAt ??= waitMs === null ? null : this.now + waitMs
    const { dueAt, sent } = mail
    if (sent) return { answer: 'signalled', payload: sent.payload, dueAt }
    if (dueAt !== null && dueAt <= this.now) return { answer: 'elapsed', payload: null, dueAt }
    this.#log(job, lease, 'parked', name)
    if (lease.cancelAt !== null) {
      return { answer: this.#end(job, 'cancelled', cancelReason(lease), lease), payload: null, dueAt: null }
    }
    job.at = { in: 'parked', dueAt, name }
    return { answer: 'parked', payload: null, dueAt }
  }

  #wake({ jobId, name, payload }: MoveOf<'wake'>): string {
    const job = this.jobs.get(jobId)
    if (!job) return 'missing'
    if (job.at.in === 'finished') return 'finished'
    const mail = mailOf(job, name)
    if (mail.sent) return 'existing'
    mail.sent = { at: this.now, payload }
    if (job.at.in !== 'parked' || job.at.name !== name) return 'kept'
    job.at = { in: 'ready' }
    return 'woken'
  }

  /** The earliest first, at most `limit` from each place. Which of several due at the same moment is not said. */
  #promote({ limit }: MoveOf<'promote'>, seen: Seen): Row[] {
    const moved = new Set(seen.answer.map((row) => row['jobId']))
    const due = (place: 'delayed' | 'parked') =>
      [...this.jobs.values()]
        .flatMap((job) => (job.at.in === place && job.at.dueAt !== null ? [{ job, dueAt: job.at.dueAt }] : []))
        .filter(({ job, dueAt }) => dueAt <= this.now && !seen.passedOver.has(job.asked.id))
        .toSorted((a, b) => a.dueAt - b.dueAt || Number(moved.has(b.job.asked.id)) - Number(moved.has(a.job.asked.id)))
        .slice(0, limit)
        .map(({ job }) => ({ job, row: { jobId: job.asked.id, place } }))
    const all = [...due('delayed'), ...due('parked')]
    for (const { job } of all) job.at = { in: 'ready' }
    return sorted(all.map(({ row }) => row))
  }

  #cancel(jobId: string, reason: string | null): Row {
    const job = this.jobs.get(jobId)
    if (!job) return { jobId, answer: 'missing', outcome: null }
    if (job.at.in === 'finished') return { jobId, answer: 'finished', outcome: job.at.outcome }
    if (job.at.in === 'leased') {
      job.at.cancelAt ??= this.now
      job.at.cancelReason ??= reason
      return { jobId, answer: 'requested', outcome: null }
    }
    return { jobId, answer: this.#end(job, 'cancelled', reason ?? 'cancelled', null), outcome: 'cancelled' }
  }

  /** The outcome that is undone stays in the log; the counters go on, under budgets granted anew. */
  #retry(jobId: string): Row {
    const job = this.jobs.get(jobId)
    if (!job) return { jobId, answer: 'missing', outcome: null }
    if (job.at.in !== 'finished') return { jobId, answer: 'unfinished', outcome: null }
    const { outcome, endedAt, reason, lease } = job.at
    if (outcome === 'succeeded') return { jobId, answer: 'succeeded', outcome }
    const undone = { at: this.now, outcome }
    const logged = lease && attemptOf(job, lease.fence)
    if (logged) logged.undone = undone
    else job.attempts.push({ ...anAttempt(null, outcome as Ending, endedAt), reason, undone })
    job.failuresMax = job.failures + job.asked.failuresMax
    job.lossesMax = job.losses + job.asked.lossesMax
    job.at = { in: 'ready' }
    return { jobId, answer: 'retried', outcome: null }
  }

  /** First the leases that are held end; then what was said of the others is noted. */
  #settle<Item extends Fence>(
    items: readonly Item[],
    said: Ending,
    end: (job: Job, lease: Leased, item: Item) => string,
  ): Row[] {
    const ended = items.map((item) => {
      const held = this.#held(item)
      return held && end(held.job, held.lease, item)
    })
    return items.map((item, i) => {
      const answer = ended[i] ?? this.#refuse(item, said, sayingOf(item))
      return { jobId: item.jobId, leaseId: item.leaseId, answer, outcome: outcomeOf(this.jobs.get(item.jobId)) }
    })
  }

  /** A lease that is no longer held: the same again, or too late, and then the first thing said is kept. */
  #refuse(fence: Fence, ending: Ending, said: Json): 'already' | 'stale' {
    const job = this.jobs.get(fence.jobId)
    if (!job) return 'stale'
    const logged = attemptOf(job, fence)
    const ender = job.at.in === 'finished' && job.at.lease && same(job.at.lease.fence, fence) ? job.at : undefined
    if (ending === 'succeeded' ? ender?.outcome === 'succeeded' : logged?.ending === ending) return 'already'
    const late = { at: this.now, ending, said }
    if (logged) logged.late ??= late
    else {
      // Only a first-try success ends a lease unlogged; of any other fence nothing is known.
      const ended = ender
        ? anAttempt(fence, ender.outcome as Ending, ender.endedAt)
        : anAttempt(fence, 'unknown', this.now)
      job.attempts.push({ ...ended, lease: ender?.lease ? { ...ender.lease, claimedAt: null } : null, late })
    }
    return 'stale'
  }

  #held(fence: Fence): { job: Job; lease: Leased } | undefined {
    const job = this.jobs.get(fence.jobId)
    return job?.at.in === 'leased' && same(job.at.fence, fence) ? { job, lease: job.at } : undefined
  }

  #log(job: Job, lease: Leased, ending: Ending, reason: string | null, error: Json = null): void {
    job.attempts.push({ ...anAttempt(lease.fence, ending, this.now), lease: { ...lease }, reason, error })
  }

  #end(
    job: Job,
    outcome: Outcome,
    reason: string | null,
    lease: Leased | null,
    item?: { resultText?: string; errorText?: string },
  ): string {
    const [result, error] = [parse(item?.resultText), parse(item?.errorText)]
    job.at = { in: 'finished', outcome, reason, endedAt: this.now, lease, result, error }
    return outcome
  }
}

function sayingOf(item: Fence & { resultText?: string; errorText?: string }): Json {
  return parse(item.resultText ?? item.errorText)
}

function fencedRow({ jobId, leaseId }: Fence, answer: string, lease: Leased | undefined): Row {
  return { jobId, leaseId, answer, cancelRequested: lease !== undefined && lease.cancelAt !== null }
}
