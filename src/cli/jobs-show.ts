import { Command } from 'commander'
import { FencepostError } from '../errors.js'
import { checkedJobId } from '../job/job-id.js'
import type { Json } from '../job/json.js'
import type { Database } from '../store/database.js'
import { type JobDetail, readJob } from '../store/read.js'
import { readSecrets } from '../store/run-secrets.js'
import { readRun } from '../store/runs.js'
import { type WhyNotRunning, whyNotRunning } from '../store/why-not-running.js'
import type { StoredGate } from '../task/gate.js'
import { outcomeColours, type Paint, paintFor, placeColours } from './colours.js'
import { counted } from './counted.js'
import type { GlobalOptions } from './global-options.js'
import { errorMessage, type TimelineEntry, timelineOf } from './job-timeline.js'
import { jsonLine } from './json-line.js'
import { preciseMomentText, spanText } from './moments.js'
import { printable } from './printable.js'
import { SecretMask } from '../job/secret-mask.js'
import { withDatabase } from './server-session.js'
import { type Column, printTable } from './table.js'
import { whyText } from './why-text.js'

export function jobsShowCommand(): Command {
  return new Command('show')
    .description('where a job is, and its history')
    .argument('<id>', 'the id of the job')
    .action(async (id: string, _options: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>()
      const jobId = checkedJobId(id)
      const { job, why } = await withDatabase(options, async (db) => {
        const found = await readJob(db, jobId)
        const reason = await whyNotRunning(db, jobId)
        if (!found || !reason) throw await unknownJob(db, jobId)
        return { job: await withoutSecrets(db, found), why: reason }
      })
      if (options.json) console.log(JSON.stringify({ ...job, why }))
      else show(job, why)
    })
}

/** The id may be that of a run. */
async function unknownJob(db: Database, id: string): Promise<FencepostError> {
  const run = await readRun(db, id)
  return new FencepostError(
    'FP_JOB_UNKNOWN',
    id,
    run ? { hint: `It is the id of a run: fencepost workflow show ${id}` } : {},
  )
}

/** Of an item, what it was given and what it says may hold secret parameters of its run. */
async function withoutSecrets(db: Database, job: JobDetail): Promise<JobDetail> {
  if (!job.itemOf) return job
  const mask = new SecretMask((await readSecrets(db, [job.itemOf.runId])).get(job.itemOf.runId) ?? [])
  return {
    ...job,
    payload: mask.json(job.payload),
    result: mask.json(job.result),
    error: mask.json(job.error),
    reason: mask.json(job.reason),
    attempts: job.attempts.map((attempt) => ({
      ...attempt,
      reason: mask.json(attempt.reason),
      error: mask.json(attempt.error),
      late: mask.json(attempt.late),
    })),
  }
}

function show(job: JobDetail, why: WhyNotRunning): void {
  const paint = paintFor(process.stdout)
  for (const [name, value] of properties(job, why, paint)) console.log(`${paint('dim', name.padEnd(9))} ${value}`)
  console.log('')
  printTable(historyColumns, withSpans(timelineOf(job)), { cutAtEdge: false })
}

function properties(job: JobDetail, why: WhyNotRunning, paint: Paint): [name: string, value: string][] {
  const counters = [
    counted(job.tries, 'try', 'tries'),
    counted(job.failures, 'failure'),
    counted(job.losses, 'loss', 'losses'),
    counted(job.releases, 'release'),
  ]
  const because = whyText(why)
  const lines: [string, string][] = [
    ['job', job.id],
    ['task', printable(job.task)],
    ...(job.itemOf === null ? [] : [['run', itemText(job.itemOf)] satisfies [string, string]]),
    ['queue', `${printable(job.queue)}, priority ${job.priority}`],
    ['place', placeText(job, paint)],
    ...(because === undefined ? [] : [['why not', because] satisfies [string, string]]),
    ...(job.gates === null
      ? []
      : [['gates', printable(job.gates.map(gateText).join(', '))] satisfies [string, string]]),
    ['counters', counters.join(', ')],
    ['payload', jsonLine(job.payload)],
  ]
  if (job.outcome === 'succeeded') lines.push(['result', jsonLine(job.result)])
  if (job.error !== null) lines.push(['error', errorText(job.error)])
  return lines
}

/** `0198…, item 3 of deploy` */
function itemText({ runId, task, ordinal, item }: NonNullable<JobDetail['itemOf']>): string {
  return `${runId}, item ${item} of ${printable(task)}${ordinal > 1 ? `#${ordinal}` : ''}`
}

/** `gate:api (2)` */
function gateText({ key, limit, local }: StoredGate): string {
  const numbers = [limit, local === undefined ? undefined : `${local} per process`].filter((each) => each !== undefined)
  return `${key} (${numbers.join(', ')})`
}

function placeText(job: JobDetail, paint: Paint): string {
  const { place, outcome, worker, waitName, waitsAt, reason, dueAt, cancelRequestedAt } = job
  const details = [
    outcome && paint(outcomeColours[outcome], outcome),
    place === 'leased' && worker && `by ${printable(worker)}`,
    waitsAt && `at ${printable(waitsAt)}`,
    waitName && `for the signal ${printable(waitName)}`,
    dueAt && `until ${preciseMomentText(dueAt)}`,
    cancelRequestedAt && 'cancel requested',
    reason && `(${printable(reason)})`,
  ]
  return [paint(placeColours[place], place), ...details.filter(Boolean)].join(' ')
}

/** The message, and below it where it was thrown, which is what one looks for next. */
function errorText(error: Json): string {
  const { stack } = error as { stack?: Json }
  const frames = typeof stack === 'string' ? stack.split('\n').filter((line) => /^\s+at /.test(line)) : []
  const message = printable(errorMessage(error) ?? JSON.stringify(error))
  return [message, ...frames.map((frame) => `${' '.repeat(12)}${printable(frame.trim())}`)].join('\n')
}

interface HistoryRow extends TimelineEntry {
  readonly sinceLast: string
}

function withSpans(entries: readonly TimelineEntry[]): HistoryRow[] {
  return entries.map((entry, i) => {
    const last = entries[i - 1]
    return { ...entry, sinceLast: last ? `+${spanText(entry.at.getTime() - last.at.getTime())}` : '' }
  })
}

const historyColumns: Column<HistoryRow>[] = [
  { title: 'TIME', text: ({ at }) => preciseMomentText(at) },
  { title: 'AFTER', text: ({ sinceLast }) => sinceLast, align: 'right' },
  {
    title: 'PLACE',
    text: ({ place }) => (place ? `→ ${place}` : ''),
    colour: ({ place, outcome }) => (outcome ? outcomeColours[outcome] : place ? placeColours[place] : undefined),
  },
  { title: 'WHAT HAPPENED', text: ({ what }) => what },
]
