import { Command, Option } from 'commander'
import { migrate, type SchemaStatus, schemaStatus } from '../store/migrator.js'
import type { GlobalOptions } from './global-options.js'
import { withServer } from './server-session.js'

interface MigrateCommandOptions extends GlobalOptions {
  readonly dryRun?: boolean
  readonly status?: boolean
}

export function migrateCommand(): Command {
  return new Command('migrate')
    .description('bring the schema up to date; safe from any number of processes at once')
    .addOption(new Option('--dry-run', 'say what would be done, and change nothing').conflicts('status'))
    .addOption(new Option('--status', 'say what is installed, and change nothing'))
    .action(async (_options: unknown, command: Command) => {
      const options = command.optsWithGlobals<MigrateCommandOptions>()
      await withServer(options, async ({ url, schema }) => {
        if (options.status) report(options, await schemaStatus({ url, schema }), statusText)
        else if (options.dryRun) report(options, await migrate({ url, schema, dryRun: true }), dryRunText)
        else reportMigrated(options, await migrate({ url, schema }))
      })
    })
}

function report(options: GlobalOptions, status: SchemaStatus, text: (status: SchemaStatus) => string): void {
  console.log(options.json ? JSON.stringify(statusJson(status)) : text(status))
}

/** The migrator answers what it found; this tells what holds now. */
function reportMigrated(options: GlobalOptions, before: SchemaStatus): void {
  if (!options.json) return console.log(migratedText(before))
  const version = Math.max(before.version, before.latest)
  const after = { ...before, version, pending: [], movesDiffer: false }
  console.log(JSON.stringify({ ...statusJson(after), applied: before.pending, movesReplaced: before.movesDiffer }))
}

function statusJson({ schema, version, latest, pending, movesDiffer }: SchemaStatus) {
  return { schema, version, latest, pending, movesDiffer, upToDate: isUpToDate({ pending, movesDiffer }) }
}

function isUpToDate({ pending, movesDiffer }: Pick<SchemaStatus, 'pending' | 'movesDiffer'>): boolean {
  return pending.length === 0 && !movesDiffer
}

function statusText(status: SchemaStatus): string {
  const { schema, version, latest, pending, movesDiffer } = status
  if (version === 0) return `Schema ${schema} is not installed. Run: fencepost migrate`
  const at = `Schema ${schema} is at version ${version}`
  if (version > latest) return `${at}; this fencepost knows version ${latest}.`
  if (isUpToDate(status)) return `${at}, up to date.`
  const missing = [...pending, ...(movesDiffer ? ['new functions for the moves'] : [])]
  return `${at} of ${latest}; missing: ${missing.join(', ')}. Run: fencepost migrate`
}

function dryRunText(status: SchemaStatus): string {
  if (isUpToDate(status)) return `Schema ${status.schema} is up to date; there is nothing to do.`
  const steps = status.pending.map((name) => `  apply ${name}`)
  if (status.movesDiffer) steps.push('  install the functions of the moves')
  return [`Schema ${status.schema} would be changed, in one transaction:`, ...steps].join('\n')
}

function migratedText(before: SchemaStatus): string {
  const { schema, latest, pending, movesDiffer } = before
  if (isUpToDate(before)) return `Schema ${schema} was up to date already.`
  const done = pending.map((name) => `applied ${name}`)
  if (movesDiffer) done.push('installed the functions of the moves')
  return `Schema ${schema} is now at version ${latest}: ${done.join(', ')}.`
}
