import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { FencepostEvents } from '../../src/events.js'
import { FencepostError } from '../../src/errors.js'
import { park } from '../../src/store/settle.js'
import { task } from '../../src/task/task.js'
import { anything, rowCounts, setupClient } from './setup.js'

const input = z.object({ tenant: z.string() })
const limited = task('limited', { input, gate: { key: 'api', limit: 2 }, run: () => {} })

/** The call is refused with this code, and a message and a hint that contain this. */
async function refused(call: Promise<unknown>, code: string, message: string, hint = ''): Promise<void> {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  expect(error, message).toBeInstanceOf(FencepostError)
  const expected = { code, message: expect.stringContaining(message), hint: expect.stringContaining(hint) }
  expect(error, message).toMatchObject(expected)
}

it('lists the gates, and shows one', async () => {
  const { fp } = await setupClient()
  const ids = []
  for (let i = 0; i < 3; i++) ids.push((await fp.enqueue(limited, { tenant: 'a' })).id)
  expect(await fp.gates()).toMatchObject([{ key: 'gate:api', limit: 2, held: 2, waiting: 1 }])
  expect(await fp.gate('gate:api')).toMatchObject({
    holders: [{ jobId: ids[0] }, { jobId: ids[1] }],
    waiters: [{ jobId: ids[2] }],
  })
  expect(await fp.job(ids[2] as string)).toMatchObject({
    place: 'waiting',
    waitsAt: 'gate:api',
    gates: [{ key: 'gate:api', limit: 2 }],
  })
  await refused(fp.gate('gate:apu'), 'FP_GATE_UNKNOWN', '"gate:apu"', 'Did you mean gate:api?')
  await refused(fp.gate('group:api'), 'FP_GATE_UNKNOWN', '"group:api"', 'Did you mean gate:api?')
})

it('raises a limit while jobs run, and takes that back', async () => {
  const { fp } = await setupClient()
  let running = 0
  let most = 0
  let tellBoth = () => {}
  const both = new Promise<void>((resolve) => (tellBoth = resolve))
  let open = () => {}
  const opened = new Promise<void>((resolve) => (open = resolve))
  const counting = task('counting', {
    input: z.null(),
    gate: { key: 'one' },
    run: async () => {
      most = Math.max(most, ++running)
      if (running === 2) tellBoth()
      await opened
      running--
    },
  })
  await fp.enqueueMany(counting, [{ input: null }, { input: null }, { input: null }])
  await fp.work([counting], { poll: '20ms' })

  expect(await fp.setLimit('gate:one', 2)).toBe(1)
  await both
  expect(most).toBe(2)
  expect(await fp.gate('gate:one')).toMatchObject({ limit: 2, setLimit: 2, held: 2, waiting: 1 })
  expect(await fp.setLimit('gate:one', null)).toBe(2)
  expect(await fp.gate('gate:one')).toMatchObject({ limit: 1, setLimit: null, held: 2 })
  open()
})

it('pauses and resumes a queue, a task and a gate', async () => {
  const { fp } = await setupClient()
  const ran: string[] = []
  const make = (name: string) =>
    task(name, { input: z.null(), queue: name, gate: { key: name }, run: () => void ran.push(name) })
  const tasks = [make('by-queue'), make('by-task'), make('by-gate')]
  const targets = [{ queue: 'by-queue' }, { task: 'by-task' }, { gate: 'gate:by-gate' }]
  for (const target of targets) expect(await fp.pause(target)).toEqual({ answer: 'paused' })
  for (const target of targets) expect(await fp.pause(target)).toEqual({ answer: 'already' })
  await fp.work([...tasks, anything], { poll: '20ms' })
  const jobs = []
  for (const each of tasks) jobs.push(await fp.enqueue(each, null))
  await (await fp.enqueue(anything, 1)).result()
  expect(ran).toEqual([])
  for (const target of targets) expect(await fp.resume(target)).toEqual({ answer: 'resumed' })
  for (const target of targets) expect(await fp.resume(target)).toEqual({ answer: 'already' })
  await Promise.all(jobs.map((job) => job.result()))
  expect(ran.sort()).toEqual(['by-gate', 'by-queue', 'by-task'])
})

it('skips a head that holds up its strict order, also in a transaction', async () => {
  const { fp, db, take } = await setupClient()
  const ordered = task('ordered', { input, gate: { key: ({ tenant }) => tenant, strict: true }, run: () => {} })
  const head = await fp.enqueue(ordered, { tenant: 'a' })
  const next = await fp.enqueue(ordered, { tenant: 'a' })
  await park(db, await take(), 'approved', null)
  expect(await fp.skip(next.id)).toEqual({ answer: 'waiting' })
  expect(await fp.transaction((tx) => fp.skip(head.id, { tx }))).toEqual({ answer: 'skipped' })
  await fp.work([ordered], { poll: '20ms' })
  await next.result()
  expect(await fp.job(head.id)).toMatchObject({ place: 'parked' })
  await refused(fp.skip(randomUUID()), 'FP_JOB_UNKNOWN', '')
  await refused(fp.skip('x'), 'FP_ID_INVALID', '"x"')
  await refused(fp.skip(head.id, { tx: {} as never }), 'FP_OPTION_INVALID', 'tx')
})

