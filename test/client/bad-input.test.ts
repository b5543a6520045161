import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { FencepostError } from '../../src/errors.js'
import { fencepost } from '../../src/client/fencepost.js'
import { task } from '../../src/task/task.js'
import { anything, double, open, rowCounts, setupClient } from './setup.js'

/** The call is refused with this code, a message and a hint. */
async function refused(call: Promise<unknown>, code: string, message = '', what = ''): Promise<void> {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  expect(error, what).toBeInstanceOf(FencepostError)
  const expected = { code, message: expect.stringContaining(message), hint: expect.stringMatching(/.{15,}/) }
  expect(error, what).toMatchObject(expected)
}

function nested(depth: number): unknown {
  let value: unknown = 1
  for (let i = 0; i < depth; i++) value = [value]
  return value
}

describe('an input is refused, and nothing is stored, if it', () => {
  it('is not JSON, or too deep, or too large', async () => {
    const { fp, sql } = await setupClient()
    const cycle: unknown[] = []
    cycle.push({ cycle })
    const inputs: [string, unknown, string, string][] = [
      ['is a function', () => 1, 'FP_INPUT_NOT_JSON', 'the input is a function'],
      ['has a symbol', { a: Symbol('s') }, 'FP_INPUT_NOT_JSON', 'the input.a is a symbol'],
      ['has a BigInt', { a: 1n }, 'FP_INPUT_NOT_JSON', 'the input.a is a bigint'],
      ['contains itself', cycle, 'FP_INPUT_NOT_JSON', 'the input[0].cycle contains itself'],
      ['has NaN', { a: Number.NaN }, 'FP_INPUT_NOT_JSON', 'the input.a is NaN'],
      ['has a Map', { a: new Map() }, 'FP_INPUT_NOT_JSON', 'the input.a is an instance of Map'],
      ['has U+0000', { a: '\u0000' }, 'FP_INPUT_NOT_JSON', 'the input.a contains the character U+0000'],
      ['has U+0000 in a name', { '\u0000': 1 }, 'FP_INPUT_NOT_JSON', 'U+0000'],
      ['has a lone surrogate', ['\uD800'], 'FP_INPUT_NOT_JSON', 'the input[0] contains a lone surrogate'],
      ['is nested 10,000 deep', nested(10_000), 'FP_INPUT_TOO_DEEP', 'deeper than 100 levels'],
      ['is over 1 MiB', 'x'.repeat(1_048_576), 'FP_INPUT_TOO_LARGE', 'the input has more than 1048576 bytes'],
    ]
    for (const [what, input, code, message] of inputs) {
      await refused(fp.enqueue(anything, input), code, message, what)
      await refused(fp.enqueueMany(anything, [{ input: 1 }, { input }]), code, message, what)
    }
    expect(await rowCounts(sql)).toMatchObject({ job: 0, ready: 0 })
    expect(await fp.enqueue(anything, 'good')).toMatchObject({ answer: 'enqueued' })
  })

  it('does not fit the schema', async () => {
    const { fp, sql } = await setupClient()
    await refused(fp.enqueue(double, { n: 'x' } as never), 'FP_INPUT_INVALID', 'the input of task double: n: ')
    await refused(fp.enqueue(double, undefined as never), 'FP_INPUT_INVALID', 'the input of task double')
    expect(await rowCounts(sql)).toMatchObject({ job: 0 })
  })

  it('fits the schema only as long as it is not JSON', async () => {
    const { fp } = await setupClient()
    const dated = task('dated', { input: z.object({ at: z.date() }), run: () => {} })
    await refused(fp.enqueue(dated, { at: new Date() }), 'FP_INPUT_INVALID', 'the input of task dated: at: ')
  })

  it('does not fit an asynchronous schema', async () => {
    const { fp, sql } = await setupClient()
    const slow = task('slow', { input: z.string().refine(async (text) => text === 'good', 'not good'), run: () => {} })
    await refused(fp.enqueue(slow, 'bad'), 'FP_INPUT_INVALID', 'not good')
    expect(await fp.enqueue(slow, 'good')).toMatchObject({ answer: 'enqueued' })
    expect(await rowCounts(sql)).toMatchObject({ job: 1 })
  })

  it('does not fit a schema that answers now and then at once: what it says later is nobody’s error', async () => {
    const { fp, sql } = await setupClient()
    const moody = {
      '~standard': {
        version: 1 as const,
        vendor: 'test',
        validate: (value: unknown) =>
          value === 'later'
            ? Promise.reject(new Error('said later'))
            : { issues: [{ message: `not ${String(value)}` }] },
      },
    }
    const unheard: unknown[] = []
    const hear = (error: unknown) => unheard.push(error)
    process.on('unhandledRejection', hear)
    try {
      const mixed = fp.enqueueMany(task('moody', { input: moody, run: () => {} }), [
        { input: 'later' },
        { input: 'now' },
      ])
      await refused(mixed, 'FP_INPUT_INVALID', 'not now')
      await new Promise(setImmediate)
    } finally {
      process.off('unhandledRejection', hear)
    }
    expect(unheard).toEqual([])
    expect(await rowCounts(sql)).toMatchObject({ job: 0 })
  })

  it('is over a limit of the client’s own', async () => {
    const { url } = await setupClient()
    const fp = await open({ database: url, migrate: false, payloadBytesMax: 10 })
    await refused(fp.enqueue(anything, 'ääääää'), 'FP_INPUT_TOO_LARGE', 'the input has 14 bytes, the limit is 10')
    expect(await fp.enqueue(anything, 'ääää')).toMatchObject({ answer: 'enqueued' })
  })

  it('1 MiB exactly is not over the limit', async () => {
    const { fp } = await setupClient()
    const input = 'x'.repeat(1_048_576 - 2)
    const { id } = await fp.enqueue(anything, input)
    expect((await fp.job(id)).payload).toBe(input)
  })
})

