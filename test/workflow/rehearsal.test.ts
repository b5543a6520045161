import { expect, it } from 'vitest'
import { workflow } from '../../src/workflow/builder.js'
import { rehearse, type RehearsalCase } from '../../src/workflow/rehearsal.js'
import { workflowOf } from '../harness/workflow-of.js'

const release = workflowOf(`
name: release
parameters: { version: { type: string, required: true }, regions: { type: array, default: [] } }
vars: { image: null }
tasks:
  - name: build
    action: ci.build
    input: { version: "{{ parameters.version }}" }
    retry: { count: 2, delay: 5s, backoff: exponential, when: "{{ error.code != 'BadInput' }}" }
    timeout: 10m
    next:
      - when: "{{ succeeded() }}"
        publish: { image: "{{ result().image }}" }
        do: [scan, deploy]
      - when: "{{ failed() }}"
        do: report
  - name: deploy
    action: ops.deploy
    with_items: "{{ parameters.regions }}"
    concurrency: 2
    input: { region: "{{ item }}", n: "{{ index }}" }
    next: [{ when: "{{ succeeded() }}", do: validate }]
  - name: scan
    action: ci.scan
    next: [{ do: validate }]
  - name: validate
    join: all
    action: core.echo
    input: "{{ tasks.deploy.result }}"
  - name: report
    action: core.echo
    input: "{{ tasks.build.status }}"
output: { image: "{{ vars.image }}", deployed: "{{ tasks.deploy.items }}" }
`)
const image = { result: { image: 'app:1' } }
const coded = (code: string) => ({ fail: { message: 'no', code } })

it('takes the way that follows from the results, and tells what came of it', () => {
  const given = {
    parameters: { version: '1', regions: ['eu', 'us'] },
    results: { build: image, deploy: { result: 'ok' } },
  }
  expect(rehearse(release, given)).toMatchObject({
    state: 'succeeded',
    path: ['build', 'scan', 'deploy', 'validate'],
    vars: { image: 'app:1' },
    output: {
      image: 'app:1',
      deployed: [
        { status: 'succeeded', result: 'ok' },
        { status: 'succeeded', result: 'ok' },
      ],
    },
    error: null,
    waits: [],
    inputs: {
      build: { version: '1' },
      deploy: [
        { region: 'eu', n: 0 },
        { region: 'us', n: 1 },
      ],
    },
  })
})

it('lets what is not mocked succeed with null', () => {
  const { path, inputs } = rehearse(
    workflowOf(`
name: plain
tasks:
  - { name: a, action: x, next: [{ do: b }] }
  - { name: b, action: y, input: "{{ tasks.a.result }}" }
`),
  )
  expect({ path, inputs }).toEqual({ path: ['a', 'b'], inputs: { a: null, b: null } })
})

it.each<[string, NonNullable<RehearsalCase['results']>, readonly string[]]>([
  ['a later try succeeds', { build: [coded('A'), coded('B'), image] }, ['build', 'scan', 'deploy', 'validate']],
  ['all tries fail', { build: [coded('A'), coded('A'), coded('A'), image] }, ['build', 'report']],
  ['the last result holds for all that follow', { build: [coded('A')] }, ['build', 'report']],
  ['an error is not worth another try', { build: [coded('BadInput'), image] }, ['build', 'report']],
  ['a try times out', { build: [{ timeOut: true }, image] }, ['build', 'scan', 'deploy', 'validate']],
  ['a try takes longer than its timeout', { build: { ...image, after: '10m' } }, ['build', 'report']],
  ['a try is just in time', { build: { ...image, after: '599s' } }, ['build', 'scan', 'deploy', 'validate']],
])('follows the retries of the workflow: %s', (_, results, path) => {
  expect(rehearse(release, { parameters: { version: '1' }, results }).path).toEqual(path)
})

it('tells a timeout from another failure', () => {
  const results = { build: { timeOut: true } } as const
  const timed = workflowOf(`
name: timed
tasks: [{ name: build, action: x, timeout: 1s, next: [{ when: "{{ timed_out() }}", do: noop }] }]
output: { status: "{{ tasks.build.status }}", code: "{{ tasks.build.error.code }}" }
`)
  expect(rehearse(timed, { results })).toMatchObject({
    state: 'succeeded',
    output: { status: 'timed_out', code: 'FP_TIMED_OUT' },
  })
  expect(rehearse(timed, { results: { build: { fail: 'no' } } })).toMatchObject({
    state: 'failed',
    error: { task: 'build' },
  })
})

