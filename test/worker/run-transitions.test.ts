import { expect, it, vi } from 'vitest'
import { setupRuns } from '../harness/workflows.js'

it('publishes what a task came to, and goes on with it', async () => {
  const { run } = await setupRuns()
  const ended = await run(
    `
name: chain
parameters: { n: integer }
vars: { a: 0 }
tasks:
  - name: one
    action: echo
    input: { n: "{{ parameters.n }}" }
    next: [{ publish: { a: "{{ result().n + 1 }}" }, do: two }]
  - name: two
    action: echo
    input: { n: "{{ vars.a * 2 }}" }
output: { n: "{{ tasks.two.result.n }}", text: "n is {{ vars.a }}" }
`,
    { n: 3 },
  )
  expect(ended).toMatchObject({ state: 'succeeded', output: { n: 8, text: 'n is 4' }, vars: { a: 4 } })
})

it('fires every transition that matches, and none that does not', async () => {
  const { run } = await setupRuns()
  const { path } = await run(`
name: branches
tasks:
  - name: start
    action: core.noop
    next:
      - { when: "{{ succeeded() }}", do: [a, b] }
      - { when: "{{ failed() }}", do: never }
      - { do: c }
  - { name: a, action: core.noop }
  - { name: b, action: core.noop }
  - { name: c, action: core.noop }
  - { name: never, action: core.noop }
`)
  expect(path).toEqual(['a#1 succeeded', 'b#1 succeeded', 'c#1 succeeded', 'start#1 succeeded'])
})

it('joins branches once, and runs a shared task without a join once per branch', async () => {
  const { run } = await setupRuns()
  const { path } = await run(`
name: joins
tasks:
  - { name: start, action: core.noop, next: [{ do: [a, b, c] }] }
  - { name: a, action: echo, next: [{ do: [all, two, each] }] }
  - { name: b, action: echo, next: [{ do: [all, two, each] }] }
  - { name: c, action: echo, next: [{ do: [all, two, each] }] }
  - { name: all, join: all, action: core.noop }
  - { name: two, join: 2, action: core.noop }
  - { name: each, action: core.noop }
`)
  expect(path.filter((step) => /^(all|two|each)/.test(step))).toEqual([
    'all#1 succeeded',
    'each#1 succeeded',
    'each#2 succeeded',
    'each#3 succeeded',
    'two#1 succeeded',
  ])
})

it('ends a run whose join can no longer be met, and names the missing edges', async () => {
  const { run } = await setupRuns()
  const ended = await run(`
name: unmet
tasks:
  - { name: start, action: core.noop, next: [{ do: [a, b] }] }
  - { name: a, action: echo, next: [{ do: all }] }
  - { name: b, action: echo, next: [{ when: "{{ failed() }}", do: all }] }
  - { name: all, join: all, action: core.noop }
`)
  expect(ended).toMatchObject({ state: 'failed', code: 'FP_JOIN_UNMET' })
  expect(ended.message).toContain('b → all did not fire')
})

it('lets everything else run to its end before it says that a join can no longer be met', async () => {
  const { start, fp, cues, ended } = await setupRuns()
  cues.hold('mend')
  const { id } = await start(`
name: unmet-late
tasks:
  - { name: a, action: core.noop, next: [{ do: all }] }
  - { name: b, action: fail, input: b, next: [{ when: "{{ succeeded() }}", do: all }, { when: "{{ failed() }}", do: mend }] }
  - { name: mend, action: echo, input: mend, next: [{ do: last }] }
  - { name: last, action: core.noop }
  - { name: all, join: all, action: core.noop }
`)
  await cues.saw(2)
  expect((await fp.workflows.run(id)).state).toBe('running')
  cues.release('mend')
  expect(await ended(id)).toMatchObject({
    state: 'failed',
    code: 'FP_JOIN_UNMET',
    path: ['a#1 succeeded', 'b#1 failed', 'last#1 succeeded', 'mend#1 succeeded'],
  })
})

