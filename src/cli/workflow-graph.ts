import { Command } from 'commander'
import type { Definition } from '../workflow/definition.js'
import { mermaid } from '../workflow/mermaid.js'
import { paintFor } from './colours.js'
import type { GlobalOptions } from './global-options.js'
import { printable } from './printable.js'
import { fitted } from './segments.js'
import { pictureOfDefinition } from './workflow-picture.js'
import { withWorkflows } from './workflow-session.js'
import { isFileName, requireOneWorkflow } from './workflow-source.js'

interface GraphOptions extends GlobalOptions {
  readonly mermaid?: boolean
}

export function workflowGraphCommand(): Command {
  return new Command('graph')
    .description('draw the tasks of a workflow and what leads to what')
    .argument('<workflow>', 'a file, which needs no database, or the name of a workflow that is deployed')
    .option('--mermaid', 'as text for Mermaid')
    .action(async (given: string, _options: unknown, command: Command) => {
      const options = command.optsWithGlobals<GraphOptions>()
      const definition = await definitionOf(given, options)
      if (options.json) return console.log(JSON.stringify(definition))
      if (options.mermaid) process.stdout.write(mermaid(definition))
      else draw(definition)
    })
}

async function definitionOf(given: string, options: GraphOptions): Promise<Definition> {
  if (isFileName(given)) return (await requireOneWorkflow(given, options)).definition
  return (await withWorkflows(options, (workflows) => workflows.newest(given))).definition
}

function draw(definition: Definition): void {
  const { stdout } = process
  const paint = paintFor(stdout)
  const { name, description } = definition
  console.log(paint('bold', name) + (description === null ? '' : paint('dim', `  ${printable(description)}`)))
  const columns = stdout.isTTY ? stdout.columns : Number.POSITIVE_INFINITY
  for (const { segments } of pictureOfDefinition(definition, columns))
    console.log(fitted(segments, columns, paint).trimEnd())
}
