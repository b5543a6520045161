import type { Json } from '../job/json.js'
import { asGiven, checkMoment, compileApproval } from './action-inputs.js'
import { type Field, listed, type Shape } from './field.js'

const waitShape: Shape = {
  what: 'wait_for',
  keys: ['signal', 'approval', 'run', 'time'],
  members: 'one of signal, approval, run or time',
  elsewhere: {
    duration: 'To wait for a while, write action: core.sleep with input: { for: 5m }.',
    delay: 'To wait for a while, write action: core.sleep with input: { for: 5m }, or delay: 5m on the task itself.',
    for: 'To wait for a while, write action: core.sleep with input: { for: 5m }.',
    until: 'time',
    timeout: 'timeout belongs to the task, beside wait_for.',
    event: 'signal',
    workflow: 'Name the run: run: "{{ … }}". To start a workflow and wait for it, write action: workflow.<name>.',
    task: 'A task runs when the tasks before it lead to it: name this task in their do.',
  },
}

const waitHint = 'Write one of signal: <name>, approval: { title: … }, run: "{{ … }}", time: "{{ … }}".'

/** `wait_for` becomes an action of ours, with what it waits for as its input. */
export function compileWait(wait: Field): { readonly action: string; readonly input: Json } {
  if (!wait.hasShape(waitShape, waitHint)) return { action: '', input: null }
  const given = waitShape.keys.filter((key) => wait.at(key).value !== undefined)
  if (given.length > 1) wait.addAtKey(`wait_for has ${listed(given)}; it waits for one thing`, waitHint)
  if (given.length === 0 && Object.keys(wait.value as object).length === 0) wait.addAtKey('wait_for is empty', waitHint)
  const kind = given[0]
  if (kind === undefined) return { action: '', input: null }
  const field = wait.at(kind)
  switch (kind) {
    case 'signal':
      return { action: 'wait.signal', input: { name: field.text('the name of the signal') ?? null } }
    case 'run':
      return {
        action: 'wait.run',
        input: { run: field.text('the id of a run', 'Such as "{{ tasks.start.result.id }}".') ?? null },
      }
    case 'time':
      checkMoment(field)
      return { action: 'wait.time', input: { at: asGiven(field) } }
    default:
      return { action: 'wait.approval', input: compileApproval(field) }
  }
}
