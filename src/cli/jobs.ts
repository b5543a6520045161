import { Command } from 'commander'
import { jobsCancelCommand } from './jobs-cancel.js'
import { jobsListCommand } from './jobs-list.js'
import { jobsRetryCommand } from './jobs-retry.js'
import { jobsShowCommand } from './jobs-show.js'
import { jobsSkipCommand } from './jobs-skip.js'

export function jobsCommand(): Command {
  return new Command('jobs')
    .description('list jobs, show one with its history, retry, cancel, skip')
    .addCommand(jobsListCommand(), { isDefault: true })
    .addCommand(jobsShowCommand())
    .addCommand(jobsRetryCommand())
    .addCommand(jobsCancelCommand())
    .addCommand(jobsSkipCommand())
}
