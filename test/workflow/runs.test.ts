import { describe, expect, it } from 'vitest'
import { limits } from '../../src/limits.js'
import type { Json } from '../../src/job/json.js'
import { playInMemory, type Scene } from '../../src/workflow/memory-play.js'
import type { Outcome } from '../../src/workflow/rehearsed-items.js'
import { workflowOf } from '../harness/workflow-of.js'

/** What the action does is told by its input. */
interface ActInput {
  readonly fail?: string
  readonly code?: string
  /** How many tries fail. */
  readonly flaky?: number
  readonly give?: Json
  readonly afterMs?: number
  readonly hang?: boolean
}

function outcomeOf(given: Json, attempt: number): Outcome {
  const input = (given ?? {}) as ActInput
  const afterMs = input.afterMs ?? 0
  if (input.hang) return { timeOut: true, afterMs }
  if (input.fail) return { fail: { message: input.fail, code: input.code ?? 'ACT' }, afterMs }
  if (attempt <= (input.flaky ?? 0)) return { fail: { message: 'flaky', code: 'FLAKY' }, afterMs }
  return { result: input.give ?? null, afterMs }
}

function play(text: string, scene: Partial<Scene> = {}) {
  const { state, output, vars, error, taskRuns } = playInMemory(workflowOf(`name: w\n${text}`).definition, {
    parameters: {},
    startMs: 0,
    act: ({ input }, attempt) => outcomeOf(input, attempt),
    answers: new Map(),
    signals: [],
    ...scene,
  })
  const path = taskRuns.map((task) => `${task.task}#${task.ordinal} ${task.state}`)
  return { state, output, vars, error, path, taskRuns }
}

const innerText = `
name: inner
parameters: { n: integer }
tasks:
  - { name: a, action: act, input: { give: "{{ parameters.n }}", fail: "{{ parameters.n == 3 ? 'three' : '' }}" } }
output: { doubled: "{{ tasks.a.result * 2 }}" }
`
const played = new Map([['inner', workflowOf(innerText).definition]])

