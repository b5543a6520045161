import { Command } from 'commander'
import { FencepostError } from '../errors.js'
import { counted } from './counted.js'
import type { GlobalOptions } from './global-options.js'
import { readSource, type WorkflowSource } from './workflow-source.js'

export function workflowValidateCommand(): Command {
  return new Command('validate')
    .description('check definitions, and show all that is wrong with them; needs no database')
    .argument('<file...>', 'YAML files, or modules that export workflows')
    .action(async (files: string[], _options: unknown, command: Command) => {
      const { json } = command.optsWithGlobals<GlobalOptions>()
      const sources: WorkflowSource[] = []
      for (const file of files) sources.push(await readSource(file))
      const wrong = sources.filter((source) => 'problems' in source)
      if (json) console.log(JSON.stringify(sources.map(told)))
      else for (const source of sources) print(source)
      if (wrong.length === 0) return
      const detail = `${counted(wrong.length, 'file')} of ${sources.length}`
      throw new FencepostError('FP_WORKFLOW_INVALID', detail, { hint: 'What is wrong is listed above, all of it.' })
    })
}

function print(source: WorkflowSource): void {
  if ('problems' in source) return console.error(`${source.text}\n`)
  for (const { definition } of source.workflows) {
    console.log(`${source.file}: ok, ${definition.name} has ${counted(definition.tasks.length, 'task')}`)
  }
}

function told(source: WorkflowSource) {
  if ('problems' in source) return { file: source.file, ok: false, problems: source.problems }
  const workflows = source.workflows.map(({ definition: { name, tasks } }) => ({ name, tasks: tasks.length }))
  return { file: source.file, ok: true, workflows }
}
