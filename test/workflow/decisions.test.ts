import { describe, expect, it } from 'vitest'
import { limits } from '../../src/limits.js'
import type { Json } from '../../src/job/json.js'
import { decide } from '../../src/workflow/conductor.js'
import { type Known, Missing, type Situation } from '../../src/workflow/situation.js'
import { Joins } from '../../src/workflow/joins.js'
import { planOf } from '../../src/workflow/plan.js'
import type { Change, Letter, Run } from '../../src/workflow/run.js'
import { workflowOf } from '../harness/workflow-of.js'

const known: Known = { result: () => ({ result: null, error: null }), workflow: () => null }
const start: Letter = { ids: [1], kind: 'start' }

/** What follows for a run of this workflow from what it is told. */
function decision(
  text: string,
  { run = {}, ...more }: Partial<Omit<Situation, 'run'>> & { readonly run?: Partial<Run> } = {},
): Change {
  const { definition } = workflowOf(text)
  const given: Run = {
    id: '01890000-0000-7000-8000-000000000001',
    revision: 0,
    workflow: definition.name,
    version: 1,
    state: 'running',
    cancelMode: null,
    parameters: {},
    vars: {},
    progress: {},
    error: null,
    ...run,
  }
  return decide({ run: given, plan: planOf(definition), active: [], letters: [start], nowMs: 0, known, ...more })
}

function decided(text: string, parameters: Record<string, Json>, ...letters: Letter[]): Change {
  return decision(text, { run: { parameters }, letters: [start, ...letters] })
}

/** The same run, after a change of it was stored, when it is told more. */
function after(
  text: string,
  change: Change,
  letters: readonly Letter[],
  more: Parameters<typeof decision>[1] = {},
): Change {
  const { run = {}, ...rest } = more
  const active = [...change.begin, ...change.update]
    .filter(({ ended }) => !ended)
    .map(({ ended: _ended, items, ...task }) => ({
      ...task,
      slice: items?.slice(task.dispatched) ?? null,
      ending: null,
    }))
  const { state, vars = {}, progress, error } = change
  return decision(text, { active, letters, ...rest, run: { revision: 1, state, vars, progress, error, ...run } })
}

const ended = (
  task: string,
  ordinal = 1,
  item = 0,
  outcome: 'succeeded' | 'failed' | 'cancelled' = 'succeeded',
): Letter => ({
  ids: [100 + item],
  kind: 'item',
  task,
  ordinal,
  item,
  payload: { outcome, message: outcome === 'failed' ? 'no' : null },
})

it('makes each item of a long list once, whatever else ends in the same advance', () => {
  const { jobs } = decided(
    `
name: w
parameters: { list: array, none: object }
tasks:
  - { name: each, action: echo, with_items: "{{ parameters.list }}", input: "{{ item }}" }
  - name: bad
    action: echo
    input: "{{ parameters.none.missing.deep }}"
    next: [{ when: "{{ failed() }}", do: noop }]
`,
    { list: Array.from({ length: 12_000 }, (_, n) => n), none: {} },
  )
  const each = jobs.filter(({ task }) => task === 'each')
  for (const { from, inputs } of each) expect(inputs[0]).toBe(from)
})

it.each(['constructor', 'toString', '__proto__'])('a task may be called %s', (name) => {
  const { begin } = decided(
    `
name: w
tasks:
  - { name: ${name}, action: core.ask, input: { title: sure? } }
`,
    {},
  )
  expect(begin).toMatchObject([{ task: name, ordinal: 1, state: 'waiting', ended: false }])
})

it('a rerun undoes a counted join that one of its own edges had helped to meet', () => {
  const { definition } = workflowOf(`
name: w
tasks:
  - { name: root, action: echo, next: [{ do: [in1] }, { when: "{{ failed() }}", do: in2 }] }
  - { name: in1, action: echo, next: [{ do: meet }] }
  - { name: in2, action: echo, next: [{ do: meet }] }
  - { name: out, action: echo, next: [{ do: meet }] }
  - { name: meet, join: 2, action: echo }
`)
  const plan = planOf(definition)
  const meet = plan.tasks.get('meet')!
  const joins = new Joins(plan, {})
  expect(joins.arrive('in1', meet)).toBe(false)
  expect(joins.arrive('out', meet)).toBe(true)
  joins.forget('root')
  expect(joins.arrive('in1', meet)).toBe(true) // and again, as the first time
})