describe('a bad limit, key or target is refused before anything changes', () => {
  it('a limit that is no whole number above 0', async () => {
    const { fp } = await setupClient()
    for (const limit of [0, -1, Number.NaN, 1.5, Number.POSITIVE_INFINITY, 1_000_001, '3', undefined, {}]) {
      await refused(
        fp.setLimit('gate:a', limit as number),
        'FP_OPTION_INVALID',
        'limit must be a whole number from 1 to',
      )
    }
    expect(await fp.gates()).toEqual([])
  })

  it('a key that is empty, too long, of no kind, or no text', async () => {
    const { fp } = await setupClient()
    const keys: [unknown, string, string][] = [
      ['', 'must be a non-empty string', ''],
      ['   ', 'must be a non-empty string', ''],
      ['gate:', 'what follows gate: in', ''],
      [7, 'must be a non-empty string, not 7', ''],
      [undefined, 'not undefined', ''],
      [`gate:${'k'.repeat(10_240)}`, 'is longer than', ''],
      ['api', 'must begin with gate:, fifo: or group:, not be "api"', 'Did you mean "gate:api"?'],
      ['queue:mail', 'must begin with gate:, fifo: or group:', ''],
      ['pause:queue:mail', 'must begin with gate:, fifo: or group:', ''],
      ['gate:a\n', 'control character', ''],
    ]
    for (const [key, message, hint] of keys) {
      for (const call of [fp.gate(key as string), fp.setLimit(key as string, 1), fp.pause({ gate: key as string })]) {
        await refused(call, 'FP_OPTION_INVALID', message, hint)
      }
    }
    await refused(fp.setLimit('fifo:a', 2), 'FP_OPTION_INVALID', '"fifo:a" is strict', 'skipped or cancelled')
    expect(await fp.gates()).toEqual([])
  })

  it('a target that names nothing, two things, or something else', async () => {
    const { fp } = await setupClient()
    const targets: [unknown, string][] = [
      [{}, 'name one thing'],
      [{ queue: 'a', task: 'b' }, 'name one thing'],
      [{ worker: 'a' }, 'no option "worker"'],
      [{ queue: '' }, 'queue must be a non-empty string'],
      [{ task: 'x'.repeat(201) }, 'task is longer than 200'],
      ['queue:a', 'must be an object'],
      [null, 'must be an object'],
    ]
    for (const [target, message] of targets) {
      await refused(fp.pause(target as never), 'FP_OPTION_INVALID', message)
      await refused(fp.resume(target as never), 'FP_OPTION_INVALID', message)
    }
  })
})

