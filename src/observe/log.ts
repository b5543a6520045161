import type { Fencepost } from '../client/fencepost.js'
import { type EventName, eventNames, type FencepostEvents } from '../events.js'
import { RunningJobs } from './running-jobs.js'

/** A logger as pino has it: fields first, then the message. */
export interface Logger {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

interface Line {
  readonly level: keyof Logger
  readonly text: string
  /** The event ends an attempt: how long it took is worth knowing. */
  readonly ends?: boolean
}

/**
 * What each event is worth. `error`: somebody has to look, a job ended badly or an effect may have happened twice.
 * `warn`: the engine coped, but it cost something. `info`: what a person wants to read of a quiet day, a line per job.
 * `debug`: every move.
 */
const lines: { readonly [Name in EventName]: (event: FencepostEvents[Name]) => Line } = {
  enqueued: () => ({ level: 'debug', text: 'enqueued' }),
  claimed: () => ({ level: 'debug', text: 'claimed' }),
  finished: () => ({ level: 'info', text: 'finished', ends: true }),
  failed: ({ outcome }) => ({
    level: outcome ? 'error' : 'warn',
    text: outcome ? `failed for good: the job ended as ${outcome}` : 'failed, to be tried again',
    ends: true,
  }),
  parked: () => ({ level: 'info', text: 'parked', ends: true }),
  released: ({ reason }) => ({ level: 'info', text: `given back at no charge: ${reason}`, ends: true }),
  lost: ({ started, outcome }) => ({
    level: outcome ? 'error' : 'warn',
    text: `${started ? 'lost: its worker fell silent while it ran' : 'taken back: its worker fell silent before it started'}${outcome ? `; the job ended as ${outcome}` : ''}`,
  }),
  cancelled: () => ({ level: 'info', text: 'cancelled', ends: true }),
  discarded: () => ({ level: 'info', text: 'discarded: its gate was full' }),
  overrun: ({ key }) => ({ level: 'warn', text: `holds ${key} for too long: no longer counted` }),
  advanced: ({ state }) => ({
    level: state === 'failed' ? 'error' : state === 'succeeded' || state === 'cancelled' ? 'info' : 'debug',
    text: `run ${state}`,
  }),
  yielded: () => ({ level: 'debug', text: 'gave its slots back: paused' }),
  gate_disputed: ({ key, tasks, limits }) => ({
    level: 'warn',
    text: `tasks ${tasks.join(' and ')} declare limits ${limits.join(' and ')} for ${key}: ${Math.min(...limits)} holds`,
  }),
  cancel_requested: () => ({ level: 'info', text: 'cancel requested' }),
  retried: () => ({ level: 'info', text: 'retried by hand' }),
  promoted: ({ from }) => ({ level: 'debug', text: `due: ${from} no longer` }),
  // A success that nobody may use has had its effects; a failure after the end is mostly a handler that heard its signal.
  stale: ({ said }) => ({
    level: said === 'succeeded' ? 'warn' : 'info',
    text: `said ${said} too late: kept, without effect`,
    ends: true,
  }),
  duplicate_success: () => ({
    level: 'error',
    text: 'two attempts reported success: effects outside the database may have happened twice',
  }),
  error: ({ during }) => ({ level: 'error', text: `trouble during ${during}` }),
  worker_started: () => ({ level: 'info', text: 'worker started' }),
  worker_stopping: ({ running }) => ({ level: 'info', text: stoppingText(running) }),
  worker_stopped: (stopped) => ({ level: 'info', text: stoppedText(stopped) }),
  worker_lost: ({ now }) => ({ level: 'warn', text: `the worker slept past its leases and goes on as ${now}` }),
}

/**
 * Writes a line for every event, with what is known of its job, and without the secrets of the jobs that run; the answer
 * stops it.
 */
export function attachLogger(fp: Pick<Fencepost, 'on' | 'masked'>, logger: Logger): () => void {
  const running = new RunningJobs(fp)
  const stops = eventNames.map((name) =>
    fp.on(name, (event) => {
      const { level, text, ends = false } = (lines[name] as (event: FencepostEvents[EventName]) => Line)(event)
      const { error: _shownAsErr, ...told } = event as { error?: unknown; jobId?: string }
      // A worker may have claimed the job before the reply to its enqueue was read: that line is not of the attempt.
      const attempt = name === 'enqueued' ? {} : context(running, told.jobId, ends)
      const err = 'error' in event && { err: fp.masked(event.error) }
      logger[level]({ event: name, ...attempt, ...told, ...err }, text)
    }),
  )
  return () => {
    for (const stop of stops) stop()
    running.stop()
  }
}

function context(running: RunningJobs, jobId: string | undefined, ends: boolean): object {
  const attempt = jobId === undefined ? undefined : running.of(jobId)
  if (!attempt) return {}
  const { claimedAtMs, ...known } = attempt
  return ends ? { ...known, durationMs: Math.round(performance.now() - claimedAtMs) } : known
}

function stoppingText(running: number): string {
  return running === 0 ? 'worker stopping: nothing runs' : `worker stopping: ${running} running`
}

function stoppedText({ finished, released }: { finished: number; released: number }): string {
  return `worker stopped: ${finished} finished, ${released} given back at no charge`
}
