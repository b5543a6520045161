import { expect, it } from 'vitest'
import { z } from 'zod'
import { type WorkerFlags, workerSettings } from '../../src/cli/worker-settings.js'
import { defineConfig, type WorkerConfig } from '../../src/config/config.js'
import { task } from '../../src/task/task.js'

const run = () => 1
const mail = task('mail', { input: z.any(), queue: 'mail', run })
const slow = task('slow', { input: z.any(), queue: 'slow', run })

const settle = (config: WorkerConfig, flags: Partial<WorkerFlags> = {}) => {
  const tasks = [mail, slow].map((each) => ({ task: each, file: 'tasks.ts' }))
  const { tasks: chosen, ...rest } = workerSettings({ tasks, config }, { listen: true, ...flags })
  return { ...rest, names: chosen.map(({ name }) => name) }
}

it('leaves to the worker what nobody said', () => {
  expect(settle({})).toEqual({ names: ['mail', 'slow'], options: {}, metrics: undefined })
})

it.each<[config: WorkerConfig, flags: Partial<WorkerFlags>, options: object]>([
  [{ concurrency: 3, poll: '1s', grace: '5s' }, {}, { concurrency: 3, poll: '1s', grace: '5s' }],
  [
    { concurrency: 3, grace: '5s' },
    { concurrency: 4, grace: 0 },
    { concurrency: 4, grace: 0 },
  ],
  [{ listen: false }, {}, { listen: false }],
  [{ listen: true }, { listen: false }, { listen: false }],
  [{ listen: 'postgres://direct/app' }, {}, { listen: 'postgres://direct/app' }],
  [{ listen: 'postgres://direct/app' }, { listen: false }, { listen: false }],
  [{ queues: { mail: 2, slow: 1 } }, {}, { queues: { mail: 2, slow: 1 } }],
  [{ queues: { mail: 2, slow: 1 } }, { queue: ['mail'] }, { queues: { mail: 2 } }],
  [{ queues: { mail: 2, slow: 1 } }, { queue: ['mail=7', 'slow'] }, { queues: { mail: 7, slow: 1 } }],
])('of %j and the flags %j makes %j', (config, flags, options) => {
  expect(settle(config, flags).options).toEqual(options)
})

it('runs the tasks of the queues that the flags name', () => {
  expect(settle({}, { queue: ['slow=3'] })).toMatchObject({ names: ['slow'], options: { queues: { slow: 3 } } })
})

it.each<[config: WorkerConfig['metrics'], flag: WorkerFlags['metrics'], metrics: object | undefined]>([
  [undefined, undefined, undefined],
  [false, undefined, undefined],
  [true, undefined, { port: 9464, host: '127.0.0.1' }],
  [undefined, true, { port: 9464, host: '127.0.0.1' }],
  [{ port: 1, host: '::1' }, undefined, { port: 1, host: '::1' }],
  [{ port: 1, host: '::1' }, '2', { port: 2, host: '::1' }],
  [undefined, '0.0.0.0:3', { port: 3, host: '0.0.0.0' }],
  [undefined, '[::]:4', { port: 4, host: '::' }],
])('serves metrics for %j and the flag %j at %j', (config, flag, metrics) => {
  const given = { ...(config !== undefined && { metrics: config }) }
  expect(settle(given, flag === undefined ? {} : { metrics: flag }).metrics).toEqual(metrics)
})

it.each<[flags: Partial<WorkerFlags>, code: string, message: string]>([
  [{ concurrency: 0 }, 'FP_OPTION_INVALID', '--concurrency must be a whole number from 1'],
  [{ queue: ['mail=0'] }, 'FP_OPTION_INVALID', '--queue mail must be a whole number from 1'],
  [{ queue: ['mail='] }, 'FP_OPTION_INVALID', '--queue mail must be a whole number'],
  [{ queue: ['mial'] }, 'FP_QUEUE_UNKNOWN', '--queue mial'],
  [{ grace: 'soon' as '1s' }, 'FP_DURATION_INVALID', '--grace is "soon"'],
  [{ poll: '1ms' }, 'FP_DURATION_INVALID', '--poll is "1ms"'],
  [{ metrics: '70000' }, 'FP_OPTION_INVALID', 'port of --metrics must be a whole number from 0 to 65535'],
])('refuses %j', (flags, code, message) => {
  expect(() => settle({}, flags)).toThrow(
    expect.objectContaining({ code, message: expect.stringContaining(message) as string }),
  )
})

it.each<[config: unknown, message: string]>([
  [undefined, 'the options of defineConfig() must be an object'],
  [{ concurency: 1 }, 'has no option "concurency"'],
  [{ tasks: 5 }, 'tasks of defineConfig() must be tasks or a path'],
  [{ concurrency: '5' }, 'concurrency of defineConfig() must be a whole number'],
  [{ queues: ['mail'] }, 'queues of defineConfig() must be an object'],
  [{ queues: { mail: 0 } }, 'mail in queues of defineConfig() must be a whole number'],
  [{ listen: 'no' }, 'listen of defineConfig() must be true, false or a postgres:// URL'],
  [{ listen: 1 }, 'listen of defineConfig() must be true, false or a postgres:// URL'],
  [{ metrics: 9464 }, 'metrics of defineConfig() must be true or false'],
  [{ metrics: { prot: 1 } }, 'metrics of defineConfig() has no option "prot"'],
  [{ database: '' }, 'database of defineConfig() must be a postgres:// URL'],
])('a config may not be %j', (config, message) => {
  expect(() => defineConfig(config as WorkerConfig)).toThrow(
    expect.objectContaining({ message: expect.stringContaining(message) as string }),
  )
})
