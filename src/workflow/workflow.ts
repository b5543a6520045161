import type { Task } from '../task/task.js'
import type { Definition } from './definition.js'

/** A workflow that was checked. `Parameters` is what a run of it is started with. */
export interface Workflow<Parameters = unknown> {
  readonly definition: Definition
  /** The tasks that were given as actions, so that whoever runs the workflow can register them. */
  readonly tasks: readonly Task[]
  /** The workflows that were given as actions. */
  readonly workflows: readonly Workflow[]
  /** Never set: carries the type of the parameters. */
  readonly parametersType?: Parameters
}