describe('a call is refused, and nothing is stored,', () => {
  it('with an option that is malformed or out of range', async () => {
    const { fp, sql } = await setupClient()
    const calls: [string, object, string, string][] = [
      ['a malformed id', { id: 'o-1' }, 'FP_ID_INVALID', '"o-1"'],
      ['an id with SQL', { id: "' or true; --" }, 'FP_ID_INVALID', `"' or true; --"`],
      ['an id that is no text', { id: 5 }, 'FP_ID_INVALID', '5'],
      ['a negative delay', { delay: '-1s' }, 'FP_DURATION_INVALID', 'delay is "-1s"; it must be from 0ms to 3650d'],
      ['an absurd delay', { delay: '4000d' }, 'FP_DURATION_INVALID', 'delay is "4000d"'],
      ['an endless delay', { delay: Number.POSITIVE_INFINITY }, 'FP_DURATION_INVALID', 'delay is Infinity'],
      ['a delay that cannot be read', { delay: 'soon' }, 'FP_DURATION_INVALID', 'delay is "soon"'],
      ['a delay with SQL', { delay: "1s'; drop table job" }, 'FP_DURATION_INVALID', 'delay is'],
      ['an absurd priority', { priority: 101 }, 'FP_OPTION_INVALID', 'a whole number from -100 to 100, not 101'],
      ['a negative, absurd priority', { priority: -32_769 }, 'FP_OPTION_INVALID', 'not -32769'],
      ['half a priority', { priority: 0.5 }, 'FP_OPTION_INVALID', 'not 0.5'],
      ['a priority with SQL', { priority: '0; drop table job' }, 'FP_OPTION_INVALID', 'not "0; drop table job"'],
      ['an empty queue', { queue: ' ' }, 'FP_OPTION_INVALID', 'queue must be a non-empty string'],
      ['a long queue', { queue: 'q'.repeat(201) }, 'FP_OPTION_INVALID', 'queue is longer than 200 characters'],
      ['a queue with U+0000', { queue: 'a\u0000' }, 'FP_OPTION_INVALID', 'queue contains a control character'],
      ['a misspelt option', { prioritty: 5 }, 'FP_OPTION_INVALID', 'a job has no option "prioritty"'],
    ]
    for (const [what, options, code, message] of calls) {
      await refused(fp.enqueue(double, { n: 1 }, options), code, message, what)
      const batch = [{ input: { n: 1 } }, { input: { n: 2 }, ...options }]
      await refused(fp.enqueueMany(double, batch), code, message, what)
    }
    expect(await rowCounts(sql)).toMatchObject({ job: 0, ready: 0, delayed: 0 })
  })

  it('with something else for a task', async () => {
    const { fp, sql } = await setupClient()
    for (const given of ['double', undefined, null, {}, { name: 'double' }, () => 1]) {
      await refused(fp.enqueue(given as never, { n: 1 }), 'FP_TASK_UNKNOWN')
      await refused(fp.work([given as never]), 'FP_TASK_UNKNOWN')
    }
    expect(await rowCounts(sql)).toMatchObject({ job: 0 })
  })

  it('with two tasks of one name, or none, for a worker', async () => {
    const { fp } = await setupClient()
    await refused(fp.work([double, double]), 'FP_TASK_DUPLICATE', 'double')
    await refused(fp.work([]), 'FP_OPTION_INVALID', 'at least one task')
    await refused(fp.work(double as never), 'FP_OPTION_INVALID', 'an array')
    await refused(fp.work([double], { concurrency: 0 }), 'FP_OPTION_INVALID', 'concurrency must be a whole number')
    await refused(fp.work([double], { poll: 0 }), 'FP_DURATION_INVALID', 'poll is 0; it must be from 10ms to 24d')
    await refused(fp.work([double], { poll: '30d' }), 'FP_DURATION_INVALID', 'poll is "30d"')
    await refused(fp.work([double], { grace: '30d' }), 'FP_DURATION_INVALID', 'grace is "30d"')
    await refused(fp.work([double], { polling: '1s' } as object), 'FP_OPTION_INVALID', 'work() has no option "polling"')
  })

  it('with something else for a job id', async () => {
    const { fp } = await setupClient()
    for (const given of ['', 'o-1', "' or true; --", 5, undefined, null, {}]) {
      const id = given as string
      await refused(fp.job(id), 'FP_ID_INVALID')
      await refused(fp.result(id), 'FP_ID_INVALID')
      await refused(fp.cancel(id), 'FP_ID_INVALID')
      await refused(fp.retry(id), 'FP_ID_INVALID')
      await refused(fp.signal(id, 'approved'), 'FP_ID_INVALID')
    }
  })

  it('with options that are no object, or that it does not have', async () => {
    const { fp, add, sql } = await setupClient()
    const id = await add()
    const calls: [string, (options: never) => Promise<unknown>][] = [
      ['enqueue()', (options) => fp.enqueue(anything, 1, options)],
      ['enqueueMany()', (options) => fp.enqueueMany(anything, [], options)],
      ['cancel()', (options) => fp.cancel(id, options)],
      ['retry()', (options) => fp.retry(id, options)],
      ['signal()', (options) => fp.signal(id, 'approved', null, options)],
      ['skip()', (options) => fp.skip(id, options)],
      ['result()', (options) => fp.result(id, options)],
      ['start()', (options) => fp.workflows.start('any', {}, options)],
      ['pause()', (options) => fp.workflows.pause(id, options)],
      ['resume()', (options) => fp.workflows.resume(id, options)],
      ['cancel()', (options) => fp.workflows.cancel(id, options)],
      ['rerun()', (options) => fp.workflows.rerun(id, options)],
      ['signal()', (options) => fp.workflows.signal(id, 'approved', null, options)],
      ['answer()', (options) => fp.workflows.answer(id, 'confirm', {}, options)],
    ]
    for (const [name, call] of calls) {
      await refused(call(null as never), 'FP_OPTION_INVALID', `the options of ${name} must be an object, not null`)
      await refused(call({ transaction: 1 } as never), 'FP_OPTION_INVALID', 'no option "transaction"', name)
    }
    expect(await rowCounts(sql)).toMatchObject({ job: 1, ready: 1, signal: 0, finished: 0 })
  })

  it('with something else for a name or a reason, of a run', async () => {
    const { fp } = await setupClient()
    const id = randomUUID()
    await refused(fp.workflows.taskResult(id, 5 as never), 'FP_OPTION_INVALID', 'task must be a non-empty string')
    await refused(fp.workflows.answer(id, 5 as never), 'FP_OPTION_INVALID', 'task must be a non-empty string')
    await refused(fp.workflows.cancel(id, { reason: 'a\u0000' }), 'FP_OPTION_INVALID', 'reason')
    expect(() => fp.workflows.runs({ workflow: 'a\u0000' })).toThrow(FencepostError)
  })

  it('with a bad signal or a bad reason', async () => {
    const { fp, add, sql } = await setupClient()
    const id = await add()
    await refused(fp.signal(id, ''), 'FP_OPTION_INVALID', 'the signal’s name')
    await refused(fp.signal(id, 'a\u0000'), 'FP_OPTION_INVALID', 'the signal’s name')
    await refused(fp.signal(id, 'approved', { a: 1n }), 'FP_INPUT_NOT_JSON', 'the payload of the signal.a is a bigint')
    await refused(fp.signal(id, 'approved', nested(10_000)), 'FP_INPUT_TOO_DEEP')
    await refused(fp.signal(id, 'approved', 'x'.repeat(1_048_576)), 'FP_INPUT_TOO_LARGE')
    await refused(fp.cancel(id, { reason: '' }), 'FP_OPTION_INVALID', 'reason')
    await refused(fp.cancel(id, { reason: 'a\u0000' }), 'FP_OPTION_INVALID', 'reason')
    expect(await rowCounts(sql)).toMatchObject({ job: 1, ready: 1, signal: 0, finished: 0 })
  })
})