describe('a join that is forgotten', () => {
  const plan = planOf(
    workflowOf(`
name: w
tasks:
  - { name: root, action: echo, next: [{ do: in }] }
  - { name: in, action: echo, next: [{ do: meet }] }
  - { name: out, action: echo, next: [{ do: meet }] }
  - { name: other, action: echo, next: [{ do: meet }] }
  - { name: meet, join: 2, action: echo, next: [{ do: end }] }
  - { name: end, action: echo }
`).definition,
  )
  const meet = plan.tasks.get('meet')!
  const afterRerun = (name: string, before: readonly string[], later: readonly string[]) => {
    const joins = new Joins(plan, {})
    for (const source of before) joins.arrive(source, meet)
    joins.forget(name)
    return later.map((source) => joins.arrive(source, meet))
  }

  it('waits again for the edges that come again', () => {
    expect(afterRerun('root', ['in'], ['out', 'in'])).toEqual([false, true])
    expect(afterRerun('root', ['in', 'out'], ['in'])).toEqual([true])
  })

  it('stays met if edges from elsewhere alone have met it', () => {
    expect(afterRerun('root', ['out', 'other', 'in'], ['in'])).toEqual([false])
    expect(afterRerun('root', ['in', 'out', 'other'], ['in'])).toEqual([false])
  })

  it('is as it was if nothing of what is forgotten leads to it, or if it is what begins again', () => {
    expect(afterRerun('end', ['in', 'out'], ['other'])).toEqual([false])
    expect(afterRerun('meet', ['in', 'out'], ['other'])).toEqual([false])
    expect(afterRerun('meet', ['in'], ['out'])).toEqual([true])
  })
})

it('a join says of all its edges which did not fire', () => {
  const text = `
name: w
tasks:
  - { name: a, action: core.noop, next: [{ do: d }] }
  - { name: b, action: core.noop, next: [{ when: "{{ failed() }}", do: d }] }
  - { name: c, action: core.noop, next: [{ when: "{{ failed() }}", do: d }] }
  - { name: d, join: 2, action: core.noop }
`
  expect(decision(text).error?.message).toBe(
    'task d waits for 2 of 3 edges, and can no longer get them: b → d, c → d did not fire',
  )
})

it('a concurrency that no gate can have fails the task, not the run', () => {
  const { begin } = decided(
    `
name: w
parameters: { n: number }
tasks:
  - { name: each, action: echo, with_items: [1, 2], concurrency: "{{ parameters.n }}", input: 1, next: [{ when: "{{ failed() }}", do: noop }] }
`,
    { n: 3_000_000_000 },
  )
  expect(begin).toMatchObject([{ state: 'failed' }])
})

it('a time that the database cannot hold fails the task', () => {
  const { begin } = decided(
    `
name: w
parameters: { t: number }
tasks:
  - { name: nap, action: core.sleep, input: { until: "{{ parameters.t }}" }, next: [{ when: "{{ failed() }}", do: noop }] }
`,
    { t: 8.64e15 },
  )
  expect(begin).toMatchObject([{ state: 'failed' }])
})

it('what is no id of a run fails the task', () => {
  const { begin } = decided(
    `
name: w
parameters: { id: string }
tasks:
  - { name: other, wait_for: { run: "{{ parameters.id }}" }, next: [{ when: "{{ failed() }}", do: noop }] }
`,
    { id: '-'.repeat(36) },
  )
  expect(begin).toMatchObject([{ state: 'failed' }])
})

it('an answer that came too late for one question does not answer the next', () => {
  const { update, begin } = decided(
    `
name: w
tasks:
  - { name: ask, action: core.ask, input: { title: sure? }, next: [{ do: again }] }
  - { name: again, action: core.noop, next: [{ do: ask }] }
  - { name: first, action: core.noop, next: [{ do: ask }] }
`,
    {},
    { ids: [2], kind: 'answer', task: 'ask', ordinal: 1, payload: { id: 'a', said: { yes: true } } },
    { ids: [3], kind: 'answer', task: 'ask', ordinal: 1, payload: { id: 'b', said: { yes: true } } }, // a second click, or a repeat after a lost reply
  )
  expect(update).toEqual([])
  // The cycle asks a second time, and that question is for a person.
  expect(begin.filter(({ task }) => task === 'ask').map((asked) => asked.ended)).toEqual([true, false])
})

const two = `
name: w
tasks:
  - { name: a, action: echo, next: [{ do: c }] }
  - { name: b, action: echo, next: [{ do: c }] }
  - { name: c, join: all, action: echo }
`
const states = ({ begin, update }: Change) =>
  [...update, ...begin].map(({ task, ordinal, state }) => `${task}#${ordinal} ${state}`)

