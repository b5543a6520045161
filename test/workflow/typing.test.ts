import { describe, expectTypeOf, it } from 'vitest'
import { z } from 'zod'
import type { Json } from '../../src/job/json.js'
import { task } from '../../src/task/task.js'
import { workflow } from '../../src/workflow/builder.js'
import type { Workflow } from '../../src/workflow/workflow.js'

// Nothing here runs: the compiler is the test. A misuse that compiles is an unused @ts-expect-error, which is an error.

const build = task('ci.build', {
  input: z.object({ version: z.string(), layers: z.array(z.object({ size: z.number() })).optional() }),
  run: () => ({ image: 'app' }),
})

/** As a client takes it. */
declare function start<Parameters>(started: Workflow<Parameters>, parameters: NoInfer<Parameters>): void

const release = () =>
  workflow('release', {
    parameters: {
      version: { type: 'string', required: true },
      count: { type: 'integer', default: 3 },
      regions: 'array',
      labels: { type: 'object' },
      dry: 'boolean',
      anything: null,
    },
    vars: { image: null, tries: 0 },
    tasks: {
      build: { action: build, next: [{ do: 'deploy' }] },
      deploy: { action: 'ops.deploy' },
    },
  })

describe('types flow from the declaration', () => {
  it('to what a run is started with', () => {
    type Given = ReturnType<typeof release> extends Workflow<infer Parameters> ? Parameters : never
    expectTypeOf<Given>().toEqualTypeOf<{
      readonly version: string
      readonly count?: number | null | undefined
      readonly regions?: readonly Json[] | null | undefined
      readonly labels?: { readonly [key: string]: Json } | null | undefined
      readonly dry?: boolean | null | undefined
      readonly anything?: Json | undefined
    }>()
    const use = (made: ReturnType<typeof release>) => {
      start(made, { version: '1.2.3' })
      start(made, { version: '1.2.3', count: 5, regions: ['eu'], labels: { a: 1 }, dry: true, anything: [1] })
    }
    expectTypeOf(use).toBeFunction()
  })

  it('to a workflow without parameters', () => {
    const use = () => {
      const none = workflow('none', { tasks: { a: { action: 'core.noop' } } })
      start(none, {})
      // @ts-expect-error: there is none
      start(none, { version: 1 })
    }
    expectTypeOf(use).toBeFunction()
  })

  it('to the input of a task, in which any part may be an expression', () => {
    const use = () => {
      workflow('w', { tasks: { a: { action: build, input: '{{ vars.input }}' } } })
      workflow('w', { tasks: { a: { action: build, input: { version: 'v{{ run.version }}' } } } })
      workflow('w', { tasks: { a: { action: build, input: { version: '1', layers: '{{ vars.layers }}' } } } })
      workflow('w', { tasks: { a: { action: build, input: { version: '1', layers: [{ size: '{{ item }}' }] } } } })
      workflow('w', { tasks: { a: { action: 'any.name', input: { whatever: [1, { deep: true }] } } } })
    }
    expectTypeOf(use).toBeFunction()
  })

  it('to every form of a task', () => {
    const use = () =>
      workflow('w', {
        tasks: {
          a: { waitFor: { signal: 'paid' }, timeout: '1d', next: [{ do: 'b' }] },
          b: { waitFor: { approval: { title: 'Go?', form: { why: 'string' }, expires: '3d' } }, next: [{ do: 'c' }] },
          c: { waitFor: { run: '{{ tasks.a.result }}' }, next: [{ do: ['d', 'e'] }] },
          d: {
            waitFor: { time: '2030-01-31T18:00:00Z' },
            next: [{ do: 'noop' }, { when: '{{ failed() }}', do: 'retry' }],
          },
          e: {
            action: release(),
            input: { version: '{{ run.id }}' },
            withItems: { x: [1], y: '{{ vars.y }}' },
            join: 1,
          },
        },
      })
    expectTypeOf(use).returns.toHaveProperty('definition')
  })
})