describe('what follows from the end of a task', () => {
  it('every transition whose condition holds fires, each with what those before it published', () => {
    const run = play(`
vars: { a: 1, b: 0 }
tasks:
  - name: first
    action: act
    input: { give: 5 }
    next:
      - { publish: { a: "{{ result() }}" } }
      - { when: "{{ vars.a == 5 }}", publish: { b: "{{ vars.a + 1 }}" }, do: [second, third] }
      - { when: "{{ vars.a == 1 }}", do: never }
      - { do: second }
  - { name: second, action: core.noop }
  - { name: third, action: core.noop }
  - { name: never, action: core.noop }
`)
    expect(run).toMatchObject({ state: 'succeeded', vars: { a: 5, b: 6 }, error: null })
    expect(run.path).toEqual(['first#1 succeeded', 'second#1 succeeded', 'third#1 succeeded'])
    expect(run.taskRuns.map(({ via, viaOrdinal }) => [via, viaOrdinal])).toEqual([
      [null, null],
      ['first', 1],
      ['first', 1],
    ])
  })

  it('a failure that no transition deals with fails the run, and says whose it was', () => {
    const run = play(`
tasks:
  - { name: a, action: act, input: { fail: no luck, code: LUCK }, next: [{ when: "{{ succeeded() }}", do: b }] }
  - { name: b, action: core.noop }
output: { a: "{{ tasks.a.status }}", b: "{{ tasks.b.status }}" }
`)
    expect(run).toMatchObject({
      state: 'failed',
      path: ['a#1 failed'],
      error: { code: 'LUCK', message: 'task a failed: no luck', task: 'a' },
      output: { a: 'failed', b: null }, // as much as can be told
    })
  })

  it.each([
    ['goes on where there is nothing more to do', 'noop', 'succeeded'],
    ['is none where the transition says no more than that it fired', 'continue', 'failed'],
    ['is one of the run where it says so', 'fail', 'failed'],
  ])('a failure %s', (_, target, state) => {
    const run = play(
      `tasks: [{ name: a, action: act, input: { fail: no }, next: [{ when: "{{ failed() }}", do: ${target} }] }]`,
    )
    expect(run.state).toBe(state)
  })

  it('a task that succeeded may say that the run fails', () => {
    expect(play('tasks: [{ name: a, action: core.noop, next: [{ do: fail }] }]')).toMatchObject({
      state: 'failed',
      path: ['a#1 succeeded'],
      error: { code: 'FP_RUN_FAILED', message: 'task a says that the run fails', task: 'a' },
    })
    expect(
      play(
        'tasks: [{ name: a, action: core.fail, input: { message: bad, code: X }, next: [{ when: "{{ failed() }}", do: fail }] }]',
      ),
    ).toMatchObject({ error: { code: 'FP_RUN_FAILED', message: 'task a says that the run fails: bad', task: 'a' } })
  })

  it('a task may be activated again by itself', () => {
    const run = play(`
vars: { n: 0 }
tasks:
  - name: a
    action: act
    input: { fail: "{{ vars.n < 2 ? 'again' : '' }}" }
    next: [{ when: "{{ failed() }}", publish: { n: "{{ vars.n + 1 }}" }, do: retry }]
`)
    expect(run).toMatchObject({ state: 'succeeded', path: ['a#1 failed', 'a#2 failed', 'a#3 succeeded'] })
  })

  it('a transition whose expression fails makes its task a failed one, which others may deal with', () => {
    const text = (next: string) => `
tasks:
  - { name: a, action: act, input: { give: {} }, next: [{ when: "{{ result().missing == 1 }}", do: b }${next}] }
  - { name: b, action: core.noop }
  - { name: c, action: core.echo, input: "{{ [tasks.a.status, tasks.a.error.code] }}" }
output: "{{ tasks.c.result }}"
`
    expect(play(text(', { when: "{{ failed() }}", do: c }'))).toMatchObject({
      state: 'succeeded',
      path: ['a#1 failed', 'c#1 succeeded'],
      output: ['failed', 'FP_EXPRESSION'],
    })
    const error = {
      code: 'FP_EXPRESSION',
      task: 'a',
      message: expect.stringMatching(/^task a failed: next of a: .*missing/),
    }
    expect(
      play(
        text('')
          .replace(/^ *- { name: c.*\n/m, '')
          .replace(/^output.*\n/m, ''),
      ),
    ).toMatchObject({ state: 'failed', error })
  })

  it('what runs beside a failure is let end, and nothing follows from it', () => {
    const run = play(`
tasks:
  - { name: a, action: act, input: { fail: no, afterMs: 10 } }
  - { name: b, action: act, input: { afterMs: 50, give: 1 }, next: [{ do: c }] }
  - { name: c, action: core.noop }
  - { name: w, wait_for: { signal: go } }
output: "{{ tasks.b.result }}"
`)
    expect(run).toMatchObject({
      state: 'failed',
      path: ['a#1 failed', 'b#1 succeeded', 'w#1 cancelled'],
      output: 1,
      error: { message: 'task a failed: no' },
    })
    expect(run.taskRuns[2]?.error).toEqual({ code: 'FP_RUN_STOPPED', message: 'the run stops' })
  })
})

describe('a join', () => {
  it('runs once, when all its edges have fired', () => {
    const run = play(`
tasks:
  - { name: a, action: act, input: { afterMs: 20, give: 2 }, next: [{ do: d }] }
  - { name: b, action: act, input: { afterMs: 10, give: 3 }, next: [{ do: d }] }
  - { name: d, join: all, action: core.echo, input: "{{ tasks.a.result * tasks.b.result }}" }
output: "{{ tasks.d.result }}"
`)
    expect(run).toMatchObject({ output: 6, path: ['a#1 succeeded', 'b#1 succeeded', 'd#1 succeeded'] })
    expect(run.taskRuns[2]).toMatchObject({ via: 'a', viaOrdinal: 1 })
  })

  it('of some runs once, and what comes later is absorbed', () => {
    const run = play(`
tasks:
  - { name: a, action: act, input: { afterMs: 30 }, next: [{ do: d }] }
  - { name: b, action: act, input: { afterMs: 10 }, next: [{ do: d }] }
  - { name: c, action: act, input: { afterMs: 20 }, next: [{ do: d }] }
  - { name: d, join: 2, action: core.noop }
`)
    expect(run.path).toEqual(['a#1 succeeded', 'b#1 succeeded', 'c#1 succeeded', 'd#1 succeeded'])
    expect(run.taskRuns[3]).toMatchObject({ via: 'c' })
    expect(run.state).toBe('succeeded')
  })

  it('that can no longer be met fails the run, when everything else has ended', () => {
    const run = play(`
tasks:
  - { name: a, action: act, next: [{ do: c }] }
  - { name: b, action: act, input: { give: 1 }, next: [{ when: "{{ result() == 2 }}", do: c }] }
  - { name: c, join: all, action: act }
  - { name: slow, action: act, input: { afterMs: 1000 }, next: [{ do: later }] }
  - { name: later, action: core.noop }
`)
    expect(run).toMatchObject({
      state: 'failed',
      path: ['a#1 succeeded', 'b#1 succeeded', 'slow#1 succeeded', 'later#1 succeeded'],
      error: {
        code: 'FP_JOIN_UNMET',
        message: 'task c waits for 2 of 2 edges, and can no longer get them: b → c did not fire',
        task: 'c',
      },
    })
  })

  it('that nothing has come to is not missed', () => {
    const run = play(`
tasks:
  - { name: a, action: act, next: [{ when: "{{ failed() }}", do: c }] }
  - { name: b, action: act, next: [{ when: "{{ failed() }}", do: c }] }
  - { name: c, join: all, action: act }
`)
    expect(run.state).toBe('succeeded')
  })
})

describe('a list of items', () => {
  const list = (more: string, after = '') => `
tasks:
  - name: each
    action: act
    with_items: [1, 2, 3, 4]
    input: { give: "{{ item * 10 }}", fail: "{{ item == 2 ? 'two' : '' }}", n: "{{ index }}" }
    ${more}
${after}`

  it('fails when one of them does, with what was wrong with the first', () => {
    const run = play(list('', 'output: "{{ tasks.each.items.map(i, i.status) }}"'))
    expect(run).toMatchObject({
      state: 'failed',
      path: ['each#1 failed'],
      error: {
        code: 'FP_ITEMS_FAILED',
        message: 'task each failed: 1 of 4 items did not succeed; the first: item 1: two',
        item: 1,
        task: 'each',
      },
      output: ['succeeded', 'failed', 'succeeded', 'succeeded'],
    })
    expect(run.taskRuns[0]).toMatchObject({ total: 4, dispatched: 4, succeeded: 3, failed: 1, concurrency: null })
    expect(run.taskRuns[0]?.inputs.map((input) => (input as { n: number }).n)).toEqual([0, 1, 2, 3])
  })

  it('begins none after one that failed, if only so many run at a time', () => {
    const run = play(list('concurrency: 1', 'output: "{{ tasks.each.items.map(i, i.status) }}"'))
    expect(run).toMatchObject({ state: 'failed', output: ['succeeded', 'failed', 'cancelled', 'cancelled'] })
    expect(run.error?.message).toBe('task each failed: 3 of 4 items did not succeed; the first: item 1: two')
  })

  it('goes on, if its items may fail', () => {
    const run = play(list('concurrency: 1\n    on_item_failure: continue', 'output: "{{ tasks.each.result }}"'))
    expect(run).toMatchObject({ state: 'succeeded', output: [10, null, 30, 40], path: ['each#1 succeeded'] })
    expect(run.taskRuns[0]).toMatchObject({ succeeded: 3, failed: 1, error: null })
  })

  it('may be empty, or of what needs nobody', () => {
    const run = play(`
tasks:
  - { name: none, action: act, with_items: [], next: [{ do: all }] }
  - { name: all, action: core.echo, with_items: [1, 2], input: "{{ item + index }}" }
output: { none: "{{ tasks.none.items }}", all: "{{ tasks.all.items }}", results: "{{ tasks.all.result }}" }
`)
    const item = (result: number) => ({ status: 'succeeded', result, error: null })
    expect(run).toMatchObject({
      state: 'succeeded',
      output: { none: [], all: [item(1), item(3)], results: [1, 3] },
    })
    expect(run.taskRuns[1]).toMatchObject({ total: 2, dispatched: 2, succeeded: 2 })
  })

  it('is of batches, or of lists side by side', () => {
    const run = play(`
tasks:
  - { name: batches, action: core.echo, with_items: [1, 2, 3, 4, 5], batch_size: 2, input: "{{ item }}" }
  - { name: zipped, action: core.echo, with_items: { a: [1, 2], b: "{{ ['x', 'y'] }}" }, input: "{{ item.b }}" }
output: { batches: "{{ tasks.batches.result }}", zipped: "{{ tasks.zipped.result }}" }
`)
    expect(run.output).toEqual({ batches: [[1, 2], [3, 4], [5]], zipped: ['x', 'y'] })
  })

  it.each([
    ['no list', 'with_items: "{{ parameters.x }}"', 5, 'FP_ITEMS_NO_LIST', 'with_items must be a list, not number 5'],
    ['nothing', 'with_items: "{{ parameters.x }}"', null, 'FP_ITEMS_NO_LIST', 'with_items must be a list, not null'],
    [
      'an object',
      'with_items: "{{ parameters.x }}"',
      {},
      'FP_ITEMS_NO_LIST',
      'with_items must be a list, not an object',
    ],
    [
      'no list among lists',
      'with_items: { a: [1], b: "{{ parameters.x }}" }',
      'text',
      'FP_ITEMS_NO_LIST',
      'b of with_items must be a list, not string "text"',
    ],
    [
      'lists of different lengths',
      'with_items: { a: [1], b: "{{ parameters.x }}" }',
      [1, 2],
      'FP_ITEMS_UNEVEN',
      'the lists of with_items must have the same length: a has 1, b has 2',
    ],
    [
      'no concurrency',
      'with_items: [1], concurrency: "{{ parameters.x }}"',
      0,
      'FP_INPUT_INVALID',
      `concurrency must be a whole number from 1 to ${limits.gateLimitMax}, not number 0`,
    ],
    [
      'half a concurrency',
      'with_items: [1], concurrency: "{{ parameters.x }}"',
      1.5,
      'FP_INPUT_INVALID',
      `concurrency must be a whole number from 1 to ${limits.gateLimitMax}, not number 1.5`,
    ],
  ])('that is %s fails its task', (_, items, x, code, message) => {
    const run = play(`parameters: { x: {} }\ntasks: [{ name: each, action: act, ${items}, input: "{{ item }}" }]`, {
      parameters: { x },
    })
    expect(run).toMatchObject({
      state: 'failed',
      path: ['each#1 failed'],
      error: { code, message: `task each failed: ${message}`, task: 'each' },
    })
  })

  it('whose inputs cannot all be made lets those end that were, and has failed then', () => {
    const run = play(
      `
parameters: { list: {} }
tasks: [{ name: each, action: act, with_items: "{{ parameters.list }}", input: { give: "{{ item.n }}" } }]
output: "{{ tasks.each.items.map(i, i.status) }}"
`,
      { parameters: { list: [{ n: 1 }, { n: 2 }, { m: 3 }, { n: 4 }] } },
    )
    expect(run).toMatchObject({ state: 'failed', path: ['each#1 failed'], output: ['succeeded', 'succeeded'] })
    expect(run.error?.message).toMatch(/^task each failed: 0 of 2 items did not succeed; the first: input of each: /)
    expect(run.taskRuns[0]).toMatchObject({ total: 2, dispatched: 2, succeeded: 2 })
  })

  it('runs so many at a time as an expression says', () => {
    const text = (timeout: string) => `
timeout: ${timeout}
tasks: [{ name: each, action: act, with_items: [1, 2, 3, 4], concurrency: "{{ 1 + 1 }}", input: { afterMs: 1000 } }]
`
    expect(play(text('2100ms')).state).toBe('succeeded')
    expect(play(text('1900ms'))).toMatchObject({
      state: 'failed',
      error: { code: 'FP_RUN_TIMED_OUT', message: 'the run took longer than its timeout' },
    })
  })
})

describe('other workflows', () => {
  it('are items like others, with their parameters checked and their output as result', () => {
    const run = play(
      `
tasks:
  - { name: one, action: workflow.inner, input: { n: 7 }, next: [{ do: each }] }
  - name: each
    action: workflow.inner
    with_items: [1, 2, 3, 4]
    concurrency: 2
    input: { n: "{{ item }}" }
    next: [{ when: "{{ failed() }}", do: after }]
  - { name: after, action: core.echo, input: "{{ tasks.each.items.map(i, i.status) }}" }
output: { one: "{{ tasks.one.result }}", each: "{{ tasks.each.result }}", after: "{{ tasks.after.result }}" }
`,
      { played },
    )
    expect(run).toMatchObject({ state: 'succeeded', output: { one: { doubled: 14 } } })
    expect(run.path).toEqual(['one#1 succeeded', 'each#1 failed', 'after#1 succeeded'])
    expect((run.output as { after: Json }).after).toContain('failed')
  })

  it('are refused with parameters that do not fit', () => {
    const run = play('tasks: [{ name: sub, action: workflow.inner, input: { n: x } }]', { played })
    expect(run).toMatchObject({
      state: 'failed',
      error: {
        code: 'FP_WORKFLOW_PARAMETERS',
        message: 'task sub failed: workflow inner: the parameter n must be a whole number, not "x"',
      },
    })
  })

  it('may be in each other, but not without end', () => {
    const loop = workflowOf('name: loop\ntasks: [{ name: again, action: workflow.loop }]').definition
    const run = play('tasks: [{ name: go, action: workflow.loop }]', { played: new Map([['loop', loop]]) })
    expect(run.state).toBe('failed')
    expect(run.error?.code).toBe('FP_RUN_TOO_DEEP')
    expect(run.error?.message).toContain(
      `runs may be ${limits.runDepthMax} deep in each other, and this would be one more: w → loop → loop → … → loop → loop → loop`,
    )
  })

  it('are cancelled when their task has timed out', () => {
    const slow = workflowOf('name: slow\ntasks: [{ name: a, wait_for: { signal: never } }]').definition
    const run = play('tasks: [{ name: sub, action: workflow.slow, timeout: 1s }]', {
      played: new Map([['slow', slow]]),
    })
    expect(run).toMatchObject({
      state: 'failed',
      path: ['sub#1 timed_out'],
      error: { code: 'FP_TIMED_OUT', message: 'task sub timed out: timed out after 1000 ms', task: 'sub' },
    })
  })
})

describe('a wait', () => {
  it('for a time, or for a while, ends by itself', () => {
    const run = play(`
tasks:
  - { name: nap, action: core.sleep, input: { for: 5s }, next: [{ do: until }] }
  - { name: until, action: core.sleep, input: { until: "{{ 10000 }}" }, next: [{ do: date }] }
  - { name: date, wait_for: { time: "1970-01-01T00:00:20Z" } }
`)
    expect(run.state).toBe('succeeded')
    expect(run.taskRuns.map(({ startedMs }) => startedMs)).toEqual([0, 5_000, 10_000])
    expect(run.taskRuns.map(({ input }) => input)).toEqual([
      { for: '5s' },
      { until: 10_000 },
      { at: '1970-01-01T00:00:20Z' },
    ])
  })

  it.each([
    [
      'a while',
      'action: core.sleep, input: { for: "{{ parameters.x }}" }',
      'soon',
      `its duration must be like '30s' or '2d', not "soon"`,
    ],
    [
      'a time',
      'wait_for: { time: "{{ parameters.x }}" }',
      'soon',
      'its time must be a timestamp like 2030-01-31T08:00:00Z, not "soon"',
    ],
    [
      'nothing',
      'wait_for: { time: "{{ parameters.x }}" }',
      null,
      'its time must be a timestamp like 2030-01-31T08:00:00Z, not null',
    ],
    [
      'the year 10000',
      'wait_for: { time: "{{ parameters.x }}" }',
      253_402_300_800_000,
      'its time must be a timestamp like 2030-01-31T08:00:00Z, not 253402300800000',
    ],
    ['a run', 'wait_for: { run: "{{ parameters.x }}" }', 'x', 'its run must be the id of a run, not "x"'],
    ['its own end', 'wait_for: { run: "{{ run.id }}" }', null, 'a run cannot wait for its own end'],
  ])('for %s that cannot be fails its task', (_, wait, x, message) => {
    const run = play(`parameters: { x: {} }\ntasks: [{ name: a, ${wait} }]`, { parameters: { x } })
    expect(run).toMatchObject({
      state: 'failed',
      path: ['a#1 failed'],
      error: { code: 'FP_INPUT_INVALID', message: `task a failed: ${message}` },
    })
  })

  it('for an answer asks until it expires, and says when that is', () => {
    const text = `
tasks:
  - name: ask
    action: core.ask
    input: { title: Go?, expires: 1m }
    next: [{ when: "{{ timed_out() }}", do: late }]
  - { name: late, action: core.echo, input: "{{ tasks.ask.error }}" }
output: "{{ tasks.late.result }}"
`
    const run = play(text)
    expect(run).toMatchObject({
      state: 'succeeded',
      path: ['ask#1 timed_out', 'late#1 succeeded'],
      output: { code: 'FP_NOT_ANSWERED', message: 'nobody answered in time' },
    })
    expect(run.taskRuns[0]?.input).toEqual({
      title: 'Go?',
      form: {},
      expires: '1m',
      expiresAt: '1970-01-01T00:01:00.000Z',
    })
    expect(play(text, { answers: new Map([['ask', [{ ok: 1 }]]]) })).toMatchObject({ path: ['ask#1 succeeded'] })
  })

  it('that takes longer than its timeout has timed out', () => {
    expect(play('tasks: [{ name: a, wait_for: { signal: go }, timeout: 2s }]')).toMatchObject({
      state: 'failed',
      path: ['a#1 timed_out'],
      error: { code: 'FP_TIMED_OUT', message: 'task a timed out: timed out after 2000 ms' },
    })
  })

  it('for a signal takes the oldest of its name, one for each wait', () => {
    const run = play(
      `
tasks:
  - { name: nap, action: core.sleep, input: { for: 1s }, next: [{ do: first }] }
  - { name: first, wait_for: { signal: go }, next: [{ do: second }] }
  - { name: second, wait_for: { signal: go }, next: [{ do: third }] }
  - { name: third, wait_for: { signal: other } }
output: ["{{ tasks.first.result }}", "{{ tasks.second.result }}", "{{ tasks.third.result }}"]
`,
      {
        signals: [
          { name: 'other', payload: 'o', afterMs: 0 },
          { name: 'go', payload: 1, afterMs: 0 },
          { name: 'go', payload: 2, afterMs: 2_000 },
        ],
      },
    )
    expect(run).toMatchObject({ state: 'succeeded', output: [1, 2, 'o'] })
  })
})

describe('what needs nobody', () => {
  it.each([
    ['core.fail, with a message and a code', 'action: core.fail, input: { message: bad, code: BAD }', 'BAD', 'bad'],
    [
      'core.fail, with neither',
      'action: core.fail, input: { message: "{{ null }}" }',
      'FP_CORE_FAIL',
      'failed by core.fail',
    ],
    [
      'core.fail, with what is no text',
      'action: core.fail, input: { message: "{{ [1] }}", code: "{{ 7 }}" }',
      '7',
      '[1]',
    ],
  ])('ends at once: %s', (_, action, code, message) => {
    expect(play(`tasks: [{ name: a, ${action} }]`).error).toEqual({
      code,
      message: `task a failed: ${message}`,
      task: 'a',
    })
  })

  it('gives nothing, or what it was given', () => {
    const run = play(`
tasks: [{ name: a, action: core.noop }, { name: b, action: core.echo, input: { x: [1] } }]
output: ["{{ tasks.a.result }}", "{{ tasks.b.result }}"]
`)
    expect(run.output).toEqual([null, { x: [1] }])
  })

  it('may begin after a delay', () => {
    const run = play(
      'tasks: [{ name: a, action: core.noop, delay: 3s, next: [{ do: b }] }, { name: b, action: core.noop }]',
    )
    expect(run.taskRuns.map(({ startedMs }) => startedMs)).toEqual([0, 3_000])
  })
})

describe('the output of a run', () => {
  it('that cannot be told fails it', () => {
    const run = play('parameters: { x: {} }\ntasks: [{ name: a, action: core.noop }]\noutput: "{{ parameters.x.y }}"', {
      parameters: { x: {} },
    })
    expect(run).toMatchObject({ state: 'failed', path: ['a#1 succeeded'], output: null })
    expect(run.error).toMatchObject({ code: 'FP_EXPRESSION', message: expect.stringMatching(/^output: /) })
  })

  it('of one that failed is as much as can be told', () => {
    const text = 'parameters: { x: {} }\ntasks: [{ name: a, action: core.fail, input: { message: bad } }]\noutput: '
    const scene = { parameters: { x: {} } }
    const error = { code: 'FP_CORE_FAIL' }
    expect(play(`${text}{ a: 1, b: "{{ parameters.x.y }}" }`, scene)).toMatchObject({
      output: { a: 1, b: null },
      error,
    })
    expect(play(`${text}"{{ parameters.x.y }}"`, scene)).toMatchObject({ output: null, error })
  })

  it('is that vars cannot be made, then nothing begins', () => {
    const run = play(
      'parameters: { x: {} }\nvars: { v: "{{ parameters.x.y }}" }\ntasks: [{ name: a, action: core.noop }]',
      {
        parameters: { x: {} },
      },
    )
    expect(run).toMatchObject({ state: 'failed', path: [] })
    expect(run.error).toMatchObject({ code: 'FP_EXPRESSION', message: expect.stringMatching(/^vars: /) })
  })
})

describe('the tries of a job', () => {
  it.each([
    ['as many as the workflow says', 'retry: { count: 2, delay: 1s }', 2, 'succeeded'],
    ['and not one more', 'retry: { count: 1, delay: 1s }', 2, 'failed'],
    [
      'only while the condition holds',
      `retry: { count: 5, when: "{{ attempt < 2 && error.code == 'FLAKY' }}" }`,
      2,
      'failed',
    ],
    ['not if the condition cannot be told', 'retry: { count: 5, when: "{{ error.message.nothing }}" }', 1, 'failed'],
  ])('are %s', (_, retry, flaky, status) => {
    const run = play(`tasks: [{ name: a, action: act, input: { flaky: ${flaky} }, ${retry} }]`)
    expect(run.path).toEqual([`a#1 ${status}`])
  })

  it('end when they take too long', () => {
    expect(play('tasks: [{ name: a, action: act, timeout: 1s, input: { afterMs: 2000 } }]')).toMatchObject({
      state: 'failed',
      path: ['a#1 timed_out'],
      error: { code: 'FP_TIMED_OUT', task: 'a' },
    })
  })
})
