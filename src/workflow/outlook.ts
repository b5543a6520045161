import type { Json } from '../job/json.js'
import type { Active } from './active-task-run.js'
import type { Expression, Scope } from './expression.js'
import type { Progress, Run } from './run.js'
import { type Ended, Missing, type Situation } from './situation.js'
import type { Template } from './template.js'

/** What an expression or a template may look at. */
export type Uses = Pick<Expression & Template, 'taskNames' | 'usesAllTasks' | 'usesResult'>

/** What expressions see of a run: only what they name is looked up. */
export class Outlook {
  readonly #situation: Situation
  readonly #latest: Progress['latest']
  /** What task runs came to that ended in this decision. */
  readonly #ended = new Map<string, { readonly task: Active; readonly ended: Ended | undefined }>()

  constructor(situation: Situation, latest: Progress['latest']) {
    this.#situation = situation
    this.#latest = latest
  }

  get run(): Json {
    const { id, workflow, version }: Run = this.#situation.run
    return { id, workflow, version }
  }

  /** A task run has ended; undefined: what it came to is that of its items, looked up when needed. */
  note(task: Active, ended: Ended | undefined): void {
    this.#ended.set(`${task.task}/${task.ordinal}`, { task, ended })
  }

  scope({ taskNames, usesAllTasks }: Uses, vars: Readonly<Record<string, Json>>): Scope {
    const { run, plan } = this.#situation
    const tasks = Object.create(null) as Record<string, Json>
    for (const name of usesAllTasks ? plan.tasks.keys() : taskNames) {
      const latest = this.#latest[name]
      if (!latest) continue
      const { result, error, items } = this.resultOf(name, latest.ordinal)
      const all = items && { items: items as unknown as Json }
      tasks[name] = { status: latest.status, ordinal: latest.ordinal, result, error, ...all }
    }
    return { parameters: run.parameters, vars, tasks, run: this.run }
  }

  resultOf(task: string, ordinal: number): Ended {
    const noted = this.#ended.get(`${task}/${ordinal}`)
    const ended = noted?.ended ?? this.#situation.known.result(task, ordinal)
    if (!ended) throw new Missing({ task, ordinal })
    return noted ? { ...ended, error: noted.task.error as Json } : ended
  }
}