describe('a run that is told something', () => {
  it('says what it has read, and of which revision it decides', () => {
    const change = decision(two)
    expect(change).toMatchObject({ revision: 0, read: [1], state: 'running', more: false, output: null, error: null })
    expect(change.jobs.map(({ task, from, inputs }) => [task, from, inputs])).toEqual([
      ['a', 0, [null]],
      ['b', 0, [null]],
    ])
    const next = after(two, change, [ended('a'), { ...ended('b'), ids: [7, 8] }])
    expect(next).toMatchObject({ revision: 1, read: [100, 7, 8] })
    expect(states(next)).toEqual(['a#1 succeeded', 'b#1 succeeded', 'c#1 running'])
  })

  it('does not hear of an item whose task run has ended, nor of one that it does not have', () => {
    const first = after(two, decision(two), [ended('a')])
    expect(states(first)).toEqual(['a#1 succeeded', 'b#1 running'])
    expect(first.update[0]).toMatchObject({ succeeded: 1, ended: true })
    const change = after(two, first, [ended('a'), ended('b', 2), ended('nobody'), ended('c')])
    expect(states(change)).toEqual(['b#1 running'])
    expect(change.update[0]).toMatchObject({ succeeded: 0, failed: 0, ended: false })
  })

  it('counts items that succeeded together by their letters', () => {
    const list = 'name: w\ntasks: [{ name: each, action: echo, with_items: [1, 2, 3], input: "{{ item }}" }]'
    const begun = decision(list)
    expect(begun.begin[0]).toMatchObject({ total: 3, dispatched: 3, items: [1, 2, 3] })
    expect(begun.jobs).toMatchObject([
      { from: 0, inputs: [1, 2, 3], concurrency: null, policy: null, failuresMax: null },
    ])
    const some = after(list, begun, [{ ...ended('each'), ids: [5, 6] }])
    expect(some.update[0]).toMatchObject({ succeeded: 2, ended: false })
    expect(after(list, some, [ended('each', 1, 2)])).toMatchObject({ state: 'succeeded', update: [{ succeeded: 3 }] })
  })

  it('asks for what a decision needs to know', () => {
    const needy =
      'name: w\ntasks: [{ name: a, action: echo, next: [{ do: b }] }, { name: b, action: core.echo, input: "{{ tasks.a.result }}" }]'
    const unknown: Known = { result: () => undefined, workflow: () => undefined }
    const asked = (work: () => unknown) => {
      try {
        work()
      } catch (error) {
        return error instanceof Missing ? error.what : error
      }
      return undefined
    }
    // A job's result is that of its item, which the letter does not hold: it was given with the task run, or is looked up.
    expect(asked(() => after(needy, decision(needy), [ended('a')], { known: unknown }))).toBeUndefined()
    const ofList =
      'name: w\ntasks: [{ name: a, action: echo, with_items: [1], next: [{ do: b }] }, { name: b, action: core.echo, input: "{{ tasks.a.result }}" }]'
    expect(asked(() => after(ofList, decision(ofList), [ended('a')], { known: unknown }))).toEqual({
      task: 'a',
      ordinal: 1,
    })
    const sub = 'name: w\ntasks: [{ name: a, action: workflow.other }]'
    expect(asked(() => decision(sub, { known: unknown }))).toEqual({ workflow: 'other' })
    expect(decision(sub)).toMatchObject({
      state: 'failed',
      error: { code: 'FP_WORKFLOW_PARAMETERS', message: 'task a failed: there is no workflow other' },
    })
    const output = 'name: w\ntasks: [{ name: a, action: echo, with_items: [1] }]\noutput: { x: "{{ tasks.a.result }}" }'
    expect(asked(() => after(output, decision(output), [ended('a')], { known: unknown }))).toEqual({
      task: 'a',
      ordinal: 1,
    })
    expect(asked(() => after(output, decision(output), [ended('a', 1, 0, 'failed')], { known: unknown }))).toEqual({
      task: 'a',
      ordinal: 1,
    })
  })

  it('tells what is wrong with an item by what is known of it', () => {
    const one = 'name: w\ntasks: [{ name: a, action: echo }]'
    const told = (payload: object) =>
      after(one, decision(one), [{ ...ended('a', 1, 0, 'failed'), payload } as Letter]).update[0]?.error
    expect(told({ outcome: 'failed', message: 'no', code: 7 })).toEqual({ message: 'no', code: '7' })
    expect(told({ outcome: 'expired' })).toEqual({ message: 'expired', code: 'expired' })
    expect(told({ outcome: 'discarded', reason: 'full' })).toEqual({ message: 'full', code: 'full' })
    expect(told({ outcome: 'cancelled' })).toEqual({ code: 'FP_CANCELLED', message: 'it was cancelled' })
  })

  it('keeps what the error of its only item says beside the message, but no copy of its result', () => {
    const one = 'name: w\ntasks: [{ name: a, action: echo }]\noutput: "{{ tasks.a.result }}"'
    const [task] = decision(one).begin
    const active = (ending: { result: Json; error: Json }) => [{ ...task!, slice: null, ending }]
    const letters = [ended('a', 1, 0, 'failed')]
    const failed = decision(one, { letters, active: active({ result: null, error: { message: 'no', host: 'h' } }) })
    expect(failed.update[0]?.error).toEqual({ message: 'no', code: 'failed', host: 'h' })
    const succeeded = decision(one, { letters: [ended('a')], active: active({ result: 'much', error: null }) })
    expect(succeeded).toMatchObject({ output: 'much', update: [{ state: 'succeeded', result: null }] })
  })

  it('begins at once what follows from a task whose input cannot be made', () => {
    const text = `
name: w
parameters: { none: object }
tasks:
  - { name: bad, action: echo, input: "{{ parameters.none.missing.deep }}", next: [{ when: "{{ failed() }}", do: fix }] }
  - { name: sleep, action: core.sleep, input: { for: "{{ parameters.none.missing.deep }}" }, next: [{ when: "{{ failed() }}", do: fix }] }
  - { name: fix, action: echo }
`
    const change = decided(text, { none: {} })
    expect(states(change)).toEqual(['bad#1 failed', 'sleep#1 failed', 'fix#1 running', 'fix#2 running'])
    expect(change.jobs.map(({ task, ordinal }) => `${task}#${ordinal}`)).toEqual(['fix#1', 'fix#2'])
    expect(change.begin[1]?.error).toMatchObject({
      code: 'FP_EXPRESSION',
      message: expect.stringMatching(/^task sleep: /),
    })
  })

  it('begins a task with a join again if it says so itself, whatever has come to the join', () => {
    const text = `
name: w
tasks:
  - { name: a, action: echo, next: [{ do: meet }] }
  - { name: b, action: echo, next: [{ do: meet }] }
  - { name: meet, join: all, action: echo, next: [{ when: "{{ failed() }}", do: retry }] }
`
    const met = after(text, decision(text), [ended('a'), ended('b')])
    expect(states(after(text, met, [ended('meet', 1, 0, 'failed')]))).toEqual(['meet#1 failed', 'meet#2 running'])
  })

  it('lets a list begin no more items when one has failed, and lets those end that run', () => {
    const list = 'name: w\ntasks: [{ name: each, action: echo, with_items: [1, 2, 3], concurrency: 2 }]'
    const change = after(list, decision(list), [ended('each', 1, 1, 'failed')])
    expect(change.update).toMatchObject([{ stop: 'unstarted', failed: 1, ended: false }])
  })
})

