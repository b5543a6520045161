import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot, packageVersion } from '../../src/package-root.js'
import type { Tortured } from './run.js'

const logPath = join(packageRoot, 'docs', 'internals', 'torture-runs.jsonl')
const docPath = join(packageRoot, 'docs', 'internals', 'reliability.md')
const [begin, end] = ['<!-- totals: npm run torture -- --totals -->\n', '<!-- end of totals -->']

/** One line of the log: a run, and what it came to. */
export interface LoggedRun extends Omit<Tortured, 'violations'> {
  readonly date: string
  readonly fencepost: string
  readonly node: string
  readonly violations: number
}

export function logRun({ violations, ...result }: Tortured): void {
  const line: LoggedRun = {
    date: new Date().toISOString(),
    fencepost: packageVersion,
    node: process.version,
    ...result,
    violations: violations.length,
  }
  appendFileSync(logPath, `${JSON.stringify(line)}\n`)
  writeTotals()
}

export function readLog(): LoggedRun[] {
  const lines = readFileSync(logPath, 'utf8').split('\n')
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as LoggedRun)
}

/** What is told of all runs together; the order of the table. */
const told: readonly [figure: string, what: string][] = [
  ['jobs', 'jobs that ended, items of runs and messages among them'],
  ['carried', 'jobs that the turn of a worker stored and claimed'],
  ['born', 'of them leased at once'],
  ['copied', 'jobs that came by COPY'],
  ['freshUnknown', 'enqueues under fresh ids of which the caller was told that nobody knows'],
  ['freshUnanswered', 'enqueues under fresh ids whose process was killed before the answer'],
  ['kills', 'workers killed (SIGKILL)'],
  ['zombies', 'workers stopped for longer than a lease, a handler running, and woken again or killed'],
  ['terms', 'workers told to stop (SIGTERM)'],
  ['cutCommits', 'commits cut off, before they reached the server or before their reply came'],
  ['heldCommits', 'commits, or their replies, held up for seconds'],
  ['cuts', 'times all connections of a process were cut'],
  ['stalled', 'times all connections of a process stood still'],
  ['backendsTerminated', 'sessions ended by the server'],
  ['crashes', 'crashes of the server (immediate shutdown, recovery)'],
  ['restarts', 'restarts of the server'],
  ['crowds', 'times the server had no connection left'],
  ['limits', 'limits of gates changed'],
  ['pauses', 'pauses of queues and gates'],
  ['failures', 'failures counted'],
  ['losses', 'losses counted'],
  ['releases', 'releases counted'],
  ['lateWords', 'words of workers that no longer had their lease'],
  ['runs', 'runs of workflows'],
  ['messages', 'messages sent by SQS'],
]

export function totalsTable(runs: readonly LoggedRun[]): string {
  const sum = (figure: string) => runs.reduce((total, { figures }) => total + (figures[figure] ?? 0), 0)
  const minutes = runs.reduce((total, run) => total + run.minutes, 0)
  const rows: [string, number][] = [
    ['runs of the program', runs.length],
    ['minutes', minutes],
    ...told.map(([figure, what]): [string, number] => [what, sum(figure)]),
    ['**violations**', runs.reduce((total, { violations }) => total + violations, 0)],
  ]
  const lines = rows.map(([what, count]) => `| ${what} | ${count.toLocaleString('en')} |`)
  return ['| what | how many |', '|---|---:|', ...lines, ''].join('\n')
}

/** The document as it is to be: the table is made from the log. */
export function documentWithTotals(text: string, runs: readonly LoggedRun[]): string {
  const from = text.indexOf(begin) + begin.length
  const until = text.indexOf(end)
  if (from < begin.length || until < from) throw new Error('reliability.md has no place for the totals')
  return `${text.slice(0, from)}\n${totalsTable(runs)}\n${text.slice(until)}`
}

export function readDocument(): string {
  return readFileSync(docPath, 'utf8')
}

export function writeTotals(): void {
  writeFileSync(docPath, documentWithTotals(readDocument(), readLog()))
}
