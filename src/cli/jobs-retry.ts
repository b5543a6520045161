import { Command } from 'commander'
import { FencepostError } from '../errors.js'
import { checkedJobId } from '../job/job-id.js'
import { type Controlled, type RetryAnswer, retryEnded } from '../store/control.js'
import type { GlobalOptions } from './global-options.js'
import { printAnswers } from './job-answers.js'
import { withDatabase } from './server-session.js'

export function jobsRetryCommand(): Command {
  return new Command('retry')
    .description('run ended jobs again, with fresh budgets; a succeeded job is final')
    .argument('<id...>', 'the ids of the jobs')
    .action(async (ids: string[], _options: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>()
      const jobIds = ids.map(checkedJobId)
      const answers = await withDatabase(options, (db) => retryEnded(db, jobIds))
      printAnswers(answers, explain, options)
      const final = answers.filter(({ answer }) => answer === 'succeeded').map(({ jobId }) => jobId)
      if (final.length > 0) throw new FencepostError('FP_JOB_FINAL', final.join(', '))
    })
}

function explain({ answer }: Controlled<RetryAnswer>): string {
  return {
    retried: 'retried',
    unfinished: 'not retried: it has not ended',
    succeeded: 'not retried: it succeeded, which is final',
    missing: 'not found',
  }[answer]
}