describe('a run that is cancelled', () => {
  const waiting = `
name: w
tasks:
  - { name: a, action: echo }
  - { name: list, action: echo, with_items: [1, 2] }
  - { name: w, wait_for: { signal: go } }
  - { name: late, action: core.noop, delay: 1h }
`
  it.each([
    ['cancel_running', 'all'],
    ['allow_finish', 'unstarted'],
  ] as const)('by %s stops %s of its items, and what waits at once', (cancelMode, stop) => {
    const change = after(waiting, decision(waiting), [], {
      run: { state: 'cancelling', cancelMode },
    })
    expect(change.state).toBe('cancelling')
    expect(states(change)).toEqual(['a#1 running', 'list#1 running', 'w#1 cancelled', 'late#1 cancelled'])
    expect(change.update.map((task) => task.stop)).toEqual([stop, stop, stop, stop])
    const end = after(waiting, change, [
      ended('a', 1, 0, 'cancelled'),
      ended('list', 1, 0, 'cancelled'),
      ended('list', 1, 1),
    ])
    expect(end.state).toBe('cancelled')
    expect(states(end)).toEqual(['a#1 cancelled', 'list#1 cancelled'])
    expect(end.progress.cutOff.map(({ task }) => task)).toEqual(['w', 'late', 'a', 'list'])
  })

  it('before it began does not begin', () => {
    expect(decision(two, { run: { state: 'cancelling' } })).toMatchObject({ state: 'cancelled', begin: [], timers: [] })
  })

  it('and has ended stays as it is', () => {
    for (const state of ['succeeded', 'failed', 'cancelled'] as const) {
      const change = decision(`${two}output: 5`, { run: { state }, letters: [] })
      expect(change).toMatchObject({ state, output: null, begin: [] })
    }
  })
})

