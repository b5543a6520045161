import { Command, Option } from 'commander'
import { defaults } from '../limits.js'
import { durationText } from '../task/duration.js'
import { type LogLevel, logLevels } from './log-levels.js'
import { collected, duration, wholeNumber } from './option-values.js'

export function workerCommand(): Command {
  return new Command('worker')
    .description('run tasks until SIGTERM or Ctrl-C')
    .argument('[paths...]', 'a config file, or files and directories of task modules, TypeScript or JavaScript')
    .option(
      '--concurrency <number>',
      `how many handlers at the same time (default: ${defaults.concurrency})`,
      wholeNumber,
    )
    .option('--queue <name[=n]>', 'only tasks of this queue, at most n at a time; may be repeated', collected)
    .option(
      '--grace <duration>',
      `how long running jobs have to end after SIGTERM (default: ${durationText(defaults.shutdownGraceMs)})`,
      duration,
    )
    .option('--poll <duration>', `how often to look for work (default: ${durationText(defaults.pollMs)})`, duration)
    .option('--no-listen', 'poll only, without LISTEN: for a pooler that keeps no session')
    .option(
      '--metrics [port]',
      `serve /metrics and /healthz on a port, or host:port (default: ${defaults.metricsPort})`,
    )
    .option('--migrate', 'bring the schema up to date first')
    .addOption(new Option('--dev-sqs', 'speak SQS to this machine, too; for `fencepost dev`').hideHelp())
    .addOption(
      new Option('--log-level <level>', 'what is worth a line').choices(logLevels).default('info' satisfies LogLevel),
    )
    .addHelpText(
      'after',
      '\nWithout paths: fencepost.config.{ts,mts,js,mjs} in the working directory, otherwise tasks/.\n' +
        'The first signal lets running jobs end and gives back the rest; the second ends at once.\n' +
        'Lines for people on a terminal; JSON with --json and everywhere else.',
    )
    .action(async (paths: string[], _options: unknown, command: Command) => {
      // Only now: the other commands need neither the loader of TypeScript nor the logger.
      const { runWorker } = await import('./worker-run.js')
      await runWorker(paths, command)
    })
}
