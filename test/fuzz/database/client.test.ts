import fc from 'fast-check'
import { expect, it } from 'vitest'
import { audit } from '../../../src/audit/audit.js'
import { fencepost, task, workflow } from '../../../src/index.js'
import { anything, rowCounts, setupClient } from '../../client/setup.js'
import { hostileText, hostileValue, outcomeOf, runs, seed, someOf } from '../hostile.js'

const id = fc.oneof(fc.uuid(), hostileText)
const durations = fc.oneof(fc.constantFrom('1s', '10ms', 0, '1h'), hostileValue)
const gate = fc.oneof(
  someOf({
    key: fc.oneof(fc.constant('a'), hostileValue),
    limit: fc.oneof(fc.constant(2), hostileValue),
    strict: hostileValue,
  }),
  hostileValue,
)
const jobOptions = someOf({
  id,
  delay: durations,
  priority: fc.oneof(fc.integer({ min: -100, max: 100 }), hostileValue),
  queue: hostileValue,
  gate,
  group: hostileValue,
  onFull: hostileValue,
})

it(`an enqueue is done, or refused as a whole (seed ${seed})`, async () => {
  const { fp, sql, db } = await setupClient()
  await fc.assert(
    fc.asyncProperty(
      hostileValue,
      fc.oneof({ weight: 9, arbitrary: jobOptions }, hostileValue as never),
      fc.boolean(),
      async (input, options, many) => {
        const before = await rowCounts(sql)
        const jobs = [{ input: 1 }, { input, ...(options as object) }]
        const outcome = await outcomeOf(() =>
          many ? fp.enqueueMany(anything, jobs) : fp.enqueue(anything, input, options as object),
        )
        if (outcome !== 'done') expect(await rowCounts(sql)).toEqual(before)
      },
    ),
    runs(250),
  )
  expect((await audit(db)).findings).toEqual([])
})

it(`a batch that is no batch is refused as a whole (seed ${seed})`, async () => {
  const { fp, sql } = await setupClient()
  await fc.assert(
    fc.asyncProperty(fc.oneof(hostileValue, fc.array(hostileValue)), async (jobs) => {
      const before = await rowCounts(sql)
      const outcome = await outcomeOf(() => fp.enqueueMany(anything, jobs as never))
      if (outcome !== 'done') expect(await rowCounts(sql)).toEqual(before)
    }),
    runs(100),
  )
})

it(`a task is defined, or refused (seed ${seed})`, async () => {
  const options = someOf({
    input: fc.oneof(fc.constant(anything.input), hostileValue),
    output: hostileValue,
    queue: hostileValue,
    priority: hostileValue,
    retry: fc.oneof(
      someOf({
        limit: hostileValue,
        backoff: hostileValue,
        delay: durations,
        max: durations,
        jitter: hostileValue,
        retryable: hostileValue,
      }),
      hostileValue,
    ),
    timeout: durations,
    lease: durations,
    losses: hostileValue,
    gate,
    gates: fc.array(gate),
    group: fc.oneof(
      someOf({ key: hostileValue, limit: hostileValue, perProcess: hostileValue, tiers: hostileValue }),
      hostileValue,
    ),
    run: fc.oneof(
      fc.constant(() => 1),
      hostileValue,
    ),
  })
  await fc.assert(
    fc.asyncProperty(hostileValue, options, async (name, given) => {
      await outcomeOf(() => task(name as string, given as never))
    }),
    runs(500),
  )
})

it(`a client and a worker are made, or refused (seed ${seed})`, async () => {
  const { fp, url } = await setupClient()
  const clientOptions = someOf({
    schema: hostileValue,
    migrate: fc.constant(false),
    poolSize: hostileValue,
    payloadBytesMax: hostileValue,
    databaseRetry: hostileValue,
  })
  const workOptions = someOf({
    concurrency: hostileValue,
    queues: fc.oneof(fc.dictionary(hostileText, hostileValue), hostileValue),
    poll: durations,
    grace: fc.constant(0),
    listen: fc.oneof(fc.constant(false), hostileValue),
  })
  await fc.assert(
    fc.asyncProperty(clientOptions, workOptions, async (client, work) => {
      await outcomeOf(async () => (await fencepost({ ...client, database: url, migrate: false })).close())
      await outcomeOf(async () => (await fp.work([anything], work)).stop())
    }),
    runs(40),
  )
})

