import { Command } from 'commander'
import { checkedJobId } from '../job/job-id.js'
import { type CancelAnswer, type Controlled, cancel } from '../store/control.js'
import { checkedName } from '../task/options.js'
import type { GlobalOptions } from './global-options.js'
import { printAnswers } from './job-answers.js'
import { withDatabase } from './server-session.js'

interface JobsCancelOptions extends GlobalOptions {
  readonly reason?: string
}

export function jobsCancelCommand(): Command {
  return new Command('cancel')
    .description('end jobs that do not run; ask the workers of those that do to stop')
    .argument('<id...>', 'the ids of the jobs')
    .option('--reason <text>', 'kept with the outcome of a job that was not running')
    .action(async (ids: string[], _options: unknown, command: Command) => {
      const options = command.optsWithGlobals<JobsCancelOptions>()
      const jobIds = ids.map(checkedJobId)
      const reason = options.reason === undefined ? null : checkedName(options.reason, '--reason')
      const answers = await withDatabase(options, (db) => cancel(db, jobIds, reason))
      printAnswers(answers, explain, options)
    })
}

function explain({ answer, outcome }: Controlled<CancelAnswer>): string {
  return {
    cancelled: 'cancelled',
    requested: 'is running: its worker has been asked to stop',
    finished: `not cancelled: it has ended already (${outcome})`,
    missing: 'not found',
  }[answer]
}
