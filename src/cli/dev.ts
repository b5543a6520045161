import { Command } from 'commander'
import { fencepost } from '../client/fencepost.js'
import { FencepostError } from '../errors.js'
import { places } from '../job/places.js'
import { Database } from '../store/database.js'
import { listJobs, listQueues } from '../store/read.js'
import { demoQueue, demoTasks, runDemo } from './demo.js'
import { DevLines } from './dev-lines.js'
import { DevLive } from './dev-live.js'
import { MoveRecorder } from './dev-moves.js'
import type { DevView } from './dev-view.js'
import type { GlobalOptions } from './global-options.js'
import { type Server, serverText, withServer } from './server-session.js'
import { serveSqsForDev } from './sqs-dev.js'
import { stopSignal } from './stop-signal.js'
import { defaultPaths } from './worker-source.js'

const recalledMax = 1_000

interface DevOptions extends GlobalOptions {
  readonly demo?: boolean
}

export function devCommand(): Command {
  return new Command('dev')
    .description('run your tasks and reload them when they change; without any, a demo. PostgreSQL and schema included')
    .argument('[paths...]', 'what to run, as for `fencepost worker`')
    .option('--demo', 'the demo workload, whatever tasks there are: watch its jobs move')
    .action(async (paths: string[], _options: unknown, command: Command) => {
      const options = command.optsWithGlobals<DevOptions>()
      if (options.demo && paths.length > 0) throw new FencepostError('FP_USAGE', 'give paths or --demo, not both')
      const given = options.demo || paths.length > 0 ? paths : defaultPaths()
      const stop = stopSignal()
      try {
        if (given.length > 0) {
          const { devTasks } = await import('./dev-tasks.js') // it brings the logger, which few commands need
          await devTasks(given, command, stop.signal)
        } else await devDemo(options, stop.signal)
      } finally {
        stop.dispose()
      }
    })
}

async function devDemo(options: GlobalOptions, signal: AbortSignal): Promise<void> {
  const say = options.json ? () => {} : (text: string) => console.log(text)
  say('Starting PostgreSQL, the schema and a worker …')
  await withServer(options, (server) => demo(server, options, say, signal))
}

async function demo(
  server: Server,
  { json = false }: GlobalOptions,
  say: (text: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const { url, schema } = server
  const fp = await fencepost({ database: url, schema })
  const db = new Database({ url, schema, poolSize: 2, applicationName: 'fencepost dev' })
  try {
    const recorder: MoveRecorder = new MoveRecorder(fp, (move) => view.moved(move))
    const live = process.stdout.isTTY && process.env['TERM'] !== 'dumb' && !json
    const where = `${serverText(server)}, queue ${demoQueue}`
    const view: DevView = live ? new DevLive(db, where, recorder.tally) : new DevLines({ json })
    fp.on('error', ({ during, error }) => view.failed(during, error))
    await recallEarlierJobs(db, recorder)
    await serveSqsForDev(fp, undefined, { info: (_fields, text) => say(text), warn: (_fields, text) => say(text) })
    await fp.work(demoTasks, { concurrency: 4, poll: '400ms', grace: '3s' })
    say(`${where}. Ctrl-C stops.`)
    const listener = {
      willEnqueue: (id: string, delayed: boolean) => delayed && recorder.willBeDelayed(id),
      failed: (during: string, error: unknown) => view.failed(during, error),
    }
    await Promise.all([view.show(signal), runDemo(fp, listener, signal)])
    say('Stopping: running jobs have 3 s to end, then they are given back …')
    await fp.close()
    say(await summary(db, recorder))
  } finally {
    await fp.close()
    await db.close()
  }
}

/** What an earlier run left unfinished goes on in this one; its events do not name the task. */
async function recallEarlierJobs(db: Database, recorder: MoveRecorder): Promise<void> {
  for (const place of places) {
    if (place !== 'finished') recorder.know(await listJobs(db, { queue: demoQueue, place, limit: recalledMax }))
  }
}

async function summary(db: Database, { tally }: MoveRecorder): Promise<string> {
  const { enqueued, succeeded, failed, cancelled } = tally
  const left = (await listQueues(db)).find(({ queue }) => queue === demoQueue)
  const alive = left ? left.delayed + left.waiting + left.ready + left.leased + left.parked : 0
  const ended = `${enqueued} enqueued, ${succeeded} succeeded, ${failed} failed, ${cancelled} cancelled`
  return `Stopped: ${ended}. ${alive === 0 ? 'Nothing is left.' : `${alive} wait for the next start.`}`
}