it('goes round in a cycle, each activation with an ordinal of its own', async () => {
  const { run } = await setupRuns()
  const ended = await run(`
name: cycle
vars: { n: 0 }
tasks:
  - { name: start, action: core.noop, next: [{ do: count }] }
  - name: count
    action: echo
    input: { n: "{{ vars.n + 1 }}" }
    next:
      - { when: "{{ result().n < 5 }}", publish: { n: "{{ result().n }}" }, do: count }
      - { when: "{{ result().n == 5 }}", publish: { n: "{{ result().n }}" }, do: done }
  - { name: done, action: core.noop }
output: "{{ vars.n }}"
`)
  expect(ended).toMatchObject({ state: 'succeeded', output: 5 })
  expect(ended.path.filter((step) => step.startsWith('count'))).toHaveLength(5)
})

it('joins in a cycle take the nth firing of each edge', async () => {
  const { run } = await setupRuns()
  const ended = await run(`
name: cycle-join
vars: { round: 0 }
tasks:
  - { name: start, action: core.noop, next: [{ do: split }] }
  - { name: split, action: core.noop, next: [{ publish: { round: "{{ vars.round + 1 }}" }, do: [a, b] }] }
  - { name: a, action: echo, next: [{ do: both }] }
  - { name: b, action: echo, next: [{ do: both }] }
  - { name: both, join: all, action: core.noop, next: [{ when: "{{ vars.round < 3 }}", do: split }] }
`)
  expect(ended.state).toBe('succeeded')
  expect(ended.path.filter((step) => step.startsWith('both'))).toHaveLength(3)
})

it('ends a cycle that never would', async () => {
  const { run } = await setupRuns()
  const ended = await run(`
name: endless
tasks:
  - { name: start, action: core.noop, next: [{ do: round }] }
  - { name: round, action: core.noop, next: [{ do: round }] }
`)
  expect(ended).toMatchObject({ state: 'failed', code: 'FP_RUN_TOO_LONG' })
}, 120_000)

it('a failure that nobody deals with stops what would follow, and lets end what runs', async () => {
  const { start, fp, cues, ended } = await setupRuns()
  cues.hold('long')
  const { id } = await start(`
name: failing
tasks:
  - { name: long, action: echo, input: long, next: [{ do: never }] }
  - { name: one, action: fail, next: [{ when: "{{ succeeded() }}", do: never }] }
  - { name: never, action: core.noop }
output: { one: "{{ tasks.one.error.code }}", never: "{{ tasks.never.status }}" }
`)
  await vi.waitUntil(async () => (await fp.workflows.run(id)).state === 'failing', { timeout: 10_000 })
  cues.release('long')
  expect(await ended(id)).toMatchObject({
    state: 'failed',
    message: 'task one failed: no luck',
    code: 'NoLuck',
    output: { one: 'NoLuck', never: null },
    path: ['long#1 succeeded', 'one#1 failed'],
  })
})

it.each([
  ['a task', 'do: mend', { state: 'succeeded', path: ['mend#1 succeeded', 'one#1 failed'] }],
  ['noop', 'do: noop', { state: 'succeeded', path: ['one#1 failed'] }],
  ['continue', 'do: continue', { state: 'failed', path: ['one#1 failed'] }],
  ['nothing', 'publish: { a: 1 }', { state: 'failed', path: ['one#1 failed'], vars: { a: 1 } }],
  ['fail', 'do: fail', { state: 'failed', path: ['one#1 failed'], code: 'FP_RUN_FAILED' }],
])('a failure that leads to %s', async (_, transition, expected) => {
  const { run } = await setupRuns()
  const ended = await run(`
name: remedy
vars: { a: 0 }
tasks:
  - name: one
    action: fail
    next:
      - when: "{{ failed() }}"
        ${transition}
      - { when: "{{ succeeded() }}", do: mend }
  - { name: mend, action: core.noop }
`)
  expect(ended).toMatchObject(expected)
})

