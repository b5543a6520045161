import { Command, Option } from 'commander'
import type { Workflows } from '../client/workflows.js'
import { FencepostError } from '../errors.js'
import type { Database } from '../store/database.js'
import { readSecrets } from '../store/run-secrets.js'
import type { RunView } from '../store/runs.js'
import { nearestName } from '../task/nearest-name.js'
import { checkedInteger } from '../task/options.js'
import { type RunState, runStates } from '../workflow/run.js'
import type { GlobalOptions } from './global-options.js'
import { momentText, spanText } from './moments.js'
import { wholeNumber } from './option-values.js'
import { runColours } from './run-states.js'
import { SecretMask } from '../job/secret-mask.js'
import { type Column, printTable } from './table.js'
import { withWorkflows } from './workflow-session.js'

const limitDefault = 50
const limitMax = 10_000

interface RunsOptions extends GlobalOptions {
  readonly workflow?: string
  readonly state?: RunState
  readonly limit: number
}

export function workflowRunsCommand(): Command {
  return new Command('runs')
    .description('runs, the newest first')
    .option('--workflow <name>', 'only those of this workflow')
    .addOption(new Option('--state <state>', 'only those in this state').choices(runStates))
    .option('--limit <number>', 'how many', wholeNumber, limitDefault)
    .action(async (_options: unknown, command: Command) => {
      const options = command.optsWithGlobals<RunsOptions>()
      checkedInteger(options.limit, '--limit', 1, limitMax)
      const runs = await withWorkflows(options, (workflows, db) => find(workflows, db, options))
      if (options.json) return console.log(JSON.stringify(runs))
      if (runs.length === 0) return console.log('No such runs.')
      printTable(columns, runs)
      if (runs.length === options.limit) console.log(`The newest ${runs.length}; --limit shows more.`)
    })
}

/** Errors may quote a secret parameter of their run. */
async function find(workflows: Workflows, db: Database, { workflow, state, limit }: RunsOptions): Promise<RunView[]> {
  const found = await workflows.runs({ ...(workflow !== undefined && { workflow }), ...(state && { state }), limit })
  if (found.length === 0 && workflow !== undefined) await requireKnown(workflows, workflow)
  const failed = found.filter(({ error }) => error !== null).map(({ id }) => id)
  const secrets = failed.length === 0 ? new Map<string, never>() : await readSecrets(db, failed)
  return found.map((run) => {
    const error = run.error && new SecretMask(secrets.get(run.id) ?? []).json(run.error as object as never)
    return { ...run, error }
  })
}

/** Nothing found: is it that there is nothing, or that the name is misspelt? */
async function requireKnown(workflows: Workflows, name: string): Promise<void> {
  const names = (await workflows.list()).map((each) => each.name)
  if (names.includes(name)) return
  const nearest = nearestName(name, names)
  throw new FencepostError(
    'FP_WORKFLOW_UNKNOWN',
    name,
    nearest === undefined ? {} : { hint: `Did you mean ${nearest}?` },
  )
}

const columns: readonly Column<RunView>[] = [
  { title: 'RUN', text: ({ id }) => id },
  { title: 'WORKFLOW', text: ({ workflow, version }) => `${workflow} v${version}` },
  { title: 'STATE', text: ({ state }) => state, colour: ({ state }) => runColours[state] },
  { title: 'BEGAN', text: ({ createdAt }) => momentText(createdAt) },
  {
    title: 'TOOK',
    text: ({ createdAt, endedAt }) => (endedAt ? spanText(endedAt.getTime() - createdAt.getTime()) : '-'),
    align: 'right',
  },
  { title: 'NOTE', text: ({ error, parentId }) => error?.message ?? (parentId ? `of run ${parentId}` : '') },
]
