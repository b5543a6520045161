import { expect, it } from 'vitest'
import { secretsIn, SecretFlow } from '../../src/workflow/secret-flow.js'
import { workflowOf } from '../harness/workflow-of.js'

function flowOf(text: string, inherited: readonly string[] = []): SecretFlow {
  return new SecretFlow(workflowOf(text).definition, inherited)
}

const declared = 'name: w\nparameters: { token: { type: string, secret: true }, host: string }'

it('finds where the input of a task names a secret parameter, and the text around it', () => {
  const flow = flowOf(`${declared}
tasks:
  - name: call
    action: core.http
    input:
      url: "https://{{ parameters.host }}/"
      headers: { accept: "*/*", authorization: "Bearer {{ parameters.token }}" }
      body: [1, "{{ [parameters['token']] }}"]
  - { name: all, action: store, input: "{{ parameters }}" }
  - { name: none, action: store, input: { host: "{{ parameters.host }}", token: token } }
`)
  expect(flow.placesIn('call')).toEqual([
    { path: ['headers', 'authorization'], around: ['Bearer ', ''] },
    { path: ['body', 1], around: ['', ''] },
  ])
  expect(flow.placesIn('all')).toEqual([{ path: [], around: ['', ''] }])
  expect(flow.placesIn('none')).toEqual([])
})

it.each([
  ['a list of secrets', `with_items: "{{ [parameters.token] }}", input: "{{ item }}"`, true],
  ['a list of something else', `with_items: "{{ [parameters.host] }}", input: "{{ item }}"`, false],
  ['a parameter whose name is computed', `input: "{{ parameters[parameters.host] }}"`, true],
  ['a variable of its own', `input: "{{ [1].map(parameters, parameters) }}"`, false],
])('follows %s into the items', (_, task, isSecret) => {
  const flow = flowOf(`${declared}\ntasks: [{ name: each, action: store, ${task} }]`)
  expect(flow.placesIn('each')).toHaveLength(isSecret ? 1 : 0)
})

it('follows what was asked for through vars, echoes and other workflows, and not through jobs', () => {
  const flow = flowOf(`
name: w
vars: { code: null, other: null, third: null }
tasks:
  - name: ask
    action: core.ask
    input: { title: Code?, form: { code: { type: string, secret: true } } }
    next: [{ publish: { code: "{{ result().code }}" }, do: [echo, sub, job, plain] }]
  - { name: echo, action: core.echo, input: "{{ vars.code }}", next: [{ publish: { other: "{{ result() }}" }, do: end }] }
  - { name: sub, action: workflow.sub, input: { a: "{{ vars.code }}" }, next: [{ do: end }] }
  - { name: job, action: store, input: { a: "{{ vars.code }}" }, next: [{ publish: { third: "{{ result() }}" }, do: end }] }
  - { name: plain, action: store, input: "{{ run.id }}", next: [{ do: end }] }
  - name: end
    action: store
    join: all
    input:
      - "{{ vars.other }}"
      - "{{ tasks.sub.result }}"
      - "{{ tasks.ask.result.code }}"
      - "{{ vars.third }}"
      - "{{ tasks.job.result }}"
`)
  expect(flow.placesIn('job')).toHaveLength(1)
  expect(flow.placesIn('plain')).toEqual([])
  expect(flow.placesIn('end').map(({ path }) => path)).toEqual([[0], [1], [2]])
})

it('takes a form that is an expression for one that may ask for a secret, and one without secrets for none', () => {
  const asking = (form: string) =>
    flowOf(`
name: w
tasks:
  - { name: ask, action: core.ask, input: { title: A?, form: ${form} }, next: [{ do: end }] }
  - { name: end, action: store, input: "{{ tasks.ask.result }}" }
`).placesIn('end')
  expect(asking('"{{ {} }}"')).toHaveLength(1)
  expect(asking('{ a: string }')).toEqual([])
})

it.each([
  ['core.ask', 'action: core.ask, input: { title: A?, form: { a: string, b: { type: string, secret: true } } }', 1],
  ['wait_for', 'wait_for: { approval: { title: A?, form: { a: string, b: { type: string, secret: true } } } }', 1],
  ['a task that asks nobody', 'action: store, input: { form: { b: { secret: true } } }', 0],
])('takes one secret field among others for a secret, of %s', (_, task, count) => {
  const flow = flowOf(`
name: w
tasks:
  - { name: ask, ${task}, next: [{ do: end }] }
  - { name: end, action: store, input: "{{ tasks.ask.result }}" }
`)
  expect(flow.placesIn('end')).toHaveLength(count)
})

it('follows a secret of the calling run into the first values of vars', () => {
  const text = `
name: w
parameters: { a: string }
vars: { copy: "{{ parameters.a }}", other: 1 }
tasks: [{ name: t, action: store, input: ["{{ vars.copy }}", "{{ vars.other }}"] }]
`
  expect(flowOf(text).placesIn('t')).toEqual([])
  expect(flowOf(text, ['a']).placesIn('t')).toEqual([{ path: [0], around: ['', ''] }])
})

it('takes all tasks, or all vars, for a secret only if one of them is', () => {
  const text = `${declared}\nvars: { n: 1 }\ntasks: [{ name: t, action: store, input: ["{{ vars }}", "{{ parameters }}"] }]`
  expect(flowOf(text).placesIn('t')).toEqual([{ path: [1], around: ['', ''] }])
})

it('takes what the run was given as a secret for one, whatever its own definition says', () => {
  const text =
    'name: w\nparameters: { a: string, b: string }\ntasks: [{ name: t, action: store, input: ["{{ parameters.a }}", "{{ parameters.b }}"] }]'
  expect(flowOf(text).placesIn('t')).toEqual([])
  expect(
    flowOf(text, ['b'])
      .placesIn('t')
      .map(({ path }) => path),
  ).toEqual([[1]])
  expect(flowOf(text, ['b']).valuesOf({ a: 'x', b: 'y' })).toEqual(['y'])
})

it.each([
  ['Bearer hunter2', ['Bearer ', ''], ['hunter2']],
  ['a:b@c', ['', ':', '@c'], ['a', 'b']],
  ['ab', ['', '', ''], ['', 'ab']],
  ['otherwise', ['Bearer ', ''], ['otherwise']],
  ['Bearer', ['Bea', 'rer', 'rer'], ['Bearer']],
  [{ a: [1] }, ['', ''], [{ a: [1] }]],
  [7, ['', ''], [7]],
])('finds the secrets of %j around %j', (value, around, secrets) => {
  expect(secretsIn({ a: [value] }, [{ path: ['a', 0], around }])).toEqual(secrets)
})

it('finds none where the input has nothing', () => {
  expect(secretsIn(null, [{ path: ['a', 0], around: ['', ''] }])).toEqual([])
  expect(secretsIn('text', [{ path: ['a', 0], around: ['', ''] }])).toEqual([])
})
