import { Command } from 'commander'
import type { Workflow } from '../workflow/builder.js'
import type { GlobalOptions } from './global-options.js'
import { withWorkflows } from './workflow-session.js'
import { requireSource } from './workflow-source.js'

export function workflowDeployCommand(): Command {
  return new Command('deploy')
    .description('store definitions, so that runs can be started by their names; runs that are under way keep theirs')
    .argument('<file...>', 'YAML files, or modules that export workflows')
    .action(async (files: string[], _options: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>()
      // All of them, before the first is stored.
      const found: Workflow[] = []
      for (const file of files) found.push(...(await requireSource(file, options)))
      const deployed = await withWorkflows(options, async (workflows) => {
        const versions: { name: string; version: number }[] = []
        for (const each of found) versions.push({ name: each.definition.name, version: await workflows.deploy(each) })
        return versions
      })
      if (options.json) return console.log(JSON.stringify(deployed))
      for (const { name, version } of deployed) console.log(`${name} version ${version} deployed`)
    })
}