it('ends a task with items when the running ones have ended, and lets the waiting ones not begin', () => {
  const regions = ['a', 'b', 'c', 'd', 'e']
  const results: RehearsalCase['results'] = {
    build: image,
    deploy: { result: 'ok', after: 60_000, items: { 1: { fail: 'no quota', after: '1s' } } },
  }
  const { state, output, error } = rehearse(release, { parameters: { version: '1', regions }, results })
  expect(state).toBe('failed')
  expect(error?.message).toContain('of 5 items did not succeed; the first: item 1: no quota')
  expect((output as { deployed: { status: string }[] }).deployed.map((each) => each.status)).toEqual([
    'succeeded',
    'failed',
    'cancelled', // nobody gets the room of the one that failed
    'cancelled',
    'cancelled',
  ])
})

it('runs as many items at a time as the task says', () => {
  const regions = [1, 2, 3, 4]
  const limited = (timeout: string) =>
    workflowOf(`
name: limited
timeout: ${timeout}
parameters: { regions: array }
tasks: [{ name: deploy, action: x, with_items: "{{ parameters.regions }}", concurrency: 2 }]
`)
  const given = { parameters: { regions }, results: { deploy: { after: '1m' } } } as const
  expect(rehearse(limited('121s'), given).state).toBe('succeeded')
  expect(rehearse(limited('119s'), given)).toMatchObject({ state: 'failed', error: { code: 'FP_RUN_TIMED_OUT' } })
})

it('tells activations of a cycle apart, and goes on in a list of results', () => {
  const polling = workflowOf(`
name: polling
tasks:
  - { name: begin, action: core.noop, next: [{ do: poll }] }
  - name: poll
    action: x
    next:
      - { when: "{{ result() == 'done' }}", do: after }
      - { when: "{{ result() != 'done' }}", do: rest }
  - { name: rest, action: core.sleep, input: { for: 1d }, next: [{ do: poll }] }
  - { name: after, action: core.noop }
output: "{{ tasks.poll.ordinal }}"
`)
  const path = ['begin', 'poll', 'rest', 'poll', 'rest', 'poll', 'after']
  const pending = { result: 'pending' }
  const done = { result: 'done' }
  expect(rehearse(polling, { results: { poll: [pending, pending, done] } })).toMatchObject({ path, output: 3 })
  expect(rehearse(polling, { results: { poll: { ...pending, ordinals: { 3: done } } } })).toMatchObject({
    path,
    output: 3,
  })
})

const asking = workflowOf(`
name: asking
tasks:
  - name: approve
    wait_for: { approval: { title: Go?, form: { ok: { type: boolean, required: true }, why: string }, expires: 1d } }
    next:
      - { when: "{{ succeeded() && result().ok }}", do: go }
      - { when: "{{ timed_out() }}", do: remind }
  - { name: go, action: core.noop }
  - { name: remind, action: core.noop }
`)

it.each<[string, NonNullable<RehearsalCase['answers']>, readonly string[]]>([
  ['yes', { approve: { ok: true } }, ['approve', 'go']],
  ['no', { approve: { ok: false, why: 'late' } }, ['approve']],
  ['nothing', {}, ['approve', 'remind']],
])('answers questions: %s', (_, answers, path) => {
  expect(rehearse(asking, { answers })).toMatchObject({ state: 'succeeded', path })
})

it('answers a question that is asked again with the next answer, and then no more', () => {
  const again = workflowOf(`
name: again
tasks:
  - name: approve
    wait_for: { approval: { title: Go?, form: { ok: boolean } } }
    next: [{ when: "{{ !result().ok }}", do: retry }]
`)
  expect(rehearse(again, { answers: { approve: [{ ok: false }, { ok: true }] } })).toMatchObject({
    state: 'succeeded',
    path: ['approve', 'approve'],
  })
  expect(rehearse(again, { answers: { approve: [{ ok: false }] } })).toMatchObject({
    state: 'running',
    waits: ['approve'],
  })
})

const signalled = workflowOf(`
name: signalled
tasks:
  - name: ready
    wait_for: { signal: go }
    timeout: 1h
    next: [{ when: "{{ failed() }}", do: late }]
  - { name: late, action: core.noop }
output: "{{ tasks.ready.result }}"
`)

it.each<[string, NonNullable<RehearsalCase['signals']>, object]>([
  ['in time', [{ name: 'go', payload: { by: 'ada' }, after: '59m' }], { path: ['ready'], output: { by: 'ada' } }],
  ['too late', [{ name: 'go', after: '61m' }], { path: ['ready', 'late'] }],
  ['never', [], { path: ['ready', 'late'] }],
])('sends signals: %s', (_, signals, expected) => {
  expect(rehearse(signalled, { signals })).toMatchObject({ state: 'succeeded', ...expected })
})

