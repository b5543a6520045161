import { Command } from 'commander'
import type { WorkflowView } from '../store/runs.js'
import type { GlobalOptions } from './global-options.js'
import { misspeltCommand } from './misspelt-command.js'
import { momentText } from './moments.js'
import { type Column, printTable } from './table.js'
import { withWorkflows } from './workflow-session.js'

export function workflowListCommand(): Command {
  return new Command('list')
    .description('the workflows that are deployed; `fencepost workflow` is short for this')
    .allowExcessArguments(true)
    .action(async (_options: unknown, command: Command) => {
      if (command.args.length > 0) throw misspeltCommand(command.args[0] as string, command.parent as Command)
      const options = command.optsWithGlobals<GlobalOptions>()
      const found = await withWorkflows(options, (workflows) => workflows.list())
      if (options.json) return console.log(JSON.stringify(found))
      if (found.length === 0) return console.log('No workflow is deployed: fencepost workflow deploy <file>')
      printTable(columns, found)
    })
}

const columns: readonly Column<WorkflowView>[] = [
  { title: 'WORKFLOW', text: ({ name }) => name },
  { title: 'VERSION', text: ({ version }) => version, align: 'right' },
  { title: 'DEPLOYED', text: ({ deployedAt }) => momentText(deployedAt) },
  { title: 'DESCRIPTION', text: ({ description }) => description ?? '' },
]