it('fail ends a run whose task succeeded, and retry activates the task again', async () => {
  const { run } = await setupRuns()
  const ended = await run(`
name: commands
vars: { tries: 0 }
tasks:
  - name: one
    action: core.echo
    input: "{{ vars.tries + 1 }}"
    next:
      - { when: "{{ result() < 3 }}", publish: { tries: "{{ result() }}" }, do: retry }
      - { when: "{{ result() == 3 }}", do: fail }
`)
  expect(ended).toMatchObject({ state: 'failed', path: ['one#1 succeeded', 'one#2 succeeded', 'one#3 succeeded'] })
})

it.each([
  ['when', '{ when: "{{ result().no.such }}", do: never }, { when: "{{ failed() }}", do: mend }'],
  ['publish', '{ publish: { a: "{{ 1 / (result().n - 1) }}" }, do: never }, { when: "{{ failed() }}", do: mend }'],
])('an expression that fails in %s fails its task, and is never true', async (_, next) => {
  const { run } = await setupRuns()
  const ended = await run(`
name: bad-expression
vars: { a: 0 }
tasks:
  - { name: one, action: core.echo, input: { n: 1 }, next: [${next}] }
  - { name: never, action: core.noop }
  - { name: mend, action: core.echo, input: "{{ tasks.one.error.message }}" }
output: { a: "{{ vars.a }}", code: "{{ tasks.one.error.code }}", place: "{{ tasks.one.error.place }}" }
`)
  expect(ended).toMatchObject({ state: 'succeeded', path: ['mend#1 succeeded', 'one#1 failed'] })
  expect(ended.output).toMatchObject({ a: 0, code: 'FP_EXPRESSION', place: expect.stringContaining('^') })
})

it('an input that cannot be told fails its task, with the place', async () => {
  const { run } = await setupRuns()
  const ended = await run(
    `
name: bad-input
parameters: { p: object }
tasks:
  - { name: one, action: echo, input: { n: "{{ parameters.p.missing }}" } }
`,
    { p: { there: 1 } },
  )
  expect(ended).toMatchObject({ state: 'failed', code: 'FP_EXPRESSION', path: ['one#1 failed'] })
  expect(ended.message).toContain('missing')
})

it('a run that takes longer than its timeout is stopped', async () => {
  const { start, cues, ended } = await setupRuns()
  cues.hold('long')
  const { id } = await start(`
name: slow
timeout: 300ms
tasks:
  - { name: long, action: echo, input: long }
  - { name: wait, wait_for: { signal: never } }
`)
  expect(await ended(id)).toMatchObject({
    state: 'failed',
    code: 'FP_RUN_TIMED_OUT',
    path: ['long#1 cancelled', 'wait#1 cancelled'],
  })
})

it('starts a run once under its id, and refuses another one', async () => {
  const { start, fp, ended } = await setupRuns()
  const text = 'name: idempotent\nparameters: { n: integer }\ntasks: [{ name: one, action: core.noop }]'
  const id = '01890000-0000-7000-8000-000000000001'
  expect((await start(text, { n: 1 }, { id })).answer).toBe('started')
  await ended(id)
  expect((await start(text, { n: 1 }, { id })).answer).toBe('existing')
  await expect(start(text, { n: 2 }, { id })).rejects.toMatchObject({
    code: 'FP_ID_CONFLICT',
    message: `What has this id already differs: run ${id} exists with another workflow or other parameters`,
    hint: expect.not.stringContaining('job'),
  })
  expect((await fp.workflows.runs()).length).toBe(1)
})

it('does not start what no worker has ever known', async () => {
  const { start } = await setupRuns()
  await expect(start('name: unknown\ntasks: [{ name: one, action: ecko }]')).rejects.toMatchObject({
    code: 'FP_TASK_UNKNOWN',
    hint: expect.stringContaining('echo'),
  })
})