describe('a job with bad gates is refused, and nothing of the call is stored', () => {
  it.each<[what: string, options: object, code: string, message: string]>([
    ['limit 0', { gate: { key: 'k', limit: 0 } }, 'FP_OPTION_INVALID', 'limit of gate must be a whole number'],
    ['a negative limit', { gate: { key: 'k', limit: -1 } }, 'FP_OPTION_INVALID', 'limit of gate must be'],
    ['a limit that is no number', { gate: { key: 'k', limit: Number.NaN } }, 'FP_OPTION_INVALID', 'not NaN'],
    ['a limit as text', { gate: { key: 'k', limit: '2' } }, 'FP_OPTION_INVALID', 'not "2"'],
    ['an empty key', { gate: { key: '' } }, 'FP_OPTION_INVALID', 'key of gate must be a non-empty string'],
    ['a key of 10 kB', { gate: { key: 'k'.repeat(10_240) } }, 'FP_OPTION_INVALID', 'key of gate is longer than 500'],
    ['no key', { gate: { limit: 1 } }, 'FP_OPTION_INVALID', 'key of gate must be a non-empty string, not undefined'],
    [
      'two gates with one key',
      { gate: [{ key: 'k' }, { key: 'k', limit: 2 }] },
      'FP_OPTION_INVALID',
      'two gates with one key',
    ],
    [
      'strict with limit 2',
      { gate: { key: 'k', strict: true, limit: 2 } },
      'FP_OPTION_INVALID',
      'gate is strict, and has',
    ],
    ['an unknown option', { gate: { key: 'k', limits: 2 } }, 'FP_OPTION_INVALID', 'no option "limits"'],
    ['an unknown onFull', { gate: { key: 'k', onFull: 'drop' } }, 'FP_OPTION_INVALID', 'onFull of gate must be'],
    ['a group where its task has none', { group: { id: 'a' } }, 'FP_OPTION_INVALID', 'has no limits for groups'],
    [
      'a key function that throws',
      {
        gate: {
          key: () => {
            throw new Error('no tenant')
          },
        },
      },
      'FP_GATE_KEY_FAILED',
      'the key of a gate of task anything: no tenant',
    ],
    ['a key function that answers nothing', { gate: { key: () => undefined } }, 'FP_OPTION_INVALID', 'not undefined'],
    [
      'a key function that answers 10 kB',
      { gate: { key: () => 'k'.repeat(10_240) } },
      'FP_OPTION_INVALID',
      'is longer than',
    ],
    ['a key function that answers later', { gate: { key: async () => 'k' } }, 'FP_OPTION_INVALID', 'non-empty string'],
  ])('%s', async (_what, options, code, message) => {
    const { fp, sql } = await setupClient()
    await refused(fp.enqueue(anything, 1, options), code, message)
    await refused(fp.enqueueMany(anything, [{ input: 1 }, { input: 2, ...options }, { input: 3 }]), code, message)
    expect(await rowCounts(sql)).toMatchObject({ job: 0, ready: 0, waiting: 0, gate: 0, nudge: 0 })
  })

  it('a key function of the task that throws for one input of several', async () => {
    const { fp, sql } = await setupClient()
    const fussy = task('fussy', {
      input,
      gate: {
        key: ({ tenant }) => {
          if (tenant === 'bad') throw new TypeError('bad tenant')
          return tenant
        },
      },
      run: () => {},
    })
    const call = fp.enqueueMany(fussy, [{ input: { tenant: 'good' } }, { input: { tenant: 'bad' } }])
    await refused(call, 'FP_GATE_KEY_FAILED', 'bad tenant', 'Nothing was enqueued')
    expect(await rowCounts(sql)).toMatchObject({ job: 0 })
  })

  it('a tier without a limit', async () => {
    const { fp, sql } = await setupClient()
    const tiered = task('tiered', {
      input,
      group: { id: ({ tenant }) => tenant, tier: 'free', limit: { free: 1, paid: 5 } },
      run: () => {},
    })
    const job = { tenant: 'a' }
    await refused(
      fp.enqueue(tiered, job, { group: { id: 'a', tier: 'gold' } }),
      'FP_OPTION_INVALID',
      'names no tier "gold"',
    )
    await refused(fp.enqueue(tiered, job, { group: { id: 'a' } }), 'FP_OPTION_INVALID', 'no default')
    await refused(fp.enqueue(tiered, job, { group: { id: '', tier: 'paid' } }), 'FP_OPTION_INVALID', 'id of group')
    expect(await rowCounts(sql)).toMatchObject({ job: 0 })
    await fp.enqueue(tiered, job, { group: { id: 'a', tier: 'paid' } })
    expect(await fp.gates()).toMatchObject([{ key: 'group:a', limit: 5 }])
  })
})

describe('two tasks that declare different limits for one key', () => {
  const declares = (name: string, limit: number, key = 'api') =>
    task(name, { input: z.unknown(), gate: { key, limit }, run: () => {} })

  it('are told once, at enqueue, and the lower limit holds', async () => {
    const { fp } = await setupClient()
    const disputes: FencepostEvents['gate_disputed'][] = []
    fp.on('gate_disputed', (event) => disputes.push(event))
    const [a, b] = [declares('a', 5), declares('b', 2)]
    await fp.enqueue(a, 1)
    await fp.enqueue(a, 1)
    expect(disputes).toEqual([])
    await fp.enqueue(b, 1)
    await fp.enqueue(a, 1)
    await fp.enqueue(b, 1)
    expect(disputes).toEqual([{ key: 'gate:api', tasks: ['a', 'b'], limits: [5, 2] }])
    expect(await fp.gates()).toMatchObject([{ limit: 2, declaredBy: 'b', disputedBy: 'a' }])
  })

  it('are told by work() if the keys are fixed', async () => {
    const { fp } = await setupClient()
    const disputes: FencepostEvents['gate_disputed'][] = []
    fp.on('gate_disputed', (event) => disputes.push(event))
    const other = task('other', { input, group: { id: 'g', limit: 3 }, run: () => {} })
    const another = task('another', { input, group: { id: 'g', limit: 4 }, run: () => {} })
    await fp.work([declares('a', 5), declares('b', 2), declares('c', 5, 'else'), other, another])
    expect(disputes).toEqual([
      { key: 'gate:api', tasks: ['a', 'b'], limits: [5, 2] },
      { key: 'group:g', tasks: ['other', 'another'], limits: [3, 4] },
    ])
  })

  it('are none if one task gives its tiers different limits', async () => {
    const { fp } = await setupClient()
    const disputes: unknown[] = []
    fp.on('gate_disputed', (event) => disputes.push(event))
    const tiered = task('tiered', {
      input,
      group: { id: 'g', limit: { free: 1, paid: 5 }, tier: 'free' },
      run: () => {},
    })
    await fp.enqueue(tiered, { tenant: 'a' })
    await fp.enqueue(tiered, { tenant: 'a' }, { group: { id: 'g', tier: 'paid' } })
    expect(disputes).toEqual([])
  })
})
