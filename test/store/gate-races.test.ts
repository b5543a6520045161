import { randomUUID } from 'node:crypto'
import { expect, it } from 'vitest'
import { audit } from '../../src/audit/audit.js'
import type { Fence } from '../../src/job/places.js'
import { cancel, markOverrun, promoteDue, retryEnded, wake, yieldPaused } from '../../src/store/control.js'
import type { Queryable } from '../../src/store/database.js'
import { enqueue, type NewJob } from '../../src/store/enqueue.js'
import { claim, loseExpired } from '../../src/store/lease.js'
import { fail, finish, park, release } from '../../src/store/settle.js'
import { takeTurn } from '../../src/store/turn.js'
import type { StoredGate } from '../../src/task/gate.js'
import { setupGates } from '../harness/gates.js'
import { Session } from '../harness/session.js'
import { aJob } from '../harness/setup.js'

/** FENCEPOST_SEED draws the same moves again; how they interleave is up to the machine. */
const seed = Number(process.env['FENCEPOST_SEED'] || Date.now() % 2 ** 31)
const steps = Number(process.env['FENCEPOST_RACE_STEPS'] || 100)
const actors = 7

/** In the order of their keys. Of `gate:o` holders are many, by its overrun; of `gate:l` the limit changes, up to 3. */
const known: readonly StoredGate[] = [
  { key: 'fifo:f', limit: 1, onFull: 'wait' },
  { key: 'gate:a', limit: 1, onFull: 'wait' },
  { key: 'gate:b', limit: 2, onFull: 'wait' },
  { key: 'gate:l', limit: 2, onFull: 'wait' },
  { key: 'gate:o', limit: 1, onFull: 'wait', overrunMs: 3 },
  { key: 'group:g', limit: 3, local: 2, onFull: 'wait' },
]
const alone: StoredGate = { key: 'group:h', local: 1, onFull: 'wait' }
const limits: Record<string, number> = { 'fifo:f': 1, 'gate:a': 1, 'gate:b': 2, 'gate:l': 3, 'group:g': 3 }
const locals: Record<string, number> = { 'group:g': 2, 'group:h': 1 }
const queues = ['default', 'other']
const tasks = ['test', 'more']
const pauses = ['queue:other', 'task:more', 'gate:a', 'gate:b', 'fifo:f']

interface Held extends Fence {
  readonly worker: string
}

