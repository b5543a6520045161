import { pino } from 'pino'
import type { Logger } from '../observe/log.js'
import { type Colour, type Paint, paintFor } from './colours.js'
import type { LogLevel } from './log-levels.js'
import { spanText } from './moments.js'
import { printable } from './printable.js'

/** Lines for people on a terminal; JSON for everything else that reads them. */
export function logOutput({ json, level }: { json: boolean; level: LogLevel }): Logger {
  const { stdout } = process
  const forPeople = stdout.isTTY && !json
  const paint = paintFor(stdout)
  return pino(
    {
      level,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    // Not pino’s own destination: a reader that has gone is known on `process.stdout`, and stops the worker.
    forPeople ? { write: (line: string) => stdout.write(`${logLine(line, paint)}\n`) } : stdout,
  )
}

interface Logged {
  readonly level: string
  readonly time: string
  readonly msg?: string
  readonly jobId?: string
  readonly task?: string
  readonly attempt?: number
  readonly durationMs?: number
  /** What was thrown: an error as pino writes it, or anything else. */
  readonly err?: unknown
}

const levelColours: Readonly<Record<string, Colour>> = { debug: 'dim', info: 'green', warn: 'yellow', error: 'red' }

/** `12:00:01.123 info  send-mail finished (attempt 1, 700ms) 0198c1a2-…`, and an error’s stack below. */
function logLine(json: string, paint: Paint): string {
  const { level, time, msg = '', jobId, task, attempt, durationMs, err } = JSON.parse(json) as Logged
  const details = [
    attempt !== undefined && `attempt ${attempt}`,
    durationMs !== undefined && spanText(durationMs),
  ].filter(Boolean)
  const words = [
    paint('dim', time.slice(11, 23)),
    paint(levelColours[level] ?? 'red', level.padEnd(5)),
    ...(task === undefined ? [] : [paint('bold', printable(task))]),
    printable(msg),
    ...(details.length === 0 ? [] : [paint('dim', `(${details.join(', ')})`)]),
    ...(jobId === undefined ? [] : [paint('dim', jobId)]),
  ]
  return [words.join(' '), ...errorLines(err).map((line) => paint('dim', `  ${printable(line)}`))].join('\n')
}

function errorLines(err: Logged['err']): string[] {
  if (err === undefined) return []
  const { stack } = (err ?? {}) as { stack?: unknown }
  return (typeof stack === 'string' ? stack : JSON.stringify(err)).split('\n')
}