describe('a run that is taken up again', () => {
  const chain = `
name: w
timeout: 1h
tasks:
  - { name: a, action: echo, next: [{ do: [b, x] }] }
  - { name: b, action: echo, next: [{ when: "{{ succeeded() }}", do: c }] }
  - { name: x, action: echo, next: [{ do: c }] }
  - { name: c, join: all, action: echo }
`
  const failed = () => {
    const begun = after(chain, decision(chain), [ended('a')])
    const stopped = after(chain, begun, [ended('b', 1, 0, 'failed')])
    expect(stopped).toMatchObject({ state: 'failing', error: { message: 'task b failed: no', task: 'b' } })
    return after(chain, stopped, [ended('x')])
  }
  const rerun = (task: string, reopened = false): Letter => ({
    ids: [9],
    kind: 'rerun',
    task,
    ordinal: 1,
    payload: reopened,
  })

  it('begins with the task that is named, and goes on with what was cut off', () => {
    const change = failed()
    expect(change.state).toBe('failed')
    expect(change.progress.cutOff).toEqual([{ task: 'x', ordinal: 1, status: 'succeeded' }])
    const again = after(chain, change, [rerun('b')], { run: { state: 'running', error: null } })
    expect(states(again)).toEqual(['b#2 running'])
    expect(again.progress.cutOff).toEqual([])
    expect(again.timers).toEqual([{ task: null, ordinal: null, kind: 'deadline', ms: 3_600_000 }])
    const end = after(chain, again, [ended('b', 2)])
    expect(states(end)).toEqual(['b#2 succeeded', 'c#1 running'])
  })

  it('forgets what followed from it', () => {
    const again = after(chain, failed(), [rerun('a')], { run: { state: 'running', error: null } })
    expect(states(again)).toEqual(['a#2 running'])
    const both = after(chain, again, [ended('a', 2)])
    expect(states(both)).toEqual(['a#2 succeeded', 'b#2 running', 'x#2 running'])
    expect(states(after(chain, both, [ended('b', 2)]))).toEqual(['b#2 succeeded', 'x#2 running'])
  })

  it('begins nothing if it has stopped meanwhile, or if there is no such task', () => {
    expect(after(chain, failed(), [rerun('b')], { run: { state: 'cancelling' } }).begin).toEqual([])
    expect(after(chain, failed(), [rerun('nobody')], { run: { state: 'running' } }).begin).toEqual([])
  })

  it('begins again what was stopped beside it, but not what comes later', () => {
    const text = `
name: w
tasks:
  - { name: a, action: echo }
  - { name: w, wait_for: { signal: go }, next: [{ do: z }] }
  - { name: z, action: echo }
`
    const change = after(text, decision(text), [ended('a', 1, 0, 'failed')])
    expect(change.progress.cutOff).toEqual([{ task: 'w', ordinal: 1, status: 'cancelled' }])
    const again = after(text, change, [rerun('a')], { run: { state: 'running', error: null } })
    expect(states(again)).toEqual(['a#2 running', 'w#2 waiting'])
  })

  it('does not begin a list anew that is opened again', () => {
    const list = 'name: w\ntasks: [{ name: subs, action: workflow.inner, with_items: [1, 2], timeout: 1m }]'
    const inner: Known = {
      ...known,
      workflow: () => ({ version: 3, needs: ['k'], check: () => ({ parameters: { n: 1 } }) }),
    }
    const begun = decision(list, { known: inner })
    expect(begun.timers).toEqual([{ task: 'subs', ordinal: 1, kind: 'timeout', ms: 60_000 }])
    expect(begun.runs).toMatchObject([
      { task: 'subs', item: 0, workflow: 'inner', version: 3, needs: ['k'], parameters: { n: 1 } },
      { task: 'subs', item: 1, progress: { callers: ['w'], secrets: [] } },
    ])
    const again = after(list, begun, [rerun('subs', true)], { known: inner })
    expect(states(again)).toEqual(['subs#1 running'])
    expect(again.timers).toEqual(begun.timers)
  })

  it('times a list once that begins beside it', () => {
    const text = `
name: w
tasks:
  - { name: a, action: echo }
  - { name: go, wait_for: { signal: go }, next: [{ do: subs }] }
  - { name: subs, action: workflow.inner, with_items: [1], timeout: 1m }
`
    const inner: Known = { ...known, workflow: () => ({ version: 1, needs: [], check: () => ({ parameters: {} }) }) }
    const signal: Letter = { ids: [8], kind: 'signal', task: 'go', payload: { id: 's', said: null } }
    const change = after(text, decision(text), [signal, rerun('a')], { known: inner })
    expect(states(change)).toEqual(['a#1 running', 'go#1 succeeded', 'subs#1 running', 'a#2 running'])
    expect(change.timers).toEqual([{ task: 'subs', ordinal: 1, kind: 'timeout', ms: 60_000 }])
  })
})

describe('limits of one decision', () => {
  it('a run that cannot be stored fails, without the output that may be why', () => {
    const fault = { code: 'X', message: 'too large' }
    const change = decision('name: w\ntasks: [{ name: a, action: core.noop }]\noutput: 1', { fault })
    expect(change).toMatchObject({ state: 'failed', error: fault, output: null, begin: [] })
  })

  it('a cycle that never ends is ended', () => {
    const text =
      'name: w\ntasks: [{ name: s, action: core.noop, next: [{ do: a }] }, { name: a, action: core.noop, next: [{ do: b }] }, { name: b, action: core.noop, next: [{ do: a }] }]'
    const begun = (n: number) => decision(text, { run: { progress: { ordinals: { a: n, b: 1 } } } })
    expect(begun(limits.activationsMax - 3).begin.map(({ task }) => task)).toEqual(['s', 'a'])
    expect(begun(limits.activationsMax - 3)).toMatchObject({
      state: 'failed',
      error: {
        code: 'FP_RUN_TOO_LONG',
        message: `the run has begun more than ${limits.activationsMax} tasks: is there a cycle that never ends?`,
      },
    })
  })

  it('begins two hundred tasks, and the others with the next', () => {
    const text =
      'name: w\ntasks: [{ name: s, action: core.noop, next: [{ do: a }] }, { name: a, action: core.noop, next: [{ do: b }] }, { name: b, action: core.noop, next: [{ do: a }] }]'
    const { begin, timers } = decision(text)
    expect(begin).toHaveLength(201)
    expect(begin.at(-1)).toMatchObject({ state: 'delayed', ended: false })
    expect(timers).toEqual([{ task: 'b', ordinal: 100, kind: 'delay', ms: 0 }])
  })

  it('that is late begins one task, and makes one item', () => {
    const text =
      'name: w\ntasks: [{ name: a, action: echo, with_items: [1, 2, 3], input: "{{ item }}" }, { name: b, action: core.noop }]'
    const change = decision(text, { isLate: () => true })
    expect(states(change)).toEqual(['a#1 running', 'b#1 delayed'])
    expect(change.jobs.map(({ inputs }) => inputs)).toEqual([[1]])
    expect(change.more).toBe(true)
    expect(after(text, change, []).jobs).toMatchObject([{ from: 1, inputs: [2, 3] }])
    const inline = 'name: w\ntasks: [{ name: a, action: core.echo, with_items: [1], input: "{{ item }}" }]'
    expect(decision(inline, { isLate: () => true })).toMatchObject({
      state: 'failed',
      error: {
        code: 'FP_ITEMS_TOO_COSTLY',
        message: 'task a failed: its items take too long to tell; give them to a task',
      },
    })
  })

  it('makes no more inputs than fit into one message', () => {
    const text =
      'name: w\nparameters: { x: string }\ntasks: [{ name: a, action: echo, with_items: [1, 2, 3], input: "{{ parameters.x }}" }]'
    const change = decision(text, { run: { parameters: { x: 'x'.repeat(7_000_000) } } })
    expect(change.jobs[0]?.inputs).toHaveLength(2)
    expect(change.more).toBe(true)
  })
})