describe('an id that is taken by another job', () => {
  it('is refused, the first job stands, and nothing of the batch is stored', async () => {
    const { fp, sql } = await setupClient()
    const { id } = await fp.enqueue(double, { n: 1 })

    await refused(fp.enqueue(double, { n: 2 }, { id }), 'FP_ID_CONFLICT', id)
    await refused(fp.enqueue(anything, { n: 1 }, { id }), 'FP_ID_CONFLICT', id)
    const batch = [{ input: { n: 3 } }, { input: { n: 2 }, id }, { input: { n: 4 }, delay: '1h' as const }]
    await refused(fp.enqueueMany(double, batch), 'FP_ID_CONFLICT', id)

    expect(await rowCounts(sql)).toMatchObject({ job: 1, ready: 1, delayed: 0 })
    expect(await fp.job(id)).toMatchObject({ payload: { n: 1 } })
  })

  it('is refused within one batch, too', async () => {
    const { fp, sql } = await setupClient()
    const id = randomUUID()
    const batch = [
      { input: { n: 1 }, id },
      { input: { n: 2 }, id },
    ]
    await refused(fp.enqueueMany(double, batch), 'FP_ID_CONFLICT', id)
    expect(await rowCounts(sql)).toMatchObject({ job: 0, ready: 0 })
  })
})