it(`what a person may do to a job, a gate or a queue is done, or refused (seed ${seed})`, async () => {
  const { fp, db, sql, add } = await setupClient()
  const known = await add()
  const ids = fc.oneof(fc.constant(known), id, hostileValue) as fc.Arbitrary<string>
  const value = hostileValue as fc.Arbitrary<never>
  const key = fc.oneof(
    hostileText.map((text) => `gate:${text}`),
    hostileValue,
  ) as fc.Arbitrary<string>
  const target = fc.oneof(
    someOf({ queue: hostileValue, task: hostileValue, gate: key }),
    hostileValue,
  ) as fc.Arbitrary<never>
  const calls: fc.Arbitrary<() => unknown> = fc.oneof(
    ids.map((one) => () => fp.job(one)),
    fc.tuple(ids, value).map(
      ([one, reason]) =>
        () =>
          fp.cancel(one, { reason }),
    ),
    fc.tuple(ids, value).map(
      ([one, options]) =>
        () =>
          fp.cancel(one, options),
    ),
    ids.map((one) => () => fp.retry(one)),
    fc.tuple(ids, value, value).map(
      ([one, name, payload]) =>
        () =>
          fp.signal(one, name, payload),
    ),
    ids.map((one) => () => fp.skip(one)),
    key.map((one) => () => fp.gate(one)),
    fc.tuple(key, value).map(
      ([one, limit]) =>
        () =>
          fp.setLimit(one, limit),
    ),
    target.map((what) => () => fp.pause(what)),
    target.map((what) => () => fp.resume(what)),
    fc.tuple(id, fc.constant('1ms' as const)).map(
      ([one, timeout]) =>
        () =>
          fp.result(one, { timeout }),
    ),
  )
  await fc.assert(
    fc.asyncProperty(calls, async (call) => {
      await outcomeOf(call)
    }),
    runs(500),
  )
  expect(await sql('select id from fencepost.job')).toEqual([{ id: known }])
  expect((await audit(db)).findings).toEqual([])
})

it(`what a person may do to a run is done, or refused (seed ${seed})`, async () => {
  const { fp, db } = await setupClient()
  const ids = fc.oneof(id, hostileValue) as fc.Arbitrary<string>
  const value = hostileValue as fc.Arbitrary<never>
  const { id: run } = await fp.workflows.start(waiting, {})
  const known = fc.oneof(fc.constant(run), ids)
  const { workflows } = fp
  const calls: fc.Arbitrary<() => unknown> = fc.oneof(
    value.map((any) => () => workflows.deploy(any)),
    fc.tuple(value, value, value).map(
      ([name, parameters, options]) =>
        () =>
          workflows.start(name, parameters, options),
    ),
    fc.tuple(value, value).map(
      ([parameters, one]) =>
        () =>
          workflows.start('waiting', parameters, { id: one }),
    ),
    known.map((one) => () => workflows.run(one)),
    fc.tuple(known, value, value).map(
      ([one, name, ordinal]) =>
        () =>
          workflows.taskResult(one, name, ordinal),
    ),
    value.map((options) => () => workflows.runs(options)),
    ids.map((one) => () => workflows.pause(one)),
    ids.map((one) => () => workflows.resume(one)),
    fc.tuple(ids, value).map(
      ([one, options]) =>
        () =>
          workflows.cancel(one, options),
    ),
    fc.tuple(known, value).map(
      ([one, from]) =>
        () =>
          workflows.rerun(one, { from }),
    ),
    fc.tuple(known, value, value).map(
      ([one, name, payload]) =>
        () =>
          workflows.signal(one, name, payload),
    ),
    fc.tuple(known, value, value).map(
      ([one, name, answer]) =>
        () =>
          workflows.answer(one, name, answer),
    ),
  )
  await fc.assert(
    fc.asyncProperty(calls, async (call) => {
      await outcomeOf(call)
    }),
    runs(400),
  )
  expect((await audit(db)).findings).toEqual([])
})

it.each(['host', 'port', 'listen'])(`SQS is served, or refused, whatever its %s (seed ${seed})`, async (option) => {
  const { fp } = await setupClient()
  const serve = async (value: unknown) => {
    const options = { port: 0, keys: { a: { secret: 'a' } }, listen: false, [option]: value }
    await (await fp.serveSqs(options)).close()
  }
  await fc.assert(
    fc.asyncProperty(hostileValue, async (value) => {
      await outcomeOf(() => serve(value))
    }),
    runs(8),
  )
})

const waiting = workflow('waiting', {
  parameters: { text: { type: 'string' } },
  tasks: { wait: { waitFor: { approval: { title: 'Go on?', form: { yes: { type: 'boolean' } } } } } },
})
