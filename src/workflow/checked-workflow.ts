import { FencepostError, shown } from '../errors.js'
import { isTask, isWorkflow } from './builder-data.js'
import { isCompiled } from './compile.js'
import type { Workflow } from './workflow.js'
import type { WorkflowFile } from './workflow-file.js'

/** What workflow() makes, or what a file was read to. */
export type Deployable<Parameters> = Workflow<Parameters> | WorkflowFile

/** What was given as a workflow, if it is one: what is deployed is not checked again. */
export function checkedWorkflow<Parameters>(
  workflow: Deployable<Parameters>,
): Pick<Workflow<Parameters>, 'definition'> & Partial<Workflow<Parameters>> {
  if (typeof workflow === 'object' && workflow !== null) {
    if ('problems' in workflow) throw new FencepostError('FP_WORKFLOW_INVALID', `\n${workflow.text}`)
    const { definition, tasks, workflows } = workflow as Partial<Workflow<Parameters>>
    if (isCompiled(definition) && isListOf(tasks, isTask) && isListOf(workflows, isWorkflow)) return workflow
  }
  const wanted = 'a workflow, as workflow() makes it or readWorkflowFile() reads it'
  throw new FencepostError('FP_OPTION_INVALID', `${wanted}, is expected, not ${shown(workflow)}`)
}

function isListOf(given: unknown, isOne: (each: unknown) => boolean): boolean {
  return given === undefined || (Array.isArray(given) && given.every(isOne))
}
