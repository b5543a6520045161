import { Command } from 'commander'
import { listWorkers, type WorkerJobView, type WorkerView } from '../store/read.js'
import { workerSilentMs as silentMs } from '../store/why-not-running.js'
import type { GlobalOptions } from './global-options.js'
import { spanText } from './moments.js'
import { withDatabase } from './server-session.js'
import { type Column, printTable } from './table.js'

export function workersCommand(): Command {
  return new Command('workers')
    .description('the workers, what each of them runs, and the leases of those that have gone')
    .action(async (_options: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>()
      const workers = await withDatabase(options, listWorkers)
      if (options.json) return console.log(JSON.stringify(workers))
      if (workers.length === 0) return console.log('No worker is there. Start one with: fencepost worker')
      printTable(workerColumns, workers)
      const held = workers.flatMap((worker) => worker.jobs.map((job) => ({ ...job, worker: worker.id })))
      if (held.length === 0) return
      console.log('')
      printTable(jobColumns, held)
      const more = workers.reduce((sum, { running, jobs }) => sum + running - jobs.length, 0)
      if (more > 0) console.log(`And ${more} more: fencepost jobs list --place leased`)
    })
}

const ago = (ms: number | null) => (ms === null ? '-' : `${spanText(ms)} ago`)

const workerColumns: readonly Column<WorkerView>[] = [
  { title: 'WORKER', text: ({ id }) => id },
  { title: 'HOST', text: ({ host }) => host ?? '-' },
  { title: 'PID', text: ({ pid }) => pid ?? '-', align: 'right' },
  { title: 'SINCE', text: ({ sinceMs }) => ago(sinceMs), align: 'right' },
  {
    title: 'SEEN',
    text: ({ seenMs }) => ago(seenMs),
    colour: ({ seenMs }) => (seenMs !== null && seenMs > silentMs ? 'red' : undefined),
    align: 'right',
  },
  { title: 'RUNNING', text: ({ running }) => running, align: 'right' },
  {
    title: 'STATE',
    text: stateOf,
    colour: (worker) =>
      ({ gone: 'red', stopping: 'yellow', silent: 'red', working: 'green' })[stateOf(worker)] as 'red',
  },
  { title: 'QUEUES', text: queuesText },
]

function stateOf({ registered, stoppingAt, seenMs }: WorkerView): 'gone' | 'stopping' | 'silent' | 'working' {
  if (!registered) return 'gone'
  if (seenMs !== null && seenMs > silentMs) return 'silent'
  return stoppingAt ? 'stopping' : 'working'
}

/** `mail (2), default (10)` */
function queuesText({ queues }: WorkerView): string {
  const texts = Object.entries(queues ?? {}).map(([queue, cap]) => (cap === null ? queue : `${queue} (${cap})`))
  return texts.join(', ') || '-'
}

type HeldJob = WorkerJobView & { readonly worker: string }

const jobColumns: readonly Column<HeldJob>[] = [
  { title: 'WORKER', text: ({ worker }) => worker },
  { title: 'JOB', text: ({ jobId }) => jobId },
  { title: 'TASK', text: ({ task }) => task },
  { title: 'QUEUE', text: ({ queue }) => queue },
  { title: 'ATTEMPT', text: ({ attempt }) => attempt, align: 'right' },
  {
    title: 'SINCE',
    text: ({ startedMs, claimedMs, expiresInMs }) => {
      const since = startedMs === null ? `claimed ${ago(claimedMs)}, not started` : `started ${ago(startedMs)}`
      return expiresInMs < 0 ? `${since}; its lease has run out` : since
    },
    colour: ({ startedMs, expiresInMs }) => (expiresInMs < 0 ? 'red' : startedMs === null ? 'dim' : undefined),
  },
]
