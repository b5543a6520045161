import { Command, Option } from 'commander'
import { defaults } from '../limits.js'
import { type LogLevel, logLevels } from './log-levels.js'
import { duration, wholeNumber } from './option-values.js'

export function sqsCommand(): Command {
  return new Command('sqs')
    .description('speak Amazon SQS until SIGTERM or Ctrl-C: any AWS SDK can send, receive and delete')
    .argument('[config]', 'a config file; fencepost.config.{ts,mts,js,mjs} in the working directory if there is one')
    .option('--port <number>', `where to listen (default: ${defaults.sqsPort})`, wholeNumber)
    .option('--host <address>', `for whom: 0.0.0.0 for everyone (default: ${defaults.sqsHost})`)
    .option('--unsigned', 'let in requests that are not signed; only from this machine')
    .addOption(
      new Option('--send-dedup <what>', 'what to do with the ledger of sends (default: on)').choices([
        'off',
        'read',
        'on',
      ]),
    )
    .option('--poll <duration>', 'how often to look for messages for those who wait', duration)
    .option('--no-listen', 'poll only, without LISTEN: for a pooler that keeps no session')
    .option('--migrate', 'bring the schema up to date first')
    .addOption(
      new Option('--log-level <level>', 'what is worth a line').choices(logLevels).default('info' satisfies LogLevel),
    )
    .addHelpText(
      'after',
      '\nAccess keys come from `sqs.keys` of the config and from FENCEPOST_SQS_KEYS=id:secret,id:secret.\n' +
        'The first signal answers those who wait and lets requests end; the second ends at once.\n\n' +
        'Try it:  fencepost sqs --unsigned\n' +
        `         aws --endpoint-url http://localhost:${defaults.sqsPort} sqs create-queue --queue-name orders`,
    )
    .action(async (path: string | undefined, _options: unknown, command: Command) => {
      // Only now: the other commands need neither the loader of TypeScript nor the logger.
      const { runSqs } = await import('./sqs-run.js')
      await runSqs(path, command)
    })
}
