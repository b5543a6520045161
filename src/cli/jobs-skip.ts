import { Command } from 'commander'
import { checkedJobId } from '../job/job-id.js'
import type { Controlled } from '../store/control.js'
import { type SkipAnswer, skip } from '../store/gates.js'
import type { GlobalOptions } from './global-options.js'
import { printAnswers } from './job-answers.js'
import { withDatabase } from './server-session.js'

export function jobsSkipCommand(): Command {
  return new Command('skip')
    .description('let the others pass a delayed or parked job that holds up its strict gate')
    .argument('<id...>', 'the ids of the jobs')
    .action(async (ids: string[], _options: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>()
      const jobIds = ids.map(checkedJobId)
      const answers = await withDatabase(options, async (db) => {
        const each: Controlled<SkipAnswer>[] = []
        for (const jobId of jobIds) each.push({ jobId, answer: await skip(db, jobId), outcome: null })
        return each
      })
      printAnswers(answers, explain, options)
    })
}

function explain({ answer }: Controlled<SkipAnswer>): string {
  return {
    skipped: 'skipped: the others pass; when it is due it waits at its gate again, ahead of them',
    not_held: 'not skipped: it holds no strict gate',
    running: 'not skipped: it runs; fencepost jobs cancel asks it to stop',
    ready: 'not skipped: it is ready to run',
    waiting: 'not skipped: it waits at a gate itself',
    finished: 'not skipped: it has ended',
    missing: 'not found',
  }[answer]
}
