/**
 * A worker as people run one: a process of its own that works until SIGTERM, then stops and exits with 0; a second
 * SIGTERM ends it at once. It tells the test that forked it what happens, and is told which jobs to open.
 */
import { z } from 'zod'
import { eventNames } from '../../../src/events.js'
import { type AnyTask, type Duration, fencepost, type JobContext, task } from '../../../src/index.js'
import { makeHandlers } from './handlers.js'

export interface WorkerProcessOptions {
  readonly url: string
  readonly paymentUrl: string
  readonly concurrency?: number
  readonly grace?: Duration
}

/** `said`: an event's name, or ready, started, aborted, in commit, stopping, stopped. */
export interface Told {
  readonly said: string
  readonly jobId?: string
  readonly task?: string
  readonly attempt?: number
  readonly error?: string | undefined
  /** What stop() answered. */
  readonly report?: unknown
}

export interface Cue {
  readonly open: string
}

const { url, paymentUrl, ...options } = JSON.parse(process.argv[2] as string) as WorkerProcessOptions

const doors = new Map<string, { open: () => void; opened: Promise<void> }>()
process.on('message', (cue: Cue) => door(cue.open).open())
// Without its test a worker has nothing to do.
process.on('disconnect', () => process.exit(1))

const fp = await fencepost({ database: url, migrate: false })
for (const name of eventNames) {
  fp.on(name, (event) => void tell({ ...event, said: name, error: 'error' in event ? String(event.error) : undefined }))
}
const worker = await fp.work(makeTasks(), { poll: '100ms', ...options })
process.once('SIGTERM', () => void stop())
await tell({ said: 'ready' })

async function stop(): Promise<void> {
  await tell({ said: 'stopping' })
  const report: unknown = await worker.stop()
  await fp.close()
  await tell({ said: 'stopped', report })
  process.exit(0)
}

function makeTasks(): AnyTask[] {
  const say = (said: string, job: JobContext) => tell({ said, jobId: job.id, task: job.task, attempt: job.attempt })
  const handlers = makeHandlers({ paymentUrl, url, say, opened: (jobId) => door(jobId).opened })
  return Object.entries(handlers).map(([name, handler]) =>
    task(name, {
      input: z.any(),
      retry: { delay: 1 },
      async run(input, job) {
        job.signal.addEventListener('abort', () => void say('aborted', job))
        await say('started', job)
        return handler(input, job)
      },
    }),
  )
}

/** What a handler waits at; a job may be opened before its handler comes there. */
function door(jobId: string) {
  const known = doors.get(jobId)
  if (known) return known
  let open = () => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  const made = { open, opened }
  doors.set(jobId, made)
  return made
}

/** Returns when it is on its way to the test, so that nothing is lost with the process. */
function tell(told: Told): Promise<void> {
  return new Promise((resolve) => process.send?.(told, () => resolve()))
}
