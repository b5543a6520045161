import type { AnyTask } from '../../src/client/fencepost.js'
import type { Workflow } from '../../src/workflow/builder.js'
import { readWorkflowText } from '../../src/workflow/workflow-file.js'

/** A workflow from its YAML. */
export function workflowOf(text: string, tasks: readonly AnyTask[] = []): Workflow<Record<string, unknown>> {
  const read = readWorkflowText(text, 'test.yaml')
  if ('problems' in read) throw new Error(read.problems.map(({ message }) => message).join('\n'))
  return { definition: read.definition, tasks, workflows: [] }
}