describe('what the workflow says of its jobs', () => {
  const job = (task: string, parameters = '') =>
    decision(`name: w\n${parameters}tasks: [{ name: a, action: echo, ${task} }]`, {
      run: { parameters: { token: 't' } },
    }).jobs[0]

  it('is stored with them', () => {
    expect(
      job(
        'delay: 5s, timeout: 1m, retry: { count: 2, delay: 1s, max_delay: 1h, backoff: linear, when: "{{ attempt < 2 }}" }',
      ),
    ).toMatchObject({
      delayMs: 5_000,
      failuresMax: 2,
      policy: {
        timeoutMs: 60_000,
        retry: {
          limit: 2,
          delayMs: 1_000,
          delayMsMax: 3_600_000,
          backoff: 'linear',
          when: expect.stringContaining('attempt < 2') as string,
        },
      },
    })
    expect(job('timeout: 1m')?.policy).toEqual({ timeoutMs: 60_000 })
    expect(job('retry: { count: 2 }')?.policy?.retry).not.toHaveProperty('when')
    expect(job('input: 1')).toMatchObject({ delayMs: 0, failuresMax: null, policy: null, concurrency: null })
  })

  it('is a gate if only some of a list run at a time, which a failure closes', () => {
    expect(job('with_items: [1, 2, 3], concurrency: 2')).toMatchObject({ concurrency: 2, policy: { halt: true } })
    expect(job('with_items: [1, 2, 3], concurrency: 2, on_item_failure: continue')).toMatchObject({
      concurrency: 2,
      policy: null,
    })
    expect(job('with_items: [1, 2], concurrency: 2')).toMatchObject({ concurrency: null, policy: null })
  })

  it('is where their inputs hold secrets', () => {
    const secret = 'parameters: { token: { type: string, secret: true } }\n'
    expect(job('input: { a: "{{ parameters.token }}" }', secret)?.policy).toEqual({
      secrets: [{ path: ['a'], around: ['', ''] }],
    })
  })

  it('is which parameters of other runs are secret', () => {
    const workflow: Known['workflow'] = () => ({
      version: 1,
      needs: [],
      check: (parameters) => ({ parameters: parameters as Record<string, Json> }),
    })
    const secretsOf = (input: string) =>
      decision(
        `name: w\nparameters: { token: { type: string, secret: true }, o: {} }\ntasks: [{ name: a, action: workflow.inner, input: ${input} }]`,
        {
          known: { ...known, workflow },
          run: { parameters: { token: 't', o: { a: 1, b: 2 } }, progress: { callers: ['outer'] } },
        },
      ).runs[0]?.progress
    expect(secretsOf('{ a: "{{ parameters.token }}", b: 1 }')).toEqual({ callers: ['outer', 'w'], secrets: ['a'] })
    expect(secretsOf('{ a: 1 }')).toEqual({ callers: ['outer', 'w'], secrets: [] })
    expect(secretsOf('"{{ parameters }}"')).toMatchObject({ secrets: ['token', 'o'] })
  })
})

