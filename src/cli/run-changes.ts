import type { RunDetail, TaskRunView } from '../store/runs.js'
import { spanText } from './moments.js'
import { stateText } from './run-states.js'
import { progressText } from './workflow-picture.js'

/** Something that was seen to happen in a run; `task` is null for the run itself. */
export interface RunChange {
  readonly at: Date
  readonly task: string | null
  readonly ordinal: number | null
  readonly what: string
  readonly note: string
}

/** Tells what is new each time it is shown a run. */
export class RunChanges {
  readonly #seen = new Map<string, TaskRunView>()
  #state: string | undefined

  /** In the order in which it happened. */
  next(run: RunDetail): RunChange[] {
    const changes = run.taskRuns.flatMap((taskRun) => this.#taskChanges(taskRun, run))
    if (run.state !== this.#state) {
      const note = run.error?.message ?? ''
      changes.push({
        at: run.endedAt ?? (this.#state === undefined ? run.createdAt : run.now),
        task: null,
        ordinal: null,
        what: run.state,
        note,
      })
    }
    this.#state = run.state
    return changes
      .map((change, order) => ({ change, order }))
      .sort((a, b) => a.change.at.getTime() - b.change.at.getTime() || a.order - b.order)
      .map(({ change }) => change)
  }

  #taskChanges(taskRun: TaskRunView, { now }: RunDetail): RunChange[] {
    const { task, ordinal, state, startedAt, endedAt, via } = taskRun
    const before = this.#seen.get(`${task}/${ordinal}`)
    this.#seen.set(`${task}/${ordinal}`, taskRun)
    const changes: RunChange[] = []
    const say = (at: Date, what: string, note: string) => changes.push({ at, task, ordinal, what, note })
    if (!before)
      say(startedAt, state === 'waiting' || state === 'delayed' ? state : 'began', via === null ? '' : `via ${via}`)
    else if (endedAt === null && state !== before.state) say(now, stateText(state), '')
    const progress = progressText(taskRun)
    if (endedAt !== null && before?.endedAt == null) {
      const notes = [spanText(endedAt.getTime() - startedAt.getTime()), progress, taskRun.error?.message ?? '']
      say(endedAt, stateText(state), notes.filter((note) => note !== '').join('  '))
    } else if (before && progress !== progressText(before)) say(now, progress, '')
    return changes
  }
}
