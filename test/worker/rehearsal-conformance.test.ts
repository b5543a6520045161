import { expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { fencepost, type Json, NonRetryable, task } from '../../src/index.js'
import { playInMemory } from '../../src/workflow/memory-play.js'
import type { Outcome } from '../../src/workflow/rehearsed-items.js'
import { workflowOf } from '../harness/workflows.js'
import { setup } from '../harness/setup.js'

/** What the action does is told by its input, so that workers and memory do the same. */
interface ActInput {
  readonly fail?: string
  /** How many tries fail. */
  readonly flaky?: number
  readonly give?: Json
}

function outcomeOf(input: ActInput | null, attempt: number): Outcome {
  if (input?.fail) return { fail: { message: input.fail, code: 'ACT' }, afterMs: 0 }
  if (attempt <= (input?.flaky ?? 0)) return { fail: { message: 'flaky', code: 'FLAKY' }, afterMs: 0 }
  return { result: input?.give ?? null, afterMs: 0 }
}

const inner = `
name: inner
parameters: { n: integer }
tasks:
  - { name: a, action: act, input: { give: "{{ parameters.n }}", fail: "{{ parameters.n == 3 ? 'three' : '' }}" } }
output: { doubled: "{{ tasks.a.result * 2 }}" }
`

const workflows: readonly [string, string][] = [
  [
    'branches, a join and publishing',
    `
vars: { sum: 0, seen: [] }
tasks:
  - { name: a, action: act, input: { give: 2 }, next: [{ publish: { sum: "{{ result() }}" }, do: [b, c] }] }
  - { name: b, action: act, input: { give: "{{ vars.sum }}" }, next: [{ do: d }] }
  - { name: c, action: act, input: { give: 5 }, next: [{ do: d }] }
  - { name: d, join: all, action: core.echo, input: "{{ tasks.b.result + tasks.c.result }}" }
output: { d: "{{ tasks.d.result }}", sum: "{{ vars.sum }}" }
`,
  ],
  [
    'a shared target without a join',
    `
tasks:
  - { name: a, action: act, next: [{ do: c }] }
  - { name: b, action: act, next: [{ do: c }] }
  - { name: c, action: act, input: { give: 1 } }
output: "{{ tasks.c.ordinal }}"
`,
  ],
  [
    'items of which one fails',
    `
tasks:
  - name: each
    action: act
    with_items: [1, 2, 3, 4]
    input: { give: "{{ item }}", fail: "{{ item == 2 ? 'two' : '' }}" }
    on_item_failure: continue
    next: [{ do: after }]
  - { name: after, action: core.echo, input: "{{ tasks.each.items.map(i, i.status) }}" }
output: { all: "{{ tasks.each.result }}", after: "{{ tasks.after.result }}" }
`,
  ],
  [
    'items one at a time, of which the second fails',
    `
tasks:
  - name: each
    action: act
    with_items: [1, 2, 3, 4]
    concurrency: 1
    input: { give: "{{ item }}", fail: "{{ item == 2 ? 'two' : '' }}" }
    next: [{ when: "{{ failed() }}", do: after }]
  - { name: after, action: core.echo, input: "{{ tasks.each.items.map(i, i.status) }}" }
output: "{{ tasks.after.result }}"
`,
  ],
  [
    'sub-workflows that begin after a delay, one at a time',
    `
tasks:
  - { name: each, action: workflow.inner, delay: 10ms, with_items: [1, 2], concurrency: 1, input: { n: "{{ item }}" } }
output: "{{ tasks.each.result }}"
`,
  ],
  [
    'a failure at once, beside what has not begun',
    `
tasks:
  - { name: a, action: core.fail, input: { message: no } }
  - { name: b, action: act }
`,
  ],
  [
    'a cycle, and a task that is activated again',
    `
vars: { n: 0 }
tasks:
  - { name: begin, action: core.noop, next: [{ do: work }] }
  - name: work
    action: act
    input: { give: "{{ vars.n }}" }
    next:
      - { when: "{{ result() < 3 }}", publish: { n: "{{ vars.n + 1 }}" }, do: rest }
      - { when: "{{ result() == 3 }}", publish: { n: 100 }, do: retry }
  - { name: rest, action: core.sleep, input: { for: 1ms }, next: [{ do: work }] }
output: { n: "{{ vars.n }}", times: "{{ tasks.work.ordinal }}" }
`,
  ],
  [
    'retries, and a failure that is dealt with',
    `
tasks:
  - name: flaky
    action: act
    input: { flaky: 2, give: at last }
    retry: { count: 3, delay: 1ms }
    next: [{ when: "{{ succeeded() }}", do: broken }]
  - name: broken
    action: act
    input: { flaky: 9 }
    retry: { count: 2, delay: 1ms, when: "{{ error.code == 'FLAKY' && attempt < 2 }}" }
    next: [{ when: "{{ failed() }}", do: mend }]
  - { name: mend, action: core.echo, input: "{{ tasks.broken.error.code }}" }
output: { flaky: "{{ tasks.flaky.result }}", mend: "{{ tasks.mend.result }}" }
`,
  ],
  [
    'a failure that nobody deals with, while others run',
    `
tasks:
  - { name: a, action: act, input: { fail: no }, next: [{ when: "{{ succeeded() }}", do: b }] }
  - { name: b, action: act }
output: { a: "{{ tasks.a.status }}", b: "{{ tasks.b.status }}" }
`,
  ],
  [
    'a join that can no longer be met',
    `
tasks:
  - { name: a, action: act, next: [{ do: c }] }
  - { name: b, action: act, input: { give: 1 }, next: [{ when: "{{ result() == 2 }}", do: c }] }
  - { name: c, join: all, action: act }
`,
  ],
  [
    'a join of some, and items of an empty list',
    `
tasks:
  - { name: a, action: act, next: [{ do: c }] }
  - { name: b, action: act, with_items: [], next: [{ do: c }] }
  - { name: c, join: 1, action: core.echo, input: "{{ run.workflow }}" }
output: "{{ tasks.c.ordinal }}"
`,
  ],
  [
    'sub-workflows, of which one fails',
    `
tasks:
  - { name: one, action: workflow.inner, input: { n: 7 }, next: [{ do: each }] }
  - name: each
    action: workflow.inner
    with_items: [1, 2, 3]
    concurrency: 2
    input: { n: "{{ item }}" }
    next: [{ when: "{{ failed() }}", do: after }]
  - { name: after, action: core.echo, input: "{{ tasks.each.items.map(i, i.status) }}" }
output: { one: "{{ tasks.one.result }}", each: "{{ tasks.each.result }}", after: "{{ tasks.after.result }}" }
`,
  ],
  [
    'an expression that fails',
    `
tasks:
  - { name: a, action: act, input: { give: {} }, next: [{ when: "{{ result().missing == 1 }}", do: b }, { when: "{{ failed() }}", do: c }] }
  - { name: b, action: act }
  - { name: c, action: core.echo, input: "{{ tasks.a.error.code }}" }
output: "{{ tasks.c.result }}"
`,
  ],
]

it('comes in memory to what workers come to in the database', async () => {
  const { url } = await setup()
  const fp = await fencepost({ database: url, migrate: false })
  onTestFinished(() => fp.close())
  const act = task('act', {
    input: z.any(),
    retry: { limit: 0 },
    run: (input: ActInput | null, { attempt }) => {
      const outcome = outcomeOf(input, attempt)
      if ('result' in outcome) return outcome.result as number
      const { message, code } = 'fail' in outcome ? outcome.fail : { message: '', code: '' }
      throw Object.assign(input?.fail ? new NonRetryable(message) : new Error(message), { code })
    },
  })
  for (let n = 0; n < 2; n++) await fp.work([act], { poll: '20ms' })
  await fp.workflows.deploy(workflowOf(inner))

  for (const [name, text] of workflows) {
    const workflow = workflowOf(`name: w\n${text}`)
    const { id, result } = await fp.workflows.start(workflow, {})
    await result({ timeout: '20s' }).catch(() => {})
    const stored = await fp.workflows.run(id)
    const played = playInMemory(workflow.definition, {
      parameters: {},
      startMs: 0,
      act: ({ input }, attempt) => outcomeOf(input as ActInput | null, attempt),
      answers: new Map(),
      signals: [],
      played: new Map([['inner', workflowOf(inner).definition]]),
    })
    expect({ name, ...seen(played) }).toEqual({ name, ...seen(stored) })
  }
})

interface Seen {
  readonly state: string
  readonly output: Json
  readonly vars: object
  readonly error: { readonly code?: string | undefined; readonly message: string } | null
  readonly taskRuns: readonly {
    readonly task: string
    readonly ordinal: number
    readonly state: string
    readonly total: number
    readonly succeeded: number
    readonly failed: number
  }[]
}

/** What must be the same, whoever was faster. */
function seen({ state, output, vars, error, taskRuns }: Seen): object {
  const each = taskRuns.map((run) => [run.task, run.ordinal, run.state, run.total, run.succeeded, run.failed].join(' '))
  return { state, output, vars, error: error && [error.code, error.message], taskRuns: each.sort() }
}
