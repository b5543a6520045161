import { Command } from 'commander'
import { FencepostError } from '../errors.js'
import { checkedJobId } from '../job/job-id.js'
import { type Controlled, type RetryAnswer, retryEnded } from '../store/control.js'
import type { Database } from '../store/database.js'
import { readJob } from '../store/read.js'
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
      const { answers, reruns } = await withDatabase(options, async (db) => {
        const answered = await retryEnded(db, jobIds)
        return { answers: answered, reruns: await rerunsOf(db, answered) }
      })
      printAnswers(answers, (each) => explain(each, reruns), options)
      const final = answers.filter(({ answer }) => answer === 'succeeded').map(({ jobId }) => jobId)
      if (final.length > 0) throw new FencepostError('FP_JOB_FINAL', final.join(', '))
    })
}

/** What to do about items instead: whatever follows from one follows from its run. */
async function rerunsOf(
  db: Database,
  answers: readonly Controlled<RetryAnswer>[],
): Promise<ReadonlyMap<string, string>> {
  const reruns = new Map<string, string>()
  for (const { jobId } of answers.filter(({ answer }) => answer === 'item')) {
    const item = (await readJob(db, jobId))?.itemOf
    if (item) reruns.set(jobId, `fencepost workflow rerun ${item.runId} --from ${item.task}`)
  }
  return reruns
}

function explain({ jobId, answer }: Controlled<RetryAnswer>, reruns: ReadonlyMap<string, string>): string {
  return {
    retried: 'retried',
    unfinished: 'not retried: it has not ended',
    succeeded: 'not retried: it succeeded, which is final',
    item: `not retried: it is an item of a run, which is to be rerun: ${reruns.get(jobId)}`,
    missing: 'not found',
  }[answer]
}