it('lets nobody above a limit, strands nobody, and never deadlocks, whatever races', {
  timeout: 60_000 + 300 * steps,
}, async () => {
  console.log(`FENCEPOST_SEED=${seed}`)
  const bundle = await setupGates()
  const { db, sql } = bundle
  for (const worker of ['w0', 'w1', 'w2']) {
    await sql(`select fencepost.register($1, 1, 'h', '0', '{}', '{}')`, [worker])
  }
  const keysOf = new Map<string, readonly string[]>()
  const running = new Map<string, Held>()
  const idle: Held[] = []
  const stale: Held[] = []
  const errors: string[] = []
  let turns = 0

  const count = (key: string, worker?: string) =>
    [...running.values()].filter(
      (held) => (worker === undefined || held.worker === worker) && keysOf.get(held.jobId)?.includes(key),
    ).length

  /** A handler begins: it looks who else is there. */
  function begin(leases: readonly Fence[], worker: string): void {
    for (const { jobId, leaseId, nonce } of leases) {
      const held = { jobId, leaseId, nonce, worker }
      if (running.has(jobId)) errors.push(`job ${jobId} runs twice`)
      running.set(jobId, held)
      idle.push(held)
      for (const key of keysOf.get(jobId) ?? []) {
        const [limit, local] = [limits[key], locals[key]]
        if (limit !== undefined && count(key) > limit) errors.push(`${count(key)} run behind ${key}, limit ${limit}`)
        if (local !== undefined && count(key, worker) > local) errors.push(`${worker} runs too many of ${key}`)
      }
    }
  }

  function drawJob(random: Random): NewJob {
    const own = known.filter(() => random.chance(0.3))
    const gates = own.length > 0 ? own.slice(0, 3) : [random.of(known)]
    if (!gates.some(({ key }) => key.startsWith('group:')) && random.chance(0.15)) gates.push(alone)
    const drawn = gates.map((gate) =>
      gate.key === 'gate:b' && random.chance(0.3)
        ? { ...gate, onFull: random.of(['discard', 'replace'] as const) }
        : gate,
    )
    const job = aJob({
      gatesText: random.chance(0.1) ? null : JSON.stringify(drawn),
      queue: random.of(queues),
      task: random.of(tasks),
      priority: random.below(2),
      delayMs: random.chance(0.1) ? 5 : 0,
      failuresMax: 1_000,
      lossesMax: 1_000,
    })
    keysOf.set(job.id, job.gatesText === null ? [] : drawn.map(({ key }) => key))
    return job
  }

  /** One of those that run ends; `settle` says how. In a transaction it runs until the very end of that. */
  async function end(random: Random, settle: (held: Held) => Promise<unknown>): Promise<void> {
    if (idle.length === 0) return
    const [held] = idle.splice(random.below(idle.length), 1) as [Held]
    running.delete(held.jobId)
    await settle(held)
    stale.push(held)
  }

  async function actor(n: number): Promise<void> {
    const random = new Random(seed + n)
    const worker = `w${n % 3}` // two of them share one
    const session = await Session.open(bundle)
    const note = (error: unknown) => errors.push(`${sqlState(error)}: ${String(error)}`)
    const anyJob = () => random.of([...keysOf.keys()])
    const failed = () => ({ errorText: '{}', delayMs: random.of([0, 5]), final: random.chance(0.1) })
    const settleNow: Record<string, (held: Held) => Promise<unknown>> = {
      finish: (held) => finish(session, [{ ...held, resultText: '1' }]),
      'finish with a stale one': (held) =>
        finish(
          session,
          [...stale.slice(-2), held].map((one) => ({ ...one, resultText: '1' })),
        ),
      fail: (held) => fail(session, [{ ...held, ...failed() }]),
      release: (held) => release(session, [held], 'shutdown'),
      park: async (held) => {
        const { answer } = await park(session, held, 'signal', random.chance(0.5) ? 5 : null)
        if (answer === 'signalled' || answer === 'elapsed') await finish(session, [{ ...held, resultText: '1' }])
      },
      lose: async ({ leaseId }) => {
        await session.query(
          `update fencepost.leased set expires_at = '-infinity', started_at = clock_timestamp() where lease_id = $1`,
          [leaseId],
        )
        await loseExpired(session)
      },
      turn: async (held) => {
        const claimed = await takeTurn(session, {
          ...bundle.emptyTurn(worker),
          turn: ++turns,
          finish: random.chance(0.5) ? [{ ...held, resultText: '1' }] : [],
          fail: [{ ...held, ...failed() }],
          release: [{ ...held, reason: 'drained' }],
          claim: {
            queues: queues.map((queue) => ({ queue, limit: 3, starts: 2 })),
            room: 4,
            suspect: random.chance(0.5),
          },
          tasks,
        })
        begin(claimed.leases, worker)
      },
    }
    const inTransaction: ((tx: Queryable, held: Held | undefined) => Promise<unknown>)[] = [
      (tx, held) => finish(session, held ? [{ ...held, resultText: '1' }] : [], tx),
      (tx, held) => fail(session, held ? [{ ...held, ...failed() }] : [], tx),
      (tx) => cancel(session, [anyJob()], null, tx),
      (tx) => retryEnded(session, [anyJob()], tx),
      (tx) => wake(session, anyJob(), 'signal', '1', tx),
      () => session.query('select fencepost.skip($1)', [anyJob()]),
    ]
    const moves: [weight: number, move: () => Promise<unknown>][] = [
      [
        6,
        () =>
          enqueue(
            session,
            Array.from({ length: 1 + random.below(3) }, () => drawJob(random)),
          ),
      ],
      [
        3,
        async () => {
          // A caller's transaction that takes its time: the others go on meanwhile.
          await session.begin(random.chance(0.2) ? 'repeatable read' : 'read committed')
          const jobs = Array.from({ length: 1 + random.below(3) }, () => drawJob(random))
          await enqueue(session, jobs, session.client)
          const move = random.below(inTransaction.length)
          const held = move < 2 ? idle.splice(random.below(idle.length), 1)[0] : undefined
          let commits = random.chance(0.7)
          try {
            await inTransaction[move]?.(session.client, held)
            for (let left = random.below(8); left > 0; left--) await session.query('select 1')
          } catch (error) {
            commits = false
            if (sqlState(error) !== '40001') note(error)
          }
          if (commits) {
            if (held) {
              running.delete(held.jobId)
              stale.push(held)
            }
            await session.commit()
          } else {
            await session.rollback()
            for (const { id } of jobs) keysOf.delete(id)
            if (held) idle.push(held)
          }
        },
      ],
      [
        6,
        async () =>
          begin(await claim(session, { queue: random.of(queues), limit: 1 + random.below(3), worker }), worker),
      ],
      [10, () => end(random, random.of(Object.values(settleNow)))],
      [2, () => takeTurn(session, { ...bundle.emptyTurn(worker), turn: ++turns })],
      [2, () => promoteDue(session)],
      [1, () => markOverrun(session)],
      [1, () => yieldPaused(session)],
      [1, () => wake(session, anyJob(), 'signal', '1')],
      [1, () => cancel(session, [anyJob(), anyJob()], null)],
      [1, () => retryEnded(session, [anyJob()])],
      [1, () => session.query('select fencepost.skip($1, true)', [anyJob()])],
      [1, () => session.query('select fencepost.set_limit($1, $2)', ['gate:l', random.of([1, 2, 3, null])])],
      [1, () => session.query('select fencepost.pause($1)', [random.of(pauses)])],
      [2, () => session.query('select fencepost.resume($1)', [random.of(pauses)])],
    ]
    const drawn = moves.flatMap(([weight, move]) => Array.from({ length: weight }, () => move))
    await enqueue(session, [drawJob(random)])
    for (let i = 0; i < steps; i++) await random.of(drawn)().catch(note)
  }

  await Promise.all(Array.from({ length: actors }, (_, n) => actor(n)))
  expect(errors).toEqual([])
  const sound = async () =>
    expect((await audit(db)).findings.filter(({ severity }) => severity === 'violation')).toEqual([])
  await sound()

  // Everything is let go: then everything ends.
  for (const key of pauses) await sql('select fencepost.resume($1)', [key])
  await sql(`select fencepost.set_limit('gate:l', null)`)
  const left = () =>
    sql<{ id: string; place: string; waits_at: string }>(
      `select id, place, waits_at from fencepost.jobs where place is distinct from 'finished'`,
    )
  let rounds = 0
  for (let jobs = await left(); jobs.length > 0; jobs = await left()) {
    expect(rounds++, JSON.stringify(jobs)).toBeLessThan(keysOf.size + 20)
    for (const { jobId } of idle) running.delete(jobId)
    await finish(
      db,
      idle.splice(0).map((held) => ({ ...held, resultText: '1' })),
    )
    for (const { id } of jobs.filter(({ place }) => place === 'parked')) await wake(db, id, 'signal', '1')
    await sql(`update fencepost.delayed set due_at = '-infinity'`)
    await sql(`update fencepost.parked set due_at = '-infinity'`)
    await promoteDue(db)
    await loseExpired(db)
    await bundle.turn('w0')
    for (const queue of queues) begin(await claim(db, { queue, limit: 1_000, worker: randomUUID() }), randomUUID())
    expect(errors).toEqual([])
  }
  await bundle.turn('w0')
  expect(await sql('select * from fencepost.nudge')).toEqual([])
  expect(await sql('select * from fencepost.gate')).toEqual([])
  await sound()
})

function sqlState(error: unknown): string | undefined {
  const { code, cause } = error as { code?: string; cause?: { code?: string } }
  return cause?.code ?? code
}

/** mulberry32 */
class Random {
  #state: number

  constructor(from: number) {
    this.#state = from >>> 0
  }

  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let t = this.#state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }

  below(n: number): number {
    return Math.floor(this.next() * n)
  }

  chance(p: number): boolean {
    return this.next() < p
  }

  of<Item>(items: readonly Item[]): Item {
    return items[this.below(items.length)] as Item
  }
}
