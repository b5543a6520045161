import type { RunState, Status } from '../workflow/run.js'
import type { Colour } from './colours.js'

export type TaskState = 'delayed' | 'running' | 'waiting' | Status

/** How a state looks: as a sign and in a colour, so that neither is needed to tell it. */
export const taskSigns: Readonly<Record<TaskState, readonly [sign: string, colour: Colour]>> = {
  delayed: ['◇', 'blue'],
  running: ['●', 'cyan'],
  waiting: ['◆', 'magenta'],
  succeeded: ['✔', 'green'],
  failed: ['✘', 'red'],
  timed_out: ['✘', 'red'],
  cancelled: ['⊘', 'magenta'],
}

export const unreachedSign = ['○', 'dim'] as const

export const runColours: Readonly<Record<RunState, Colour>> = {
  running: 'cyan',
  paused: 'yellow',
  failing: 'red',
  cancelling: 'magenta',
  succeeded: 'green',
  failed: 'red',
  cancelled: 'magenta',
}

export function stateText(state: TaskState): string {
  return state === 'timed_out' ? 'timed out' : state
}
