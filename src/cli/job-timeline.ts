import type { Json } from '../job/json.js'
import type { Outcome, Place } from '../job/places.js'
import type { AttemptView, JobDetail } from '../store/read.js'
import { preciseMomentText } from './moments.js'

/** One thing that happened to a job. `place` is where the job was from then on, if this moved it. */
export interface TimelineEntry {
  readonly at: Date
  readonly place: Place | null
  readonly outcome: Outcome | null
  readonly what: string
}

/** What happened to a job, in the order of time; what a stale attempt said stands where it was said. */
export function timelineOf(job: JobDetail): TimelineEntry[] {
  const entries = [enqueued(job), ...attemptEntries(job), ...currentEntries(job)]
  return entries
    .map((entry, order) => ({ entry, order }))
    .sort((a, b) => a.entry.at.getTime() - b.entry.at.getTime() || a.order - b.order)
    .map(({ entry }) => entry)
}

/** The message of an error that a handler left behind. */
export function errorMessage(error: Json): string | undefined {
  if (error === null || typeof error !== 'object' || Array.isArray(error)) return undefined
  const { name, message } = error as { name?: Json; message?: Json }
  if (typeof message !== 'string') return undefined
  return typeof name === 'string' && name !== 'Error' ? `${name}: ${message}` : message
}

function enqueued({ createdAt, queue, notBefore, gates }: JobDetail): TimelineEntry {
  const what = `enqueued in ${queue}${notBefore ? `, not before ${preciseMomentText(notBefore)}` : ''}`
  // Whether a gate was full then is not kept.
  return { at: createdAt, place: notBefore ? 'delayed' : gates ? null : 'ready', outcome: null, what }
}

function attemptEntries(job: JobDetail): TimelineEntry[] {
  const byClaim = [...job.attempts].sort((a, b) => beginning(a) - beginning(b) || a.leaseId - b.leaseId)
  let tries = 0
  return byClaim.flatMap((attempt) => {
    // Rows without a claim are no tries: an outcome that no lease made and a retry undid, a word of an unknown lease.
    const isTry = attempt.claimedAt !== null || attempt.ending === 'succeeded'
    return isTry ? tryEntries(attempt, `attempt ${++tries}`, job) : otherEntries(attempt)
  })
}

function beginning({ claimedAt, startedAt, endedAt }: AttemptView): number {
  return (claimedAt ?? startedAt ?? endedAt).getTime()
}

function tryEntries(attempt: AttemptView, name: string, job: JobDetail): TimelineEntry[] {
  const { claimedAt, startedAt, endedAt, ending, worker, leaseId } = attempt
  const entries: TimelineEntry[] = []
  if (claimedAt) entries.push(moved(claimedAt, 'leased', `${name} claimed by ${worker} (lease ${leaseId})`))
  if (startedAt && claimedAt) entries.push(noted(startedAt, `${name} started`))
  else if (startedAt) entries.push(moved(startedAt, 'leased', `${name} started by ${worker}`))
  const ended = `${name} ${ending}${because(attempt.reason, errorMessage(attempt.error))}`
  const outcome = attempt.outcome ?? (endedJob(attempt, job) ? job.outcome : null)
  if (outcome) entries.push(finished(endedAt, outcome, `${ended}${outcomeSuffix(attempt, outcome, job)}`))
  else entries.push(moved(endedAt, placeAfter(attempt, job), ended))
  return [...entries, ...lateEntries(attempt, name), ...retryEntries(attempt)]
}

function otherEntries(attempt: AttemptView): TimelineEntry[] {
  const { endedAt, outcome, reason, error, leaseId } = attempt
  const ended = outcome ? [finished(endedAt, outcome, `${outcome}${because(reason, errorMessage(error))}`)] : []
  return [...ended, ...lateEntries(attempt, `a lease unknown here (${leaseId})`), ...retryEntries(attempt)]
}

function lateEntries({ lateAt, lateEnding, late }: AttemptView, name: string): TimelineEntry[] {
  if (!lateAt || !lateEnding) return []
  const said = errorMessage(late) ?? (late === null ? undefined : JSON.stringify(late))
  return [noted(lateAt, `${name} said ${lateEnding}${said ? ` (${said})` : ''} too late: kept here, without effect`)]
}

function retryEntries({ retriedAt, outcome }: AttemptView): TimelineEntry[] {
  return retriedAt ? [moved(retriedAt, 'ready', `retried: the outcome ${outcome} was undone`)] : []
}

/** Whether the outcome that the job has now is the end of this attempt. */
function endedJob({ endedAt, outcome }: AttemptView, job: JobDetail): boolean {
  return outcome === null && job.finishedAt?.getTime() === endedAt.getTime()
}

/** What the end of the attempt made of the job, where its own words do not tell. */
function outcomeSuffix(attempt: AttemptView, outcome: Outcome, job: JobDetail): string {
  const reason = endedJob(attempt, job) && job.reason !== attempt.reason ? job.reason : null
  return outcome === attempt.ending && reason === null ? '' : `; the job ${outcome}${because(reason)}`
}

/** A failure goes to `delayed`, or straight to `ready` without a delay: the log of attempts does not keep which. */
function placeAfter(attempt: AttemptView, job: JobDetail): Place | null {
  if (attempt.ending === 'lost' || attempt.ending === 'released') return 'ready'
  if (attempt.ending === 'parked') return 'parked'
  return attempt === job.attempts.at(-1) && job.place === 'delayed' ? 'delayed' : null
}

/** What the place of the job itself tells: the lease it has now, or its outcome. */
function currentEntries(job: JobDetail): TimelineEntry[] {
  const { claimedAt, startedAt, cancelRequestedAt, finishedAt, outcome, reason, worker, tries } = job
  const entries: TimelineEntry[] = []
  if (job.place === 'leased' && claimedAt) {
    const until = job.expiresAt ? `, until ${preciseMomentText(job.expiresAt)}` : ''
    entries.push(moved(claimedAt, 'leased', `attempt ${tries} claimed by ${worker}${until}`))
    if (startedAt) entries.push(noted(startedAt, `attempt ${tries} started`))
  }
  if (job.waitsAt && job.waitsSince) entries.push(moved(job.waitsSince, 'waiting', `waits at ${job.waitsAt}`))
  if (cancelRequestedAt) entries.push(noted(cancelRequestedAt, 'cancel requested'))
  if (finishedAt && outcome && !job.attempts.some((attempt) => endedJob(attempt, job))) {
    const ofLease = worker === null ? '' : `attempt ${tries} `
    if (ofLease && startedAt) entries.push(moved(startedAt, 'leased', `${ofLease}started by ${worker}`))
    entries.push(finished(finishedAt, outcome, `${ofLease}${outcome}${because(reason)}`))
  }
  return entries
}

function because(...reasons: readonly (string | null | undefined)[]): string {
  const given = reasons.filter((reason) => reason !== null && reason !== undefined)
  return given.length === 0 ? '' : `: ${given.join(': ')}`
}

function moved(at: Date, place: Place | null, what: string): TimelineEntry {
  return { at, place, outcome: null, what }
}

function noted(at: Date, what: string): TimelineEntry {
  return { at, place: null, outcome: null, what }
}

function finished(at: Date, outcome: Outcome, what: string): TimelineEntry {
  return { at, place: 'finished', outcome, what }
}
