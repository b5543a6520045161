import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { defaults } from '../../src/limits.js'
import { type TaskOptions, task } from '../../src/task/task.js'
import { validated } from '../../src/task/validate.js'

const input = z.object({ orderId: z.string() })
const run = () => 'done'

describe('a task', () => {
  it('has the documented defaults', () => {
    expect(task('charge', { input, run })).toMatchObject({
      name: 'charge',
      queue: defaults.queue,
      priority: defaults.priority,
      lossesMax: defaults.lossesMax,
      timeoutMs: defaults.timeoutMs,
      leaseMs: defaults.leaseMs,
      retry: { limit: defaults.retryLimit },
      output: undefined,
    })
  })

  it('takes what is given', () => {
    const made = task('charge', {
      input,
      run,
      queue: 'money',
      priority: -5,
      losses: 0,
      timeout: '1h',
      lease: '5s',
      retry: { limit: 0 },
    })
    expect(made).toMatchObject({
      queue: 'money',
      priority: -5,
      lossesMax: 0,
      timeoutMs: 3_600_000,
      leaseMs: 5_000,
      retry: { limit: 0 },
    })
    expect(task('charge', { input, run, timeout: false }).timeoutMs).toBeUndefined()
  })

  it.each<[string, unknown, string, string]>([
    ['', {}, 'FP_OPTION_INVALID', 'The task’s name must be a non-empty string'],
    ['a\u0000', {}, 'FP_OPTION_INVALID', 'The task’s name contains a control character'],
    ['charge', { run: undefined }, 'FP_OPTION_INVALID', 'run of task charge must be a function'],
    ['charge', { input: undefined }, 'FP_OPTION_INVALID', 'input of task charge must be a Standard Schema validator'],
    ['charge', { input: { type: 'object' } }, 'FP_OPTION_INVALID', 'input of task charge must be a Standard Schema'],
    ['charge', { output: {} }, 'FP_OPTION_INVALID', 'output of task charge must be a Standard Schema validator'],
    ['charge', { prioritty: 5 }, 'FP_OPTION_INVALID', 'task charge has no option "prioritty"'],
    [
      'charge',
      { priority: 101 },
      'FP_OPTION_INVALID',
      'priority of task charge must be a whole number from -100 to 100',
    ],
    ['charge', { queue: '' }, 'FP_OPTION_INVALID', 'queue of task charge must be a non-empty string'],
    ['charge', { losses: -1 }, 'FP_OPTION_INVALID', 'losses of task charge must be a whole number from 0'],
    ['charge', { retry: { limit: -1 } }, 'FP_OPTION_INVALID', 'limit of retry of task charge must be a whole number'],
    ['charge', { lease: '1ms' }, 'FP_DURATION_INVALID', 'lease of task charge is "1ms"; it must be from 1s to 1d'],
    ['charge', { lease: '2d' }, 'FP_DURATION_INVALID', 'lease of task charge is "2d"; it must be from 1s to 1d'],
    [
      'charge',
      { timeout: '-1s' },
      'FP_DURATION_INVALID',
      'timeout of task charge is "-1s"; it must be from 1ms to 24d',
    ],
    ['charge', { timeout: 0 }, 'FP_DURATION_INVALID', 'timeout of task charge is 0; it must be from 1ms to 24d'],
    [
      'charge',
      { timeout: '30d' },
      'FP_DURATION_INVALID',
      'timeout of task charge is "30d"; it must be from 1ms to 24d',
    ],
    ['charge', { timeout: true }, 'FP_DURATION_INVALID', 'timeout of task charge is true'],
  ])('%j with %o is refused', (name, options, code, message) => {
    const all = { input, run, ...(options as object) } as unknown as TaskOptions<typeof input, undefined, string>
    expect(() => task(name, all)).toThrow(expect.objectContaining({ code, message: expect.stringContaining(message) }))
  })

  it('needs options', () => {
    expect(() => task('charge', undefined as never)).toThrow(expect.objectContaining({ code: 'FP_OPTION_INVALID' }))
  })
})

describe('validation', () => {
  it('gives back what the schema makes of the value', async () => {
    expect(await validated(z.object({ n: z.coerce.number().default(7) }), {}, 'the input')).toEqual({ n: 7 })
  })

  it('names every problem and its place, at once or when the schema answers', async () => {
    const schema = z.object({ a: z.string(), list: z.array(z.number()) })
    const value = { a: 1, list: [1, 'x'] }
    const later = {
      '~standard': { ...schema['~standard'], validate: async (given: unknown) => schema['~standard'].validate(given) },
    }
    await expect(validated(later, value, 'the input')).rejects.toThrow(/the input: a: .*; list\.1: /)
    expect(() => validated(schema, value, 'the input')).toThrow(
      expect.objectContaining({
        code: 'FP_INPUT_INVALID',
        message: expect.stringMatching(/the input: a: .*; list\.1: /),
      }),
    )
  })

  it('does not name thousands', () => {
    const value = Array.from({ length: 1_000 }, () => 'x')
    expect(() => validated(z.array(z.number()), value, 'the input')).toThrow(/; and 990 more$/)
  })
})