describe('timers', () => {
  const asks =
    'name: w\ntimeout: 1h\ntasks: [{ name: ask, action: core.ask, input: { title: Go?, expires: 1m } }, { name: s, wait_for: { signal: go }, timeout: 2m }]'
  const ring = (payload: 'due' | 'timeout' | 'delay' | 'deadline', task?: string, ordinal = 1): Letter =>
    task === undefined ? { ids: [50], kind: 'timer', payload } : { ids: [50], kind: 'timer', task, ordinal, payload }

  it('are set for the run, for what is waited for and for the timeout', () => {
    expect(decision(asks).timers).toEqual([
      { task: null, ordinal: null, kind: 'deadline', ms: 3_600_000 },
      { task: 'ask', ordinal: 1, kind: 'due', ms: 60_000 },
      { task: 's', ordinal: 1, kind: 'timeout', ms: 120_000 },
    ])
    expect(decision('name: w\ntasks: [{ name: t, wait_for: { time: "2030-01-01T00:00:00Z" } }]').timers).toEqual([
      { task: 't', ordinal: 1, kind: 'due', at: '2030-01-01T00:00:00.000Z' },
    ])
  })

  it('that ring for what has ended, or for nobody, change nothing', () => {
    const begun = decision(asks)
    expect(states(after(asks, begun, [ring('due', 'ask', 2), ring('due', 'nobody'), ring('delay', 'ask')]))).toEqual([
      'ask#1 waiting',
      's#1 waiting',
    ])
  })

  it('of the run stop all that runs', () => {
    const text = 'name: w\ntimeout: 1h\ntasks: [{ name: a, action: echo }]'
    const change = after(text, decision(text), [ring('deadline')])
    expect(change).toMatchObject({ state: 'failing', error: { code: 'FP_RUN_TIMED_OUT' }, update: [{ stop: 'all' }] })
    const cancelling = after(text, decision(text), [ring('deadline')], { run: { state: 'cancelling' } })
    expect(cancelling).toMatchObject({ state: 'cancelling', error: null, update: [{ stop: 'unstarted' }] })
  })

  it('of the run stop what still runs of one that fails, which keeps its first error', () => {
    const text = 'name: w\ntimeout: 1h\ntasks: [{ name: a, action: echo }, { name: b, action: echo }]'
    const failing = after(text, decision(text), [ended('a', 1, 0, 'failed')])
    expect(failing).toMatchObject({ state: 'failing', update: [{}, { task: 'b', stop: 'unstarted' }] })
    expect(after(text, failing, [ring('deadline')])).toMatchObject({
      state: 'failing',
      error: { message: 'task a failed: no' },
      update: [{ task: 'b', stop: 'all' }],
    })
  })

  it('of the run leave alone what has ended, and end what waits because the run stops', () => {
    const change = after(asks, decision(asks), [ring('due', 'ask'), ring('deadline')])
    expect(change.update).toMatchObject([
      { task: 'ask', state: 'timed_out', stop: null, error: { code: 'FP_NOT_ANSWERED' } },
      { task: 's', state: 'cancelled', stop: 'all', error: { code: 'FP_RUN_STOPPED' } },
    ])
  })

  it('that are due end a sleep or a time with success', () => {
    const text =
      'name: w\ntasks: [{ name: s, action: core.sleep, input: { for: 1m } }, { name: t, wait_for: { time: "2030-01-01T00:00:00Z" } }]'
    const change = after(text, decision(text), [ring('due', 's'), ring('due', 't')])
    expect(states(change)).toEqual(['s#1 succeeded', 't#1 succeeded'])
  })

  it('of a delay begin a task once, however often they ring', () => {
    const text = 'name: w\ntasks: [{ name: s, action: core.sleep, delay: 1s, input: { for: 1m } }]'
    const change = after(text, decision(text), [ring('delay', 's'), ring('delay', 's')])
    expect(change).toMatchObject({ timers: [{ kind: 'due' }], watch: [] })
    expect(change.timers).toHaveLength(1)
  })

  describe('of a task of other runs', () => {
    const inner: Known = { ...known, workflow: () => ({ version: 1, needs: [], check: () => ({ parameters: {} }) }) }
    const subs = (more: string) => `name: w\ntasks: [{ name: a, action: workflow.inner, timeout: 1m${more} }]`
    const told = (text: string, ...letters: Letter[]) =>
      after(text, decision(text, { known: inner }), letters, { known: inner })
    const timedOut = { code: 'FP_TIMED_OUT', message: 'timed out after 60000 ms' }
    const list = ', with_items: [1, 2]'

    it.each([
      ['one that runs', '', []],
      ['a list', list, [ended('a')]],
      ['a list whose items may fail', `${list}, on_item_failure: continue`, [ended('a', 1, 0, 'failed')]],
    ] as const)('stop %s, which has timed out when its runs have ended', (_, more, before) => {
      const stopped = told(subs(more), ...before, ring('timeout', 'a'))
      expect(stopped.update).toMatchObject([{ state: 'running', stop: 'all', error: timedOut }])
      const last = ended('a', 1, before.length, 'cancelled')
      expect(after(subs(more), stopped, [last]).update).toMatchObject([{ state: 'timed_out', error: timedOut }])
    })

    it('do not hide that an item of a list had failed', () => {
      const stopped = told(subs(list), ended('a', 1, 0, 'failed'), ring('timeout', 'a'))
      expect(stopped.update).toMatchObject([{ state: 'running', stop: 'all', error: { message: 'no', item: 0 } }])
      const over = after(subs(list), stopped, [ended('a', 1, 1, 'cancelled')])
      expect(over.update).toMatchObject([{ state: 'failed', error: { code: 'FP_ITEMS_FAILED' } }])
    })

    it('are not what an item means that says of itself that it timed out', () => {
      const letter = { ...ended('a', 1, 0, 'failed'), payload: { outcome: 'failed', code: 'FP_TIMED_OUT' } } as Letter
      const change = told(subs(list), letter, ended('a', 1, 1))
      expect(change.update).toMatchObject([{ state: 'failed', error: { code: 'FP_ITEMS_FAILED', item: 0 } }])
    })
  })

  it('begin what was delayed, unless the run stops', () => {
    const text = 'name: w\ntasks: [{ name: a, action: core.noop, delay: 1s }]'
    const begun = decision(text)
    expect(begun).toMatchObject({ state: 'running', timers: [{ task: 'a', ordinal: 1, kind: 'delay', ms: 1_000 }] })
    expect(after(text, begun, [ring('delay', 'a')])).toMatchObject({
      state: 'succeeded',
      update: [{ state: 'succeeded' }],
    })
    expect(after(text, begun, [ring('delay', 'a')], { run: { state: 'failing' } })).toMatchObject({
      update: [{ state: 'cancelled' }],
    })
  })
})

