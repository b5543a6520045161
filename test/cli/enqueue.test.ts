import { randomUUID } from 'node:crypto'
import { expect, it } from 'vitest'
import { setup as setupDatabase } from '../harness/setup.js'
import { announceTasks } from '../../src/store/enqueue.js'
import { readJob } from '../../src/store/read.js'
import { cli, cliJson, refused } from './cli-process.js'

/** A database in which some process has announced send-mail in the queue mail, and more. */
async function setup() {
  const bundle = await setupDatabase()
  await announceTasks(bundle.db, [
    { name: 'send-mail', queue: 'mail' },
    { name: 'report', queue: 'default' },
    { name: 'report', queue: 'slow' },
  ])
  const jobCount = async () => (await bundle.sql<{ n: number }>('select count(*) as n from fencepost.job'))[0]?.n
  return { ...bundle, jobCount }
}

it('enqueues a job in the queue of its task, and prints the id and the answer', async () => {
  const { url, db } = await setup()

  const { code, stdout, stderr } = await cli(['enqueue', 'send-mail', '{"to":"ada"}'], { url })

  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  const [, id] = /^([0-9a-f-]{36}) enqueued\n$/.exec(stdout) ?? []
  expect(await readJob(db, id as string)).toMatchObject({
    task: 'send-mail',
    queue: 'mail',
    place: 'ready',
    priority: 0,
    payload: { to: 'ada' },
  })
})

it('takes every option of a job', async () => {
  const { url, db, sql } = await setup()
  const id = randomUUID()

  const options = ['--id', id, '--queue', 'slow', '--priority', '-5', '--delay', '2h']
  const budgets = ['--retry-limit', '7', '--losses', '3', '--lease', '5m']
  const answer = await cliJson(['enqueue', 'report', '[1]', ...options, ...budgets], { url })

  expect(answer).toEqual({ id, answer: 'enqueued', task: 'report', queue: 'slow' })
  expect(await readJob(db, id)).toMatchObject({ place: 'delayed', queue: 'slow', priority: -5, payload: [1] })
  expect(await sql('select failures_max, losses_max, lease_ms from fencepost.job')).toEqual([
    { failures_max: 7, losses_max: 3, lease_ms: 300_000 },
  ])
})

it('answers existing to a repeat, and refuses another payload under the same id', async () => {
  const { url, jobCount } = await setup()
  const id = randomUUID()
  const args = ['enqueue', 'send-mail', '{"n":1}', '--id', id]
  await cliJson(args, { url })

  expect((await cli(args, { url })).stdout).toBe(`${id} existing\n`)
  expect(await cli(['enqueue', 'send-mail', '{"n":2}', '--id', id], { url })).toEqual(refused('FP_ID_CONFLICT', id))
  expect(await jobCount()).toBe(1)
})

it('reads the payload from standard input for -', async () => {
  const { url, sql } = await setup()

  await cli(['enqueue', 'send-mail', '-'], { url, input: '\n {"to": "Grüße"}\n' })

  expect(await sql('select payload from fencepost.job')).toEqual([{ payload: { to: 'Grüße' } }])
})

it.each([
  ['not JSON', '{to: 1}', 'FP_INPUT_NOT_JSON', 'the payload'],
  ['empty', '', 'FP_INPUT_NOT_JSON', 'the payload'],
  ['not UTF-8', Buffer.from([0x22, 0xff, 0x22]), 'FP_INPUT_NOT_JSON', 'standard input is not UTF-8'],
  ['nested 10,000 deep', '['.repeat(10_000) + ']'.repeat(10_000), 'FP_INPUT_TOO_DEEP', 'deeper than 100 levels'],
  ['over the size limit', JSON.stringify('x'.repeat(1_048_576)), 'FP_INPUT_TOO_LARGE', '1048576 bytes'],
  ['a text with U+0000', '"\\u0000"', 'FP_INPUT_NOT_JSON', 'U+0000'],
  ['a lone surrogate', '"\\ud800"', 'FP_INPUT_NOT_JSON', 'surrogate'],
])('refuses a payload that is %s, before any database is asked', async (_, input, code, message) => {
  const nowhere = 'postgres://127.0.0.1:1/nowhere'
  expect(await cli(['enqueue', 'send-mail', '-'], { url: nowhere, input })).toEqual(refused(code, message))
})

it.each([
  [['--id', '42'], 'FP_ID_INVALID', '"42"'],
  [['--delay', '-5s'], 'FP_DURATION_INVALID', '-5s'],
  [['--delay', 'soon'], 'FP_DURATION_INVALID', 'soon'],
  [['--priority', '101'], 'FP_OPTION_INVALID', '101'],
  [['--priority', 'high'], 'FP_OPTION_INVALID', 'high'],
  [['--retry-limit', '-1'], 'FP_OPTION_INVALID', '-1'],
])('refuses %j', async (options, code, message) => {
  expect(await cli(['enqueue', 'send-mail', '{}', ...options], { url: 'postgres://127.0.0.1:1/nowhere' })).toEqual(
    refused(code, message),
  )
})

it('refuses a task that nobody has announced, and suggests the nearest one', async () => {
  const { url, jobCount } = await setup()

  const result = await cli(['enqueue', 'sned-mail'], { url })

  expect(result).toEqual(refused('FP_TASK_UNKNOWN', '"sned-mail"'))
  expect(result.stderr).toMatch(/\nDid you mean send-mail\? .*--new-task/)
  expect(await jobCount()).toBe(0)
})

it('refuses a queue that nobody has announced, and suggests the nearest one', async () => {
  const { url, jobCount } = await setup()

  const result = await cli(['enqueue', 'send-mail', '--queue', 'mial'], { url })

  expect(result).toEqual(refused('FP_QUEUE_UNKNOWN', '"mial"'))
  expect(result.stderr).toMatch(/\nDid you mean mail\?/)
  expect(await jobCount()).toBe(0)
})

it('takes both with --new-task, and knows them from then on', async () => {
  const { url } = await setup()

  const first = await cliJson(['enqueue', 'brand-new', '--queue', 'fresh', '--new-task'], { url })
  const second = await cliJson(['enqueue', 'brand-new'], { url })

  expect([first, second]).toMatchObject([{ queue: 'fresh' }, { queue: 'fresh', answer: 'enqueued' }])
})

it('asks which queue is meant when a task runs in several', async () => {
  const { url } = await setup()

  const result = await cli(['enqueue', 'report'], { url })

  expect(result).toEqual(refused('FP_OPTION_INVALID', 'task "report" is known in several queues'))
  expect(result.stderr).toContain('--queue: default, slow')
})

it('treats SQL in every string as text', async () => {
  const { url, db } = await setup()
  const evil = `'); drop schema fencepost cascade; --`

  const args = ['enqueue', evil, JSON.stringify({ [evil]: evil }), '--queue', evil, '--new-task']
  const { id } = await cliJson<{ id: string }>(args, { url })

  expect(await readJob(db, id)).toMatchObject({ task: evil, queue: evil, payload: { [evil]: evil } })
  expect(await cliJson(['jobs', '--task', evil, '--queue', evil], { url })).toMatchObject([{ id }])
})
