import fc from 'fast-check'
import { expect, it } from 'vitest'
import { z } from 'zod'
import {
  defineConfig,
  httpTask,
  messageTask,
  readWorkflowFile,
  readWorkflowText,
  rehearse,
  RetryAfter,
  task,
  workflow,
} from '../../../src/index.js'
import { checkedMetricsOptions } from '../../../src/observe/metrics-server.js'
import { accessKeysFrom, checkedSqsOptions } from '../../../src/sqs/sqs-options.js'
import { checkedDatabaseUrl } from '../../../src/store/database-url.js'
import { checkedSchemaName } from '../../../src/store/schema-name.js'
import { hostileText, hostileValue, outcomeOf, runs, seed } from '../hostile.js'

/** What is not a text passes for one where it is only tested by a pattern. */
const wild = fc.oneof(
  hostileValue,
  fc.constantFrom<unknown>(Symbol.iterator, Object.create(null), ['postgres://a'], ['us-east-1'], 123_456_789_012),
)

/**
 * These options, all right, but for one: among many wrong ones the first is refused, and the others are never looked at.
 */
function oneWrong(right: Readonly<Record<string, unknown>>): fc.Arbitrary<Record<string, unknown>> {
  return fc.tuple(fc.constantFrom(...Object.keys(right)), wild).map(([name, value]) => ({ ...right, [name]: value }))
}

const run = () => 1
const sqs = {
  port: 0,
  host: '127.0.0.1',
  keys: { AKID: { secret: 'secret', queues: { 'a-*': ['send'] } } },
  unsigned: false,
  sendDedup: 'on',
  sendLedger: '10m',
  region: 'us-east-1',
  account: '000000000000',
  purgeEvery: 0,
  clockSkew: '1m',
  poll: '1s',
  listen: 'postgres://localhost/a',
}
const config = {
  tasks: './tasks',
  concurrency: 2,
  queues: { mail: 1 },
  poll: '1s',
  grace: '1s',
  listen: true,
  metrics: { port: 0, host: 'localhost' },
  sqs,
  database: 'postgres://localhost/a',
  schema: 'fencepost',
}
const taskOptions = {
  input: z.unknown(),
  output: z.unknown(),
  queue: 'mail',
  priority: 0,
  retry: { limit: 1, backoff: 'fixed', delay: '1s', max: '1m', jitter: 0 },
  timeout: '1s',
  lease: '30s',
  losses: 1,
  gate: [{ key: 'a', limit: 1, onFull: 'wait', strict: false, overrun: { after: '1s', then: 'admit' } }],
  group: { id: 'a', tier: 'b', limit: { b: 1, default: 2 }, perProcess: 1 },
  run,
}
const messageOptions = {
  input: z.unknown(),
  retry: { limit: 1 },
  losses: 1,
  timeout: '1s',
  lease: '30s',
  priority: 0,
  run,
}
const httpOptions = {
  allow: ['a.test'],
  queue: 'a',
  retry: { limit: 1 },
  timeout: '1s',
  gate: { key: 'a' },
  bodyBytesMax: 9,
}

it.each<[string, Readonly<Record<string, unknown>>, (given: never) => unknown]>([
  ['defineConfig()', config, (given) => defineConfig(given)],
  ['serveSqs()', sqs, (given) => checkedSqsOptions(given, 'serveSqs()')],
  ['a key of serveSqs()', sqs.keys.AKID, (given) => checkedSqsOptions({ keys: { AKID: given } }, 'serveSqs()')],
  ['serveMetrics()', config.metrics, (given) => checkedMetricsOptions(given)],
  ['task()', taskOptions, (given) => task('a', given)],
  ['a gate of task()', { ...taskOptions.gate[0] }, (given) => task('a', { ...taskOptions, gate: given } as never)],
  ['a group of task()', taskOptions.group, (given) => task('a', { ...taskOptions, group: given } as never)],
  ['retry of task()', taskOptions.retry, (given) => task('a', { ...taskOptions, retry: given } as never)],
  ['messageTask()', messageOptions, (given) => messageTask('a', given)],
  ['httpTask()', httpOptions, (given) => httpTask(given)],
])(`one option of %s that is wrong is refused, whatever it is (seed ${seed})`, async (_what, right, call) => {
  expect(await outcomeOf(() => call(right as never))).toBe('done')
  await fc.assert(
    fc.asyncProperty(fc.oneof({ weight: 9, arbitrary: oneWrong(right) }, wild), async (given) => {
      await outcomeOf(() => call(given as never))
    }),
    runs(150),
  )
})

const waiting = workflow('waiting', {
  parameters: { text: { type: 'string' } },
  tasks: {
    echo: { action: 'core.echo', input: { message: 'a' }, next: [{ do: 'wait' }] },
    wait: { waitFor: { approval: { title: 'Go on?', form: { yes: { type: 'boolean' } } } } },
  },
})
const rehearsal = {
  parameters: { text: 'a' },
  results: { echo: { result: 1, after: '1s' } },
  answers: { wait: { yes: true } },
  signals: [{ name: 'a', payload: 1, after: '1s' }],
  now: '2026-01-01T00:00:00Z',
}
const options = {
  description: 'a',
  parameters: {},
  vars: {},
  timeout: '1s',
  output: 1,
  tasks: { a: { action: 'core.noop' } },
}

it.each<[string, fc.Arbitrary<unknown>, (given: never) => unknown]>([
  ['rehearse()', oneWrong(rehearsal), (given) => rehearse(waiting, given)],
  ['the workflow of rehearse()', oneWrong({ ...waiting }), (given) => rehearse(given)],
  ['workflow()', oneWrong(options), (given) => workflow('a', given)],
  ['the name of workflow()', wild, (given) => workflow(given, options as never)],
  ['the name of task()', wild, (given) => task(given, { input: z.unknown(), run })],
  ['the queue of messageTask()', wild, (given) => messageTask(given, { input: z.unknown(), run })],
  ['readWorkflowText()', wild, (given) => readWorkflowText(given, 'a.yaml')],
  ['readWorkflowFile()', wild, (given) => readWorkflowFile(given)],
  ['RetryAfter', wild, (given) => new RetryAfter(given)],
  ['the name of the schema', wild, (given) => checkedSchemaName(given)],
  [
    'the URL of the database',
    fc.oneof(
      wild,
      hostileText.map((text) => `postgres://${text}`),
    ),
    (given) => checkedDatabaseUrl(given),
  ],
  [
    'FENCEPOST_SQS_KEYS',
    hostileText,
    (given) => checkedSqsOptions({ keys: accessKeysFrom(given, 'the environment') }, 'a'),
  ],
])(`%s is taken, or refused (seed ${seed})`, async (_what, given, call) => {
  await fc.assert(
    fc.asyncProperty(given, async (one) => {
      await outcomeOf(() => call(one as never))
    }),
    runs(150),
  )
})