describe('SQL in a string is a string:', () => {
  it('in a task, a queue, an input, a signal, a reason, a worker', async () => {
    const { fp, sql, add, take } = await setupClient()
    const texts = [
      `'; drop schema fencepost cascade; --`,
      `"; drop schema fencepost cascade; --`,
      `x'), ('y`,
      `$$; drop table fencepost.job; $$`,
      `$1 $2 %s %I`,
      `{"a",NULL,b}`,
      `NULL`,
      `\\'; drop table fencepost.job; --`,
      `/* fencepost.job */ fencepost.job`,
      `ä 支付 😀 \u202E`,
    ]
    for (const text of texts) {
      const odd = task(text, { input: z.unknown(), queue: text, run: (input) => input })
      const { id, result } = await fp.enqueue(odd, { [text]: text })
      expect(await fp.job(id)).toMatchObject({ task: text, queue: text, payload: { [text]: text } })
      expect(await fp.signal(id, text, text)).toBe('kept')
      const worker = await fp.work([odd], { poll: '20ms' })
      expect(await result()).toEqual({ [text]: text })
      await worker.stop()

      const cancelled = await add({ queue: text })
      await fp.cancel(cancelled, { reason: text })
      expect(await fp.job(cancelled)).toMatchObject({ reason: text })

      await add({ queue: text, task: text })
      expect(await take({ queue: text, worker: text })).toMatchObject({ queue: text, task: text })
    }
    const stored = new Set(texts)
    const column = async (select: string) => new Set((await sql<{ text: string }>(select)).map((row) => row.text))
    expect(await column('select name as text from fencepost.task')).toEqual(stored)
    expect(await column('select queue as text from fencepost.task')).toEqual(stored)
    expect(await column('select name as text from fencepost.signal')).toEqual(stored)
    expect(await column('select worker as text from fencepost.leased')).toEqual(stored)
  })

  it('a schema name that is more than a name is refused before it reaches the database', async () => {
    const { url, sql } = await setupClient()
    for (const schema of [
      'x"; drop schema fencepost cascade; --',
      "x'",
      'x$$',
      'x.y',
      'X',
      '',
      'pg_x',
      'information_schema',
    ]) {
      await refused(fencepost({ database: url, schema }), 'FP_SCHEMA_NAME_INVALID')
    }
    expect(await sql(`select count(*)::int as n from pg_namespace where nspname like 'x%'`)).toEqual([{ n: 0 }])
  })
})

