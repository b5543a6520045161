import type { Json } from '../job/json.js'
import type { Definition, TaskDefinition } from './definition.js'
import { edgesInto, startTasks } from './graph.js'
import { compileExpression, type Expression, type ScopeName } from './expression.js'
import { SecretFlow } from './secret-flow.js'
import { compileTemplate, type Template } from './template.js'

/** A definition with its expressions compiled and its edges looked up: what an advance works with. */
export interface Plan {
  readonly definition: Definition
  readonly tasks: ReadonlyMap<string, TaskPlan>
  /** Those that no edge leads to. */
  readonly starts: readonly TaskPlan[]
  readonly vars: Template
  readonly output: Template
  /** Its parts, if it is an object: of a run that failed, some may be told. */
  readonly outputs: Readonly<Record<string, Template>>
  /** Where its secrets get to, with those among these parameters that it was given as an item. */
  secretFlow(inherited: readonly string[]): SecretFlow
}

export interface TaskPlan {
  readonly definition: TaskDefinition
  readonly name: string
  readonly input: Template
  readonly items: Template | null
  readonly concurrency: Expression | null
  readonly next: readonly {
    readonly when: Expression | null
    readonly publish: Template
    readonly do: readonly string[]
  }[]
  /** The tasks with an edge into this one. */
  readonly sources: readonly string[]
}

const everywhere = ['parameters', 'vars', 'tasks', 'run'] as const satisfies ScopeName[]

export function planOf(definition: Definition): Plan {
  const sources = edgesInto(definition)
  const starts = startTasks(definition)
  const flows = new Map<string, SecretFlow>()
  const tasks = definition.tasks.map((task): TaskPlan => {
    const { name, items } = task
    const ending: ScopeName[] = [...everywhere, 'error', 'ending']
    return {
      definition: task,
      name,
      input: compileTemplate(task.input, items ? [...everywhere, 'item', 'index'] : everywhere),
      items: items && compileTemplate(items.of, everywhere),
      concurrency: typeof items?.concurrency === 'string' ? compileExpression(items.concurrency, everywhere) : null,
      next: task.next.map((transition) => ({
        when: transition.when === null ? null : compileExpression(transition.when, ending),
        publish: compileTemplate(transition.publish, ending),
        do: transition.do,
      })),
      sources: sources.get(name) ?? [],
    }
  })
  return {
    definition,
    tasks: new Map(tasks.map((task) => [task.name, task])),
    starts: tasks.filter(({ name }) => starts.includes(name)),
    vars: compileTemplate(definition.vars, ['parameters', 'run']),
    output: compileTemplate(definition.output, everywhere),
    outputs: Object.fromEntries(
      Object.entries(isObject(definition.output) ? definition.output : {}).map(([name, part]) => [
        name,
        compileTemplate(part, everywhere),
      ]),
    ),
    secretFlow(inherited) {
      const key = JSON.stringify(inherited)
      const flow = flows.get(key) ?? new SecretFlow(definition, inherited)
      flows.set(key, flow)
      return flow
    },
  }
}

function isObject(value: Json): value is Record<string, Json> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
