import type { StandardSchemaV1 } from '@standard-schema/spec'
import { Command } from 'commander'
import { newJob } from '../client/new-job.js'
import { defaults } from '../limits.js'
import type { Database } from '../store/database.js'
import { announceTasks, type EnqueueAnswer, enqueue, type NewJob } from '../store/enqueue.js'
import { listTasks } from '../store/read.js'
import type { Duration } from '../task/duration.js'
import { task } from '../task/task.js'
import type { GlobalOptions } from './global-options.js'
import { queueOfTask, requireKnownQueue, requireKnownTask } from './known-names.js'
import { duration, wholeNumber } from './option-values.js'
import { payloadFrom } from './payload-argument.js'
import { withDatabase } from './server-session.js'

interface EnqueueCommandOptions extends GlobalOptions {
  readonly queue?: string
  readonly priority?: number
  readonly delay?: Duration
  readonly id?: string
  readonly retryLimit?: number
  readonly losses?: number
  readonly lease?: Duration
  readonly newTask?: boolean
}

export function enqueueCommand(): Command {
  return new Command('enqueue')
    .description('enqueue one job')
    .argument('<task>', 'the name of the task')
    .argument('[payload]', 'its input as JSON, or - to read it from standard input (default: {})')
    .option('--queue <name>', 'the queue (default: the one that the task was announced with)')
    .option('--priority <number>', 'smaller runs first, from -100 to 100 (default: 0)', wholeNumber)
    .option('--delay <duration>', 'not before this much time has passed: 500ms, 30s, 5m, 2h, 3d', duration)
    .option('--id <uuid>', 'an id of your own: repeating the command with it changes nothing')
    .option('--retry-limit <number>', `how many failures are retried (default: ${defaults.retryLimit})`, wholeNumber)
    .option('--losses <number>', `how many dead workers are survived (default: ${defaults.lossesMax})`, wholeNumber)
    .option(
      '--lease <duration>',
      `how long a silent worker keeps the job (default: ${defaults.leaseMs / 1000}s)`,
      duration,
    )
    .option('--new-task', 'allow a task and a queue that no process has announced yet')
    .addHelpText(
      'after',
      '\nThe policies of a task live in its code: the limits given here are the ones this job gets.',
    )
    .action(async (name: string, payload: string | undefined, _options: unknown, command: Command) => {
      const options = command.optsWithGlobals<EnqueueCommandOptions>()
      // Before the database is asked for anything, so that bad input costs nothing.
      const job = await checkedJob(name, await payloadFrom(payload), options)
      const { queue, answer } = await withDatabase(options, (db) => enqueueKnown(db, job, options))
      if (options.json) console.log(JSON.stringify({ id: job.id, answer, task: job.task, queue }))
      else console.log(`${job.id} ${answer}`)
    })
}

async function enqueueKnown(
  db: Database,
  job: NewJob,
  options: EnqueueCommandOptions,
): Promise<{ queue: string; answer: EnqueueAnswer }> {
  const queue = await settledQueue(db, job.task, options)
  if (options.newTask) await announceTasks(db, [{ name: job.task, queue }])
  const answers = await enqueue(db, [{ ...job, queue }])
  return { queue, answer: answers.get(job.id) as EnqueueAnswer }
}

async function settledQueue(db: Database, name: string, { queue, newTask }: EnqueueCommandOptions): Promise<string> {
  const known = await listTasks(db)
  if (newTask) return queue ?? (known.some((each) => each.name === name) ? queueOfTask(name, known) : defaults.queue)
  const otherwise = 'Start a worker that knows it, or add --new-task if the name is right.'
  requireKnownTask(name, known, otherwise)
  if (queue === undefined) return queueOfTask(name, known)
  requireKnownQueue(queue, known, otherwise)
  return queue
}

/** The same checks as the client's, for a task whose code is elsewhere: its schema is checked when the job runs. */
function checkedJob(name: string, input: unknown, options: EnqueueCommandOptions): Promise<NewJob> {
  const { id, queue, priority, delay, retryLimit, losses, lease } = options
  const elsewhere = task(name, {
    input: anyJson,
    ...(queue !== undefined && { queue }),
    ...(priority !== undefined && { priority }),
    ...(retryLimit !== undefined && { retry: { limit: retryLimit } }),
    ...(losses !== undefined && { losses }),
    ...(lease !== undefined && { lease }),
    run: () => undefined,
  })
  const jobOptions = { ...(id !== undefined && { id }), ...(delay !== undefined && { delay }) }
  return newJob(elsewhere, input, jobOptions, defaults.payloadBytesMax)
}

const anyJson: StandardSchemaV1<unknown> = {
  '~standard': { version: 1, vendor: 'fencepost', validate: (value) => ({ value }) },
}