describe('a misuse is a type error', () => {
  it('of the parameters', () => {
    const use = (made: ReturnType<typeof release>) => {
      // @ts-expect-error: another type
      start(made, { version: 1 })
      // @ts-expect-error: it is required
      start(made, {})
      // @ts-expect-error: no such parameter
      start(made, { version: '1', verbose: true })
      // @ts-expect-error: no such type
      workflow('w', { parameters: { p: 'text' }, tasks: { a: { action: 'x' } } })
      // @ts-expect-error: no such option
      workflow('w', { parameters: { p: { type: 'string', requird: true } }, tasks: { a: { action: 'x' } } })
    }
    expectTypeOf(use).toBeFunction()
  })

  it('of the graph', () => {
    const use = () => {
      // @ts-expect-error: no such task
      workflow('w', { tasks: { a: { action: 'x', next: [{ do: 'bb' }] }, b: { action: 'x' } } })
      // @ts-expect-error: no such task
      workflow('w', { tasks: { a: { action: 'x', next: [{ do: ['b', 'bb'] }] }, b: { action: 'x' } } })
      // @ts-expect-error: no such task, from one that waits
      workflow('w', { tasks: { a: { waitFor: { signal: 's' }, next: [{ do: 'bb' }] }, b: { action: 'x' } } })
      // @ts-expect-error: no such task, from one whose action is a task
      workflow('w', { tasks: { a: { action: build, next: [{ do: 'bb' }] }, b: { action: 'x' } } })
      // @ts-expect-error: a command stands alone
      workflow('w', { tasks: { a: { action: 'x', next: [{ do: ['b', 'fail'] }] }, b: { action: 'x' } } })
      // @ts-expect-error: no such join
      workflow('w', { tasks: { a: { action: 'x', join: 'any' } } })
      // @ts-expect-error: no such var
      workflow('w', { vars: { v: 1 }, tasks: { a: { action: 'x', next: [{ publish: { w: 1 } }] } } })
      // @ts-expect-error: there are no vars
      workflow('w', { tasks: { a: { action: 'x', next: [{ publish: { w: 1 } }] } } })
      // @ts-expect-error: a condition is an expression
      workflow('w', { tasks: { a: { action: 'x', next: [{ when: 'succeeded()' }] } } })
    }
    expectTypeOf(use).toBeFunction()
  })

  it('of a task', () => {
    const use = () => {
      // @ts-expect-error: neither an action nor a wait
      workflow('w', { tasks: { a: { join: 'all' } } })
      // @ts-expect-error: both
      workflow('w', { tasks: { a: { action: 'x', waitFor: { signal: 's' } } } })
      // @ts-expect-error: what is waited for is all the input there is
      workflow('w', { tasks: { a: { waitFor: { signal: 's' }, input: 1 } } })
      // @ts-expect-error: not an action
      workflow('w', { tasks: { a: { action: 5 } } })
      // @ts-expect-error: no such option
      workflow('w', { tasks: { a: { action: 'x', withItms: [] } } })
      // @ts-expect-error: no such unit
      workflow('w', { tasks: { a: { action: 'x', timeout: '5 minutes' } } })
      // @ts-expect-error: no such backoff
      workflow('w', { tasks: { a: { action: 'x', retry: { backoff: 'fibonacci' } } } })
      // @ts-expect-error: the input of the task has another type
      workflow('w', { tasks: { a: { action: build, input: { version: 5 } } } })
      // @ts-expect-error: the input of the task has no such member
      workflow('w', { tasks: { a: { action: build, input: { version: '1', fast: true } } } })
      // @ts-expect-error: a parameter of the workflow is missing
      workflow('w', { tasks: { a: { action: release(), input: { count: 1 } } } })
    }
    expectTypeOf(use).toBeFunction()
  })
})
