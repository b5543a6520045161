import { describe, expectTypeOf, it } from 'vitest'
import { z } from 'zod'
import type { Fencepost } from '../../src/client/fencepost.js'
import type { Json } from '../../src/job/json.js'
import type { Stored } from '../../src/task/stored.js'
import type { JobContext } from '../../src/task/job-context.js'
import { type Task, task } from '../../src/task/task.js'

// Nothing here runs: the compiler is the test. A misuse that compiles is an unused @ts-expect-error, which is an error.

const order = z.object({ orderId: z.string(), cents: z.number() })
interface Order {
  orderId: string
  cents: number
}
const charge = task('charge', { input: order, run: async () => ({ chargeId: 'c-1' }) })

describe('types flow from the task', () => {
  it('to the handler', () => {
    task('charge', {
      input: order,
      run: (input, job) => {
        expectTypeOf(input).toEqualTypeOf<Order>()
        expectTypeOf(job).toEqualTypeOf<JobContext>()
        expectTypeOf(job.signal).toEqualTypeOf<AbortSignal>()
      },
    })
    task('coerced', {
      input: z.object({ at: z.string().transform((text) => new Date(text)), n: z.number().default(1) }),
      run: (input) => expectTypeOf(input).toEqualTypeOf<{ at: Date; n: number }>(),
    })
  })

  it('to enqueue and its result', () => {
    expectTypeOf(charge).toEqualTypeOf<Task<Order, { chargeId: string }>>()
    const use = async (fp: Fencepost) => {
      const enqueued = await fp.enqueue(charge, { orderId: 'o-1', cents: 5 }, { delay: '5m', priority: 1 })
      expectTypeOf(enqueued.id).toEqualTypeOf<string>()
      expectTypeOf(enqueued.answer).toEqualTypeOf<'enqueued' | 'existing' | 'pending' | 'discarded'>()
      expectTypeOf(await enqueued.result({ timeout: '5s' })).toEqualTypeOf<{ chargeId: string }>()
      const [first] = await fp.enqueueMany(charge, [{ input: { orderId: 'o-1', cents: 5 }, queue: 'money' }])
      expectTypeOf(await first?.result()).toEqualTypeOf<{ chargeId: string } | undefined>()
      expectTypeOf(await fp.result('id')).toEqualTypeOf<Json>()
      expectTypeOf(await fp.result<{ chargeId: string }>('id')).toEqualTypeOf<{ chargeId: string }>()
    }
    expectTypeOf(use).toBeFunction()
  })

  it('from what goes into the schema, not from what comes out of it', () => {
    const parsed = task('parsed', { input: z.string().transform(Number), run: (n) => n })
    expectTypeOf(parsed).toEqualTypeOf<Task<string, number>>()
    const optional = task('optional', { input: z.object({ n: z.number().default(1) }), run: ({ n }) => n })
    expectTypeOf(optional).toEqualTypeOf<Task<{ n?: number | undefined }, number>>()
  })

  it('from the output schema to the handler and to the result', () => {
    const checked = task('checked', {
      input: order,
      output: z.object({ at: z.string().transform((text) => new Date(text)) }),
      run: () => ({ at: '2025-01-01' }),
    })
    // The schema makes a Date of it, which is stored as text.
    expectTypeOf(checked).toEqualTypeOf<Task<Order, { at: string }>>()
  })

  it('through the JSON in which a result is stored', () => {
    const report = task('report', {
      input: order,
      run: () => ({ at: new Date(), note: undefined as string | undefined }),
    })
    expectTypeOf(report).toEqualTypeOf<Task<Order, { at: string; note: string | undefined }>>()
    const silent = task('silent', { input: order, run: async () => {} })
    expectTypeOf(silent).toEqualTypeOf<Task<Order, null>>()
    expectTypeOf<Stored<[1, Date]>>().toEqualTypeOf<[1, string]>()
    expectTypeOf<Stored<readonly Date[]>>().toEqualTypeOf<readonly string[]>()
    expectTypeOf<Stored<{ a?: Date }>>().toEqualTypeOf<{ a?: string }>()
    expectTypeOf<Stored<'a' | 5 | null>>().toEqualTypeOf<'a' | 5 | null>()
    expectTypeOf<Stored<unknown>>().toEqualTypeOf<unknown>()
    expectTypeOf<Stored<() => void>>().toEqualTypeOf<never>()
    expectTypeOf<Stored<Json>>().toEqualTypeOf<Json>()
  })

  it('to listeners', () => {
    const use = (fp: Fencepost) => {
      fp.on('failed', (event) => expectTypeOf(event.error).toEqualTypeOf<unknown>())
      return fp.on('lost', (event) => expectTypeOf(event.leaseId).toEqualTypeOf<number>())
    }
    expectTypeOf(use).returns.toEqualTypeOf<() => void>()
  })
})

describe('a misuse is a type error', () => {
  it('of enqueue', () => {
    const use = async (fp: Fencepost) => {
      // @ts-expect-error: a member is missing
      await fp.enqueue(charge, { orderId: 'o-1' })
      // @ts-expect-error: a member has another type
      await fp.enqueue(charge, { orderId: 'o-1', cents: '5' })
      // @ts-expect-error: no such member
      await fp.enqueue(charge, { orderId: 'o-1', cents: 5, currency: 'EUR' })
      // @ts-expect-error: a name is not a task
      await fp.enqueue('charge', { orderId: 'o-1', cents: 5 })
      // @ts-expect-error: no such unit
      await fp.enqueue(charge, { orderId: 'o-1', cents: 5 }, { delay: '5 minutes' })
      // @ts-expect-error: no such option
      await fp.enqueue(charge, { orderId: 'o-1', cents: 5 }, { prioritty: 5 })
      // @ts-expect-error: one of the batch does not fit
      await fp.enqueueMany(charge, [{ input: { orderId: 'o-1', cents: 5 } }, { input: {} }])
      // @ts-expect-error: no such event
      fp.on('finnished', () => {})
    }
    expectTypeOf(use).toBeFunction()
  })

  it('of a result', () => {
    const use = async (fp: Fencepost) => {
      const { result } = await fp.enqueue(charge, { orderId: 'o-1', cents: 5 })
      // @ts-expect-error: no such member
      return (await result()).orderId
    }
    expectTypeOf(use).toBeFunction()
  })

  it('of task', () => {
    const use = () => {
      // @ts-expect-error: there is no handler
      task('charge', { input: order })
      // @ts-expect-error: there is no schema
      task('charge', { run: () => {} })
      // @ts-expect-error: not a Standard Schema
      task('charge', { input: { type: 'object' }, run: () => {} })
      // @ts-expect-error: no such backoff
      task('charge', { input: order, retry: { backoff: 'fibonacci' }, run: () => {} })
      // @ts-expect-error: no such option
      task('charge', { input: order, prioritty: 1, run: () => {} })
      // @ts-expect-error: the handler reads what the schema does not have
      task('charge', { input: order, run: (input) => input.currency })
      // @ts-expect-error: the handler gives what the output schema does not take
      task('charge', { input: order, output: z.object({ id: z.string() }), run: () => ({ id: 5 }) })
    }
    expectTypeOf(use).toBeFunction()
  })

  it('of a list of tasks: it may mix inputs', () => {
    const other = task('other', { input: z.string(), run: (text) => text.length })
    const use = (fp: Fencepost) => fp.work([charge, other], { concurrency: 5, poll: '1s', grace: '10s' })
    expectTypeOf(use).toBeFunction()
  })
})
