import { Command } from 'commander'
import { fencepost } from '../client/fencepost.js'
import { places } from '../job/places.js'
import { Database } from '../store/database.js'
import { listJobs, listQueues } from '../store/read.js'
import { demoQueue, demoTasks, runDemo } from './demo.js'
import { DevLines } from './dev-lines.js'
import { DevLive } from './dev-live.js'
import { MoveRecorder } from './dev-moves.js'
import type { DevView } from './dev-view.js'
import type { GlobalOptions } from './global-options.js'
import { type Server, withServer } from './server-session.js'
import { stopSignal } from './stop-signal.js'

const recalledMax = 1_000

export function devCommand(): Command {
  return new Command('dev')
    .description('start PostgreSQL, the schema, a worker and a demo workload; watch the jobs move until Ctrl-C')
    .action(async (_options: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>()
      const say = options.json ? () => {} : (text: string) => console.log(text)
      const stop = stopSignal()
      try {
        say('Starting PostgreSQL, the schema and a worker …')
        await withServer(options, (server) => dev(server, options, say, stop.signal))
      } finally {
        stop.dispose()
      }
    })
}

async function dev(
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
    const view: DevView = live ? new DevLive(db, serverText(server), recorder.tally) : new DevLines({ json })
    fp.on('error', ({ during, error }) => view.failed(during, error))
    await recallEarlierJobs(db, recorder)
    await fp.work(demoTasks, { concurrency: 4, poll: '400ms', grace: '3s' })
    say(`${serverText(server)}. Ctrl-C stops.`)
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

/** Without the user and the password, which a URL may hold. */
function serverText({ url, schema, embedded }: Server): string {
  const { hostname, port, pathname } = new URL(url)
  const where = embedded ? `embedded PostgreSQL on port ${port}` : `PostgreSQL ${hostname}:${port || 5432}${pathname}`
  return `${where}, schema ${schema}, queue ${demoQueue}`
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
  const alive = left ? left.delayed + left.ready + left.leased + left.parked : 0
  const ended = `${enqueued} enqueued, ${succeeded} succeeded, ${failed} failed, ${cancelled} cancelled`
  return `Stopped: ${ended}. ${alive === 0 ? 'Nothing is left.' : `${alive} wait for the next start.`}`
}
