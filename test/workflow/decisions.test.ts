import { expect, it } from 'vitest'
import type { Json } from '../../src/job/json.js'
import { decide } from '../../src/workflow/conductor.js'
import type { Known } from '../../src/workflow/situation.js'
import { Joins } from '../../src/workflow/joins.js'
import { planOf } from '../../src/workflow/plan.js'
import type { Change, Letter, Run } from '../../src/workflow/run.js'
import { workflowOf } from '../harness/workflow-of.js'

const known: Known = { result: () => ({ result: null, error: null }), workflow: () => null }

function decided(text: string, parameters: Record<string, Json>, ...letters: Letter[]): Change {
  const { definition } = workflowOf(text)
  const run: Run = {
    id: '01890000-0000-7000-8000-000000000001',
    revision: 0,
    workflow: definition.name,
    version: 1,
    state: 'running',
    cancelMode: null,
    parameters,
    vars: {},
    progress: {},
    error: null,
  }
  const start: Letter = { ids: [1], kind: 'start' }
  return decide({ run, plan: planOf(definition), active: [], letters: [start, ...letters], nowMs: 0, known })
}

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
  expect(begin.filter(({ task }) => task === 'ask').map(({ ended }) => ended)).toEqual([true, false])
})
