import { Command, Option } from 'commander'
import { FencepostError } from '../errors.js'
import { type Outcome, outcomes, type Place, places } from '../job/places.js'
import type { Database } from '../store/database.js'
import { type JobView, listJobs, listTasks } from '../store/read.js'
import { checkedInteger } from '../task/options.js'
import { outcomeColours, placeColours } from './colours.js'
import { counted } from './counted.js'
import type { GlobalOptions } from './global-options.js'
import { requireKnownQueue, requireKnownTask } from './known-names.js'
import { misspeltCommand } from './misspelt-command.js'
import { momentText } from './moments.js'
import { wholeNumber } from './option-values.js'
import { withDatabase } from './server-session.js'
import { type Column, printTable } from './table.js'

const limitDefault = 50
const limitMax = 10_000

interface JobsListOptions extends GlobalOptions {
  readonly place?: Place
  readonly outcome?: Outcome
  readonly task?: string
  readonly queue?: string
  readonly limit: number
}

export function jobsListCommand(): Command {
  return new Command('list')
    .description('the newest jobs first; `fencepost jobs` is short for this')
    .addOption(new Option('--place <place>', 'only jobs in this place').choices(places))
    .addOption(new Option('--outcome <outcome>', 'only jobs that ended like this').choices(outcomes))
    .option('--task <name>', 'only jobs of this task')
    .option('--queue <name>', 'only jobs of this queue')
    .option('--limit <number>', 'how many', wholeNumber, limitDefault)
    .allowExcessArguments(true)
    .action(async (_options: unknown, command: Command) => {
      if (command.args.length > 0) throw misspeltCommand(command.args[0] as string, command.parent as Command)
      await list(command.optsWithGlobals<JobsListOptions>())
    })
}

async function list(options: JobsListOptions): Promise<void> {
  checkedInteger(options.limit, '--limit', 1, limitMax)
  if (options.outcome && options.place && options.place !== 'finished') {
    throw new FencepostError('FP_OPTION_INVALID', `a job in ${options.place} has no outcome`, {
      hint: 'Leave out --place or --outcome: only finished jobs have one.',
    })
  }
  const jobs = await withDatabase(options, (db) => find(db, options))
  if (options.json) return console.log(JSON.stringify(jobs))
  if (jobs.length === 0) return console.log('No such jobs.')
  printTable(columns, jobs)
  if (jobs.length === options.limit) console.log(`The newest ${jobs.length}; --limit shows more.`)
}

async function find(db: Database, options: JobsListOptions): Promise<JobView[]> {
  const { place, outcome, task, queue, limit } = options
  const jobs = await listJobs(db, {
    ...(place !== undefined && { place }),
    ...(outcome !== undefined && { outcome }),
    ...(task !== undefined && { task }),
    ...(queue !== undefined && { queue }),
    limit,
  })
  if (jobs.length > 0 || (task === undefined && queue === undefined)) return jobs
  // Nothing found: is it that there is nothing, or that the name is misspelt?
  const known = await listTasks(db)
  if (task !== undefined) requireKnownTask(task, known)
  if (queue !== undefined) requireKnownQueue(queue, known)
  return jobs
}

const columns: Column<JobView>[] = [
  { title: 'ID', text: ({ id }) => id },
  { title: 'TASK', text: ({ task }) => task },
  { title: 'QUEUE', text: ({ queue }) => queue },
  { title: 'PLACE', text: ({ place }) => place, colour: ({ place }) => placeColours[place] },
  {
    title: 'OUTCOME',
    text: ({ outcome }) => outcome ?? '-',
    colour: ({ outcome }) => (outcome ? outcomeColours[outcome] : undefined),
  },
  { title: 'TRIES', text: ({ tries }) => tries, align: 'right' },
  { title: 'CREATED', text: ({ createdAt }) => momentText(createdAt) },
  { title: 'NOTE', text: (job) => notes[job.place](job) },
]

/** What one wants to know about a job in its place. */
const notes: Readonly<Record<Place, (job: JobView) => string>> = {
  delayed: ({ dueAt }) => (dueAt ? `until ${momentText(dueAt)}` : ''),
  waiting: ({ waitsAt }) => `at ${waitsAt}`,
  ready: ({ failures, losses }) =>
    failures + losses > 0 ? `after ${counted(failures, 'failure')}, ${counted(losses, 'loss', 'losses')}` : '',
  leased: ({ worker, cancelRequestedAt }) => `by ${worker}${cancelRequestedAt ? ', cancel requested' : ''}`,
  parked: ({ waitName, dueAt }) => `for signal ${waitName}${dueAt ? `, until ${momentText(dueAt)}` : ''}`,
  finished: ({ reason }) => reason ?? '',
}
