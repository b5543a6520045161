import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { cancel, markOverrun, promoteDue, wake, yieldPaused } from '../../src/store/control.js'
import { enqueue } from '../../src/store/enqueue.js'
import { listGates, listPauses, pause, readGate, resume, setLimit, skip } from '../../src/store/gates.js'
import { listQueues } from '../../src/store/read.js'
import { fail, finish, park } from '../../src/store/settle.js'
import { whyNotRunning } from '../../src/store/why-not-running.js'
import { gates, setupGates } from '../harness/gates.js'
import { aJob } from '../harness/setup.js'

const done = '{}'
const later = { errorText: '{}', delayMs: 60_000, final: false }
const strict = { key: 'fifo:k' }
const aNumber = expect.any(Number) as number
const register = `select fencepost.register($1, 1, 'box', '0', $2, $3::text[])`

describe('the list of gates', () => {
  it('tells limits, holders, waiters and who declared what, the longest line first', async () => {
    const { db, gated, advance } = await setupGates()
    await gated({ key: 'gate:short', limit: 5 })
    for (let i = 0; i < 4; i++) await gated({ key: 'gate:long', limit: 2 })
    await advance(5_000)

    expect(await listGates(db)).toEqual([
      {
        key: 'gate:long',
        limit: 2,
        setLimit: null,
        declaredLimit: 2,
        perProcess: null,
        declaredBy: 'test',
        disputedBy: null,
        held: 2,
        waiting: 2,
        oldestWaitingMs: aNumber,
        pausedAt: null,
        pausedMs: null,
      },
      expect.objectContaining({ key: 'gate:short', limit: 5, held: 1, waiting: 0, oldestWaitingMs: null }),
    ])
    expect((await listGates(db))[0]?.oldestWaitingMs).toBeGreaterThanOrEqual(5_000)
  })

  it('tells two tasks that declare different limits, and a limit that a person has set', async () => {
    const { db, gated, turn } = await setupGates()
    await gated({ limit: 5 }, { task: 'generous' })
    await gated({ limit: 1 }, { task: 'careful' })
    expect(await listGates(db)).toMatchObject([
      { limit: 1, declaredLimit: 1, declaredBy: 'careful', disputedBy: 'generous' },
    ])

    expect(await setLimit(db, 'gate:k', 7)).toBe(1)
    expect(await listGates(db)).toMatchObject([{ limit: 7, setLimit: 7, declaredLimit: 1 }])
    expect(await setLimit(db, 'gate:k', null)).toBe(7)
    await turn()
    expect(await listGates(db)).toMatchObject([{ limit: 1, setLimit: null }])
  })

  it('does not count what has been given back in a caller’s transaction', async () => {
    const { db, gated, takeAll, connect } = await setupGates()
    await gated()
    await gated()
    const [lease] = await takeAll()
    const tx = await connect()
    await tx.query('begin')
    await finish(db, [{ ...(lease as NonNullable<typeof lease>), resultText: done }], tx)
    expect(await listGates(db)).toMatchObject([{ held: 1, waiting: 1 }])
    await tx.query('commit')
    expect(await listGates(db)).toMatchObject([{ held: 0, waiting: 1 }])
  })

  it('shows a gate that waits to be made: its first job came in a caller’s transaction', async () => {
    const { db, connect } = await setupGates()
    const tx = await connect()
    await tx.query('begin')
    const job = aJob({ gatesText: gates({ key: 'gate:new', limit: 3 }) })
    await enqueue(db, [job], tx)
    await tx.query('commit')
    expect(await listGates(db)).toMatchObject([{ key: 'gate:new', limit: null, held: 0, waiting: 1 }])
    expect(await readGate(db, 'gate:new')).toMatchObject({ holders: [], waiters: [{ jobId: job.id }] })
    expect(await whyNotRunning(db, job.id)).toMatchObject({
      because: 'gate',
      limit: null,
      held: 0,
      workers: { any: false },
    })
  })

  it('leaves out where the jobs of a paused queue wait, which is listed as a pause', async () => {
    const { db, gated } = await setupGates()
    await gated({}, { queue: 'mail', task: 'send' })
    await pause(db, 'queue:mail')
    await pause(db, 'task:a:b')
    await yieldPaused(db)
    expect(await listGates(db)).toEqual([])
    expect(await listPauses(db)).toMatchObject([
      { kind: 'queue', name: 'mail', pausedAt: expect.any(Date) as Date, pausedMs: aNumber },
      { kind: 'task', name: 'a:b' },
    ])
    expect(await listQueues(db)).toMatchObject([{ queue: 'mail', waiting: 1, pausedAt: expect.any(Date) as Date }])
    await resume(db, 'queue:mail')
    expect(await listPauses(db)).toMatchObject([{ kind: 'task' }])
    expect(await listQueues(db)).toMatchObject([{ queue: 'mail', pausedAt: null }])
  })
})