describe('signals and answers', () => {
  const waits =
    'name: w\ntasks: [{ name: a, wait_for: { signal: go } }, { name: q, action: core.ask, input: { title: Go? } }]'
  const said = (kind: 'signal' | 'answer', task: string, id: string, ordinal?: number): Letter => ({
    ids: [60],
    kind,
    task,
    ...(ordinal !== undefined && { ordinal }),
    payload: { id, said: id },
  })

  it('end what waits for them, by name or by question', () => {
    const change = after(waits, decision(waits), [said('signal', 'go', 's'), said('answer', 'q', 'q', 1)])
    expect(states(change)).toEqual(['a#1 succeeded', 'q#1 succeeded'])
    expect(change.update.map(({ result }) => result)).toEqual(['s', 'q'])
  })

  it('are kept if nothing waits for them, each once', () => {
    const change = after(waits, decision(waits), [
      said('signal', 'other', 'x'),
      said('signal', 'other', 'x'),
      said('answer', 'q', 'late', 2),
      said('answer', 'never', 'n', 1),
      said('answer', 'never-2', 'm', 2),
    ])
    expect(states(change)).toEqual(['a#1 waiting', 'q#1 waiting'])
    expect(change.progress).toMatchObject({
      signals: [{ name: 'other', payload: 'x' }],
      answers: { never: 'n' },
      heard: ['x', 'late', 'n', 'm'],
    })
    expect({ ...change.progress.answers }).toEqual({ never: 'n' })
  })

  it('do not end what is delayed, or what waits for something else', () => {
    const text = `
name: w
parameters: { question: object }
tasks:
  - { name: late, action: core.ask, delay: 1m, input: { title: Go? } }
  - { name: named, action: core.ask, input: "{{ parameters.question }}" }
  - { name: other, wait_for: { signal: stop } }
`
    const begun = decided(text, { question: { title: 'Go?', name: 'go' } })
    const change = after(text, begun, [said('answer', 'late', 'yes', 1), said('signal', 'go', 's')])
    expect(states(change)).toEqual(['late#1 delayed', 'named#1 waiting', 'other#1 waiting'])
    expect(change.progress.signals).toEqual([{ name: 'go', payload: 's' }])
  })

  it('that came early are for the first who asks', () => {
    const early = `
name: w
tasks:
  - { name: a, action: echo, next: [{ do: q }] }
  - { name: q, action: core.ask, input: { title: Go? } }
`
    const kept = after(early, decision(early), [said('answer', 'q', 'yes', 1)])
    expect({ ...kept.progress.answers }).toEqual({ q: 'yes' })
    const asked = after(early, kept, [ended('a')])
    expect(asked.begin).toMatchObject([{ task: 'q', state: 'succeeded', result: 'yes' }])
    expect({ ...asked.progress.answers }).toEqual({})
  })

  it('are remembered a hundred at a time', () => {
    const heard = Array.from({ length: 102 }, (_, n) => `${n}`)
    const change = after(waits, decision(waits), [said('signal', 'other', 'new')], { run: { progress: { heard } } })
    expect(change.progress.heard).toEqual([...heard.slice(2), 'new'])
  })
})

describe('another run', () => {
  const id = '01890000-0000-7000-8000-00000000000A'
  const text = `name: w\ntasks: [{ name: a, wait_for: { run: "${id}" } }]`
  const watched = (outcome: 'succeeded' | 'failed' | 'missing'): Letter => ({
    ids: [70],
    kind: 'watched',
    task: 'a',
    ordinal: 1,
    payload: { outcome, run: id },
  })

  it('is watched, and its end is that of the wait', () => {
    const begun = decision(text)
    expect(begun.watch).toEqual([{ task: 'a', ordinal: 1, run: id }])
    expect(after(text, begun, [{ ids: [71], kind: 'timer', task: 'a', ordinal: 1, payload: 'watch' }]).watch).toEqual(
      begun.watch,
    )
    expect(after(text, begun, [watched('succeeded')]).update).toMatchObject([
      { state: 'succeeded', result: { run: id, state: 'succeeded' } },
    ])
    const error = (outcome: 'failed' | 'missing') => {
      const task = after(text, begun, [watched(outcome), watched(outcome)]).update[0]
      expect(task?.state).toBe('failed')
      return task?.error
    }
    expect(error('failed')).toEqual({ code: 'FP_RUN_FAILED', message: `run ${id} ended as failed` })
    expect(error('missing')).toEqual({ code: 'FP_RUN_FAILED', message: `there is no run ${id}` })
  })
})