it('keeps a signal that comes before it is waited for', () => {
  const early = workflowOf(`
name: early
tasks:
  - { name: first, action: x, next: [{ do: ready }] }
  - { name: ready, wait_for: { signal: go } }
`)
  const given = { results: { first: { after: '1h' } }, signals: [{ name: 'go' }] } as const
  expect(rehearse(early, given)).toMatchObject({ state: 'succeeded', path: ['first', 'ready'] })
})

it('says where a run waits for what never comes', () => {
  const waiting = workflowOf(
    'name: w\ntasks: [{ name: ready, wait_for: { signal: go } }, { name: a, action: core.noop }]',
  )
  expect(rehearse(waiting)).toMatchObject({ state: 'running', path: ['ready', 'a'], waits: ['ready'] })
})

it('starts at the time of the case, and lets days pass', () => {
  const dated = workflowOf(`
name: dated
timeout: 10d
tasks: [{ name: wait, wait_for: { time: 2030-01-31T00:00:00Z } }]
`)
  expect(rehearse(dated, { now: '2030-01-30T00:00:00Z' }).state).toBe('succeeded')
  expect(rehearse(dated, { now: '2030-01-01T00:00:00Z' })).toMatchObject({
    state: 'failed',
    error: { code: 'FP_RUN_TIMED_OUT' },
  })
})

it('mocks sub-workflows and other runs as it does tasks, and checks their parameters where it knows them', () => {
  const inner = workflow('inner', { parameters: { n: 'integer' }, tasks: { a: { action: 'core.noop' } } })
  const outer = (n: unknown) =>
    workflow('outer', {
      tasks: {
        sub: {
          action: inner,
          input: { n: n as number },
          timeout: '1h',
          next: [{ when: '{{ succeeded() }}', do: 'other' }],
        },
        other: { waitFor: { run: "{{ '01890000-0000-7000-8000-000000000001' }}" } },
      },
      output: '{{ tasks.sub.result }}',
    })
  expect(rehearse(outer(1), { results: { sub: { result: 7 } } })).toMatchObject({
    state: 'succeeded',
    output: 7,
    inputs: { sub: { n: 1 } },
  })
  expect(rehearse(outer(1), { results: { sub: { fail: 'no' } } })).toMatchObject({ state: 'failed', path: ['sub'] })
  expect(rehearse(outer(1), { results: { sub: { timeOut: true } } })).toMatchObject({
    state: 'failed',
    error: { code: 'FP_TIMED_OUT' },
  })
  expect(rehearse(outer(1), { results: { other: { fail: 'no' } } })).toMatchObject({
    state: 'failed',
    error: { task: 'other' },
  })
  expect(rehearse(outer('x'))).toMatchObject({ state: 'failed', error: { code: 'FP_WORKFLOW_PARAMETERS' } })
})

it('gives the same for the same case', () => {
  const given: RehearsalCase = {
    parameters: { version: '1', regions: [1, 2, 3] },
    results: { build: image, scan: { after: '5s' }, deploy: { after: '5s', items: { 2: [coded('A')] } } },
  }
  expect(rehearse(release, given)).toEqual(rehearse(release, given))
})

it('names all that is wrong with a case at once', () => {
  const given = {
    parameters: { verion: '1' },
    results: {
      biuld: {},
      build: { image: 1 },
      validate: {},
      scan: { items: { 0: {} } },
      deploy: { items: { x: {}, 0: { fail: {} } }, ordinals: { 0: {} } },
    },
    answers: { build: {} },
    signals: [{ name: 'go' }],
    wat: 1,
  } as unknown as RehearsalCase
  const refusal = refusalOf(() => rehearse(release, given))
  for (const part of [
    'the parameter version is required',
    'there is no parameter "verion"\n  Did you mean version?',
    'results.biuld  unknown task "biuld"\n  Did you mean build?',
    'results.build.image  unknown key "image" in a mocked result\n  What the task returns stands under result: { result: { image: … } }',
    'validate has the action core.echo, which is not mocked',
    'task scan has no with_items',
    '"x" is no item',
    'fail needs a message',
    '"0" is no activation',
    'task "build" asks nothing',
    'no task waits for the signal "go"',
    'unknown key "wat" in a case',
  ]) {
    expect(refusal).toContain(part)
  }
  expect(refusalOf(() => rehearse(asking, { answers: { approve: { ok: 'yes' } } }))).toContain(
    'the field ok must be true or false',
  )
  expect(refusalOf(() => rehearse(asking, { answers: { aprove: {} } }))).toContain('Did you mean approve?')
  expect(refusalOf(() => rehearse(signalled, { signals: [{ name: 'og' }] }))).toContain('Did you mean go?')
})

function refusalOf(work: () => unknown): string {
  try {
    work()
  } catch (error) {
    expect(error).toMatchObject({ code: 'FP_REHEARSAL_INVALID' })
    return (error as Error).message
  }
  throw new Error('it was not refused')
}
