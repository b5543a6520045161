import { type Command, Option } from 'commander'
import { defaults } from '../limits.js'

/** The options that every command takes, before or after its name. */
export interface GlobalOptions {
  readonly database?: string
  readonly schema: string
  readonly json?: boolean
}

export function addGlobalOptions(program: Command): Command {
  return program
    .addOption(
      new Option(
        '--database <url>',
        'postgres://… (default: DATABASE_URL, otherwise an embedded server in .fencepost/)',
      ),
    )
    .addOption(new Option('--schema <name>', 'the schema that holds the tables').default(defaults.schema))
    .addOption(new Option('--json', 'print JSON for programs instead of text for people'))
}

/** A usage error is reported before the options are parsed, so the arguments themselves are asked. */
export function asksForJson(args: readonly string[]): boolean {
  const end = args.indexOf('--')
  return args.slice(0, end === -1 ? undefined : end).includes('--json')
}
