import type { Json } from '../job/json.js'
import type { Definition } from './definition.js'
import { isOver, MemoryRuns, type MemoryTaskRun } from './memory-runs.js'
import { type Act, RehearsedItems } from './rehearsed-items.js'
import type { RunState, Trouble } from './run.js'
import { VirtualClock } from './virtual-clock.js'

/** What a run meets on its way. */
export interface Scene {
  readonly parameters: Readonly<Record<string, Json>>
  readonly startMs: number
  readonly act: Act
  /** By task: one for each time that it asks. */
  readonly answers: ReadonlyMap<string, readonly Json[]>
  readonly signals: readonly { readonly name: string; readonly payload: Json; readonly afterMs: number }[]
  /** Those whose runs are played, too, and those of which only the parameters are checked; `act` is asked for the rest. */
  readonly played?: ReadonlyMap<string, Definition>
  readonly declared?: ReadonlyMap<string, Definition>
}

export interface Played {
  /** Not one of the last three if the run waits for what never comes. */
  readonly state: RunState
  readonly output: Json
  readonly vars: Readonly<Record<string, Json>>
  readonly error: Trouble | null
  /** In the order in which they began. */
  readonly taskRuns: readonly MemoryTaskRun[]
}

const runId = '00000000-0000-8000-8000-000000000000'

/** A run from its start to its end, in this process and in no time: the same for the same scene, always. */
export function playInMemory(definition: Definition, scene: Scene): Played {
  const { parameters, startMs, act, answers, signals, played, declared } = scene
  const clock = new VirtualClock(startMs)
  const outside = new RehearsedItems(clock, () => runs, act)
  const runs: MemoryRuns = new MemoryRuns({
    clock,
    outside,
    ...(played && { workflows: played }),
    ...(declared && { declared }),
  })
  runs.start(runId, definition, parameters, null)
  for (const { name, payload, afterMs } of signals) {
    clock.at(startMs + afterMs, () => runs.send(runId, 'signal', name, payload))
  }
  const answered = new Set<MemoryTaskRun>()
  const given = new Map<string, number>()
  const answerQuestions = () => {
    for (const asks of runs.view(runId).active) {
      if (asks.state !== 'waiting' || !answers.has(asks.task) || answered.has(asks)) continue
      answered.add(asks)
      const count = given.get(asks.task) ?? 0
      given.set(asks.task, count + 1)
      const answer = answers.get(asks.task)?.[count]
      if (answer !== undefined) clock.at(clock.nowMs, () => runs.send(runId, 'answer', asks.task, answer))
    }
  }
  do {
    runs.advance()
    answerQuestions()
  } while (!isOver(runs.view(runId).run) && clock.next())
  const { run, output, taskRuns } = runs.view(runId)
  return { state: run.state, output, vars: run.vars, error: run.error, taskRuns: [...taskRuns] }
}