describe('a gate', () => {
  it('names its holders wherever they are, and the waiters in order', async () => {
    const { db, add, gated, take } = await setupGates()
    const running = await gated({ limit: 3 }, { priority: -1 })
    await take({ worker: 'w7' })
    const ready = await gated({ limit: 3 })
    await gated({ key: 'gate:z' })
    const between = await add({ gatesText: gates({ key: 'gate:k', limit: 3 }, { key: 'gate:z' }) })
    const second = await gated({ limit: 3 })
    const first = await gated({ limit: 3 }, { priority: -5 })

    const gate = await readGate(db, 'gate:k')

    expect(gate).toMatchObject({ key: 'gate:k', limit: 3, held: 3, waiting: 2 })
    expect(gate?.holders).toMatchObject([
      {
        jobId: running,
        task: 'test',
        queue: 'default',
        place: 'leased',
        worker: 'w7',
        sinceMs: aNumber,
        overrun: false,
      },
      { jobId: ready, place: 'ready', worker: null, sinceMs: null },
      { jobId: between, place: 'waiting', sinceMs: aNumber },
    ])
    expect(gate?.waiters).toMatchObject([
      { jobId: first, priority: -5, sinceMs: aNumber },
      { jobId: second, priority: 0 },
    ])
    expect(await readGate(db, 'gate:z')).toMatchObject({ held: 1, waiters: [{ jobId: between }] })
  })

  it('names the head of a strict order that blocks it, until that is skipped', async () => {
    const { db, gated, take, places, advance, sound } = await setupGates()
    const head = await gated(strict)
    const next = await gated(strict)
    await fail(db, [{ ...(await take()), ...later }])
    expect(await readGate(db, 'fifo:k')).toMatchObject({
      held: 1,
      holders: [{ jobId: head, place: 'delayed', failures: 1, dueInMs: aNumber, sinceMs: aNumber }],
      waiters: [{ jobId: next }],
    })

    expect(await skip(db, head)).toBe('skipped')
    expect(await places(head, next)).toEqual(['delayed', 'ready'])
    expect(await readGate(db, 'fifo:k')).toMatchObject({ holders: [{ jobId: next, place: 'ready' }], waiters: [] })
    expect(await skip(db, head)).toBe('not_held')

    const last = await gated(strict)
    await advance(61_000)
    await promoteDue(db)
    expect((await readGate(db, 'fifo:k'))?.waiters).toMatchObject([{ jobId: head }, { jobId: last }])
    await sound()
  })

  it('names a parked head, with the signal it waits for', async () => {
    const { db, gated, take, places } = await setupGates()
    const head = await gated(strict)
    const next = await gated(strict)
    await park(db, await take(), 'approved', null)
    expect(await readGate(db, 'fifo:k')).toMatchObject({
      holders: [{ jobId: head, place: 'parked', signal: 'approved', dueInMs: null }],
    })
    await cancel(db, [head], null)
    expect(await places(head, next)).toEqual(['cancelled', 'ready'])
  })

  it('still names who has overrun it, last and not counted', async () => {
    const { db, gated, take, advance } = await setupGates()
    const late = await gated({ overrunMs: 1_000 })
    const next = await gated({ overrunMs: 1_000 })
    await take()
    await advance(2_000)
    await markOverrun(db)
    expect(await readGate(db, 'gate:k')).toMatchObject({
      held: 1,
      waiting: 0,
      holders: [
        { jobId: next, place: 'ready', overrun: false },
        { jobId: late, place: 'leased', overrun: true },
      ],
    })
  })

  it('is unknown if nobody uses it', async () => {
    const { db } = await setupGates()
    expect(await readGate(db, 'gate:none')).toBeUndefined()
    await setLimit(db, 'gate:none', 3)
    expect(await readGate(db, 'gate:none')).toMatchObject({ limit: 3, setLimit: 3, declaredLimit: null, holders: [] })
  })

  it('can be paused before its first job', async () => {
    const { db, gated, places, turn } = await setupGates()
    expect(await pause(db, 'gate:k')).toBe(true)
    expect(await pause(db, 'gate:k')).toBe(false)
    expect(await readGate(db, 'gate:k')).toMatchObject({ limit: null, pausedMs: aNumber })
    const id = await gated()
    expect(await places(id)).toEqual(['waiting'])
    expect(await resume(db, 'gate:k')).toBe(true)
    expect(await resume(db, 'gate:k')).toBe(false)
    await turn()
    expect(await places(id)).toEqual(['ready'])
  })
})