describe('an option of the client is refused:', () => {
  it.each<[object, string, string]>([
    [{ databse: 'postgres://x' }, 'FP_OPTION_INVALID', 'fencepost() has no option "databse"'],
    [{ poolSize: 0 }, 'FP_OPTION_INVALID', 'poolSize must be a whole number from 1 to 1000, not 0'],
    [{ payloadBytesMax: -1 }, 'FP_OPTION_INVALID', 'payloadBytesMax must be a whole number'],
    [{ payloadBytesMax: 1e9 }, 'FP_OPTION_INVALID', 'payloadBytesMax must be a whole number'],
    [{ databaseRetry: '-1s' }, 'FP_DURATION_INVALID', 'databaseRetry is "-1s"'],
    [{ database: 'mysql://root:secret@localhost/app' }, 'FP_OPTION_INVALID', 'postgres://user:password@host:port/name'],
    [{ database: 'localhost' }, 'FP_OPTION_INVALID', 'postgres://user:password@host:port/name'],
    [{ database: 'postgres://user:secret@local host:x/app' }, 'FP_OPTION_INVALID', 'postgres://user:password@host'],
    [{ database: 5 }, 'FP_OPTION_INVALID', 'postgres://user:password@host:port/name'],
  ])('%o', async (options, code, message) => {
    const call = fencepost(options)
    await refused(call, code, message)
    await expect(call).rejects.toThrow(expect.objectContaining({ message: expect.not.stringContaining('secret') }))
  })
})

it('refuses a workflow that was never checked, and stores nothing of it', async () => {
  const { fp, sql } = await setupClient()
  const name = "'; drop schema fencepost cascade; --"
  for (const wrong of [
    { definition: null },
    { definition: { name, tasks: [] } },
    { definition: { name: 'a\u0000' } },
  ]) {
    await refused(fp.workflows.deploy(wrong as never), 'FP_OPTION_INVALID', 'a workflow')
    await refused(fp.workflows.start(wrong as never, {}), 'FP_OPTION_INVALID', 'a workflow')
  }
  expect(await sql('select * from fencepost.workflow')).toEqual([])
})

it('refuses to listen, to serve or to keep data where that cannot be', async () => {
  const { fp, url } = await setupClient()
  for (const listen of ['localhost', ['postgres://a'], Symbol.iterator, 5]) {
    await refused(fp.work([anything], { listen: listen as never }), 'FP_OPTION_INVALID', 'listen')
  }
  const keys = { a: { secret: 'a' } }
  await refused(fp.serveSqs({ keys, port: 0, host: '192.0.2.1' }), 'FP_SQS_UNAVAILABLE', '192.0.2.1:0: listen')
  await refused(fp.serveSqs({ keys, port: 0, host: 'a\u0000b' }), 'FP_OPTION_INVALID', 'host')
  for (const embedded of [5, { directory: 5 }, { directory: 'a\u0000b' }, { folder: 'a' }]) {
    const call = fencepost({ database: url, migrate: false, embedded: embedded as never })
    await refused(call, 'FP_OPTION_INVALID', 'embedded')
  }
})