describe('skip answers where a job is that blocks nobody', () => {
  it('running, ready, waiting, finished, missing', async () => {
    const { db, gated, take } = await setupGates()
    const [running, waiting] = [await gated(strict), await gated(strict)]
    const lease = await take()
    expect(await skip(db, running)).toBe('running')
    expect(await skip(db, waiting)).toBe('waiting')
    await finish(db, [{ ...lease, resultText: done }])
    expect(await skip(db, running)).toBe('finished')
    expect(await skip(db, waiting)).toBe('ready')
    expect(await skip(db, randomUUID())).toBe('missing')
  })
})

describe('why a job does not run', () => {
  it('waits at a gate: who holds it, and how many are ahead', async () => {
    const { db, gated, take } = await setupGates()
    const holder = await gated()
    await take({ worker: 'w7' })
    await gated()
    const id = await gated()
    expect(await whyNotRunning(db, id)).toEqual({
      because: 'gate',
      key: 'gate:k',
      sinceMs: aNumber,
      ahead: { count: 1, orMore: false },
      limit: 1,
      held: 1,
      pausedMs: null,
      holders: [expect.objectContaining({ jobId: holder, worker: 'w7', place: 'leased' })],
      workers: { any: false, serving: false },
    })
  })

  it('goes by priority, except where the order is strict', async () => {
    const { db, gated } = await setupGates()
    for (const gate of [{}, strict]) for (let i = 0; i < 3; i++) await gated(gate)
    const urgent = await gated({}, { priority: -5 })
    const inOrder = await gated(strict, { priority: -5 })
    expect(await whyNotRunning(db, urgent)).toMatchObject({ because: 'gate', ahead: { count: 0 } })
    expect(await whyNotRunning(db, inOrder)).toMatchObject({ because: 'gate', ahead: { count: 2 } })
  })

  it('does not count beyond a thousand', async () => {
    const { db } = await setupGates()
    const jobs = Array.from({ length: 1_003 }, () => aJob({ gatesText: gates({ key: 'gate:k' }) }))
    await enqueue(db, jobs)
    const why = async (index: number) => whyNotRunning(db, (jobs[index] as (typeof jobs)[0]).id)
    expect(await why(1_001)).toMatchObject({ ahead: { count: 1_000, orMore: false } })
    expect(await why(1_002)).toMatchObject({ ahead: { count: 1_000, orMore: true } })
  })

  it('waits at a gate that is paused', async () => {
    const { db, gated } = await setupGates()
    await pause(db, 'gate:k')
    const id = await gated()
    expect(await whyNotRunning(db, id)).toMatchObject({ because: 'gate', key: 'gate:k', held: 0, pausedMs: aNumber })
  })

  it('its queue or its task is paused, whether it is ready, waits there, or waits at a gate', async () => {
    const { db, add, gated } = await setupGates()
    const plain = await add({ queue: 'mail' })
    const [first, second] = [await gated({}, { queue: 'mail' }), await gated({}, { queue: 'mail' })]
    await pause(db, 'queue:mail')
    const paused = { because: 'paused', kind: 'queue', name: 'mail', pausedMs: aNumber }
    for (const id of [plain, first, second]) expect(await whyNotRunning(db, id)).toEqual(paused)
    await yieldPaused(db)
    for (const id of [plain, first, second]) expect(await whyNotRunning(db, id)).toEqual(paused)

    await pause(db, 'task:send')
    const other = await gated({ key: 'gate:other' }, { task: 'send' })
    expect(await whyNotRunning(db, other)).toMatchObject({ because: 'paused', kind: 'task', name: 'send' })
  })

  it('is delayed, and due', async () => {
    const { db, add, advance } = await setupGates()
    const id = await add({ delayMs: 60_000 })
    const why = await whyNotRunning(db, id)
    expect(why).toEqual({ because: 'delayed', dueInMs: aNumber, failures: 0, workers: { any: false, serving: false } })
    expect((why as { dueInMs: number }).dueInMs).toBeGreaterThan(30_000)
    await advance(61_000)
    expect(((await whyNotRunning(db, id)) as { dueInMs: number }).dueInMs).toBeLessThan(0)
  })

  it('is parked for a signal, until it comes', async () => {
    const { db, add, take } = await setupGates()
    const id = await add()
    await park(db, await take(), 'approved', null)
    expect(await whyNotRunning(db, id)).toEqual({ because: 'parked', signal: 'approved', dueInMs: null })
    await wake(db, id, 'approved', 'null')
    expect(await whyNotRunning(db, id)).toMatchObject({ because: 'no_worker' })
  })

  it('is ready, and no live worker serves its queue and task', async () => {
    const { db, add, sql, advance } = await setupGates()
    const id = await add({ queue: 'mail', task: 'send' })
    const none = (any: boolean) => ({
      because: 'no_worker',
      queue: 'mail',
      task: 'send',
      workers: { any, serving: false },
    })
    expect(await whyNotRunning(db, id)).toEqual(none(false))
    await sql(register, ['other-queue', { default: 1 }, ['send']])
    await sql(register, ['other-task', { mail: 1 }, ['receive']])
    expect(await whyNotRunning(db, id)).toEqual(none(true))
    await sql(register, ['leaving', { mail: 1 }, ['send']])
    await sql(`select fencepost.see('leaving', true)`)
    expect(await whyNotRunning(db, id)).toEqual(none(true))
    await sql(register, ['right', { mail: 1 }, ['send']])
    expect(await whyNotRunning(db, id)).toMatchObject({ because: 'in_line' })
    await advance(16_000)
    expect(await whyNotRunning(db, id)).toEqual(none(false))
  })

  it('is ready and in line', async () => {
    const { db, add, sql } = await setupGates()
    await sql(register, ['w1', { default: 1 }, ['test']])
    const last = await add({ priority: 1 })
    await add()
    await add({ queue: 'other' })
    expect(await whyNotRunning(db, last)).toEqual({
      because: 'in_line',
      queue: 'default',
      ahead: { count: 1, orMore: false },
    })
  })

  it('runs, has ended, or is not there', async () => {
    const { db, add, take } = await setupGates()
    const id = await add()
    const lease = await take({ worker: 'w7' })
    expect(await whyNotRunning(db, id)).toEqual({
      because: 'running',
      worker: 'w7',
      sinceMs: aNumber,
      expiresInMs: aNumber,
    })
    await finish(db, [{ ...lease, resultText: done }])
    expect(await whyNotRunning(db, id)).toEqual({ because: 'finished', outcome: 'succeeded', reason: null })
    expect(await whyNotRunning(db, randomUUID())).toBeUndefined()
  })
})
