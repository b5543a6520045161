import type { TurnLease } from '../../src/store/turn.js'
import { expect, it } from 'vitest'
import { task } from '../../src/index.js'
import { readSqlFiles } from '../../src/store/sql-files.js'
import type { Execution } from '../../src/worker/executor.js'
import { Lanes } from '../../src/worker/lanes.js'
import { untilBlockedBy, waitersSql } from '../harness/blocked.js'
import { type SqlGuard, readGuards, withoutGuard } from '../harness/guard-removal.js'
import { Session } from '../harness/session.js'
import { anything, door, next, setupWorker } from './setup.js'

const soon = { poll: '20ms' } as const

it('does not take a commit for a success whose work threw on the reason of its signal', async () => {
  const { url, connect, fp, see, sql } = await setupWorker()
  await sql(`create table effect (by text);
    create function wait() returns trigger language plpgsql as $$ begin
      if new.result = '"waits"' then perform pg_advisory_xact_lock(1); end if; return new; end $$;
    create trigger wait before insert on fencepost.finished for each row execute function wait()`)
  // Both turns of the worker are held up, so that what the handler came to cannot be told yet.
  const holder = await Session.open({ url, connect })
  await holder.begin()
  await holder.query('select pg_advisory_xact_lock(1)')
  const gates = { one: door(), two: door() }
  const waits = task('waits', { input: anything, run: (n) => gates[n as 'one'].pass().then(() => 'waits') })
  const charge = task('charge', {
    input: anything,
    retry: { limit: 0 },
    timeout: '1s',
    run: (_, job) =>
      job.commit(async (tx) => {
        await tx.query(`insert into effect values ('a')`)
        await new Promise((_resolve, reject) => job.signal.addEventListener('abort', () => reject(job.signal.reason)))
      }),
  })
  await fp.work([charge, waits], soon)
  const reached = Promise.all([gates.one.reached(), gates.two.reached()])
  await fp.enqueueMany(waits, [{ input: 'one' }, { input: 'two' }])
  await reached
  const claimed = next(fp, 'claimed')
  const job = await fp.enqueue(charge, null)
  await claimed
  gates.one.open()
  await untilBlockedBy(sql, holder)
  gates.two.open()
  await expect.poll(() => sql(waitersSql('advisory'))).toHaveLength(2)

  await expect
    .poll(
      () =>
        sql(`select 1 from pg_stat_activity where state = 'idle in transaction' and query like 'insert into effect%'`),
      { timeout: 5_000 },
    )
    .toEqual([])
  await holder.commit()

  await expect(job.result({ timeout: '10s' })).rejects.toThrow(/timed out after 1000 ms/)
  expect(await see(job.id)).toMatchObject({ outcome: 'failed', failures: 1 })
  expect(await sql('select * from effect')).toEqual([])
})

it('gives a running suspect its grace', async () => {
  const { fp, loseAll, take, add, see } = await setupWorker()
  const id = await add({ task: 'work' })
  await take()
  await loseAll()
  const gate = door()
  const work = task('work', { input: anything, run: () => gate.pass() })
  const reached = gate.reached()
  const worker = await fp.work([work], { ...soon, grace: '20s' })
  await reached
  const stopping = next(fp, 'worker_stopping')

  const report = worker.stop()
  await stopping
  gate.open()

  expect(await report).toEqual({ finished: 1, released: 0 })
  expect(await see(id)).toMatchObject({ outcome: 'succeeded' })
})

it('does not tell a handler that its lease was lost when its own commit has ended it', async () => {
  const { fp, sql } = await setupWorker()
  const gate = door()
  const witness = task('witness', { input: anything, lease: '1s', run: () => gate.pass() })
  let aborted = false
  const work = task('work', {
    input: anything,
    lease: '1s',
    async run(_, job) {
      job.signal.addEventListener('abort', () => {
        aborted = true
      })
      await job.commit(async () => 'done')
      // Two heartbeats later it still cleans up.
      const extended = () => sql<{ at: Date }>(`select expires_at as at from fencepost.leased where task = 'witness'`)
      for (let times = 0, last = await extended(); times < 2; ) {
        const now = await extended()
        if (now[0]?.at.getTime() !== last[0]?.at.getTime()) times++
        last = now
      }
    },
  })
  const reached = gate.reached()
  await fp.work([witness, work], soon)
  await fp.enqueue(witness, null)
  await reached
  const finished = next(fp, 'finished')

  await fp.enqueue(work, null)

  await finished // told when the handler has ended
  expect(aborted).toBe(false)
  gate.open()
})

it('does not begin a job whose lease has run out before its turn came', async () => {
  const { fp, sql, see } = await setupWorker()
  // Of the first lease nothing is left when it arrives, as if the process had been stopped meanwhile.
  await sql(`alter function fencepost.told_terms rename to told_in_time;
    create function fencepost.told_terms(
      integer, integer, smallint, boolean, smallint, integer, smallint, smallint, integer, jsonb
    ) returns text language sql stable as $$
      select fencepost.told_in_time($1, case $6 when 1 then -1 else $2 end, $3, $4, $5, $6, $7, $8, $9, $10) $$`)
  const begun: number[] = []
  const work = task('work', { input: anything, lease: '30s', run: (_, job) => void begun.push(job.attempt) })
  const released = next(fp, 'released')
  const job = await fp.enqueue(work, null)

  await fp.work([work], soon)

  expect(await released).toMatchObject({ jobId: job.id, reason: 'no_room' })
  await job.result({ timeout: '10s' })
  expect(begun).toEqual([2])
  expect(await see(job.id)).toMatchObject({ outcome: 'succeeded', releases: 1, losses: 0 })
})

it('gives back a job of a task that it does not know, should a claim ever bring one', async () => {
  const { fp, sql, add, see } = await setupWorker()
  const guard = readGuards().find((each) => each.id === 'pick.tasks') as SqlGuard
  await sql(withoutGuard(readSqlFiles(), guard).moves.get('pick') as string)
  const id = await add({ task: 'another' })
  const work = task('work', { input: anything, run: () => 'done' })

  const worker = await fp.work([work], soon)
  await expect.poll(() => sql('select 1 from fencepost.attempt limit 1')).toHaveLength(1)
  await worker.stop()

  expect(await sql('select distinct job_id, ending, reason from fencepost.attempt')).toEqual([
    { job_id: id, ending: 'released', reason: 'unknown_task' },
  ])
  expect(await see(id)).toMatchObject({ place: 'ready', failures: 0, losses: 0 })
})

const anExecution = (queue: string) => ({ lease: { queue }, arrivedAtMs: performance.now() }) as unknown as Execution

it('does not believe a queue to be empty of which it heard while the claim was on its way', () => {
  const lanes = new Lanes(1, { default: 1 })
  const claim = lanes.claim(false, false)
  expect(claim).toMatchObject({ queues: [{ queue: 'default', limit: 1, starts: 1 }], room: 1 })
  expect(lanes.claim(false, false)).toBeUndefined() // there is no more room

  lanes.refill() // a notice
  if (claim) expect(lanes.answered(claim, [], performance.now())).toEqual({ dry: false })

  expect(lanes.claim(false, false)).toBeDefined()
})

it('sends one look at a time to a queue that has little', () => {
  const lanes = new Lanes(4, { default: 4 })
  const [one, other] = [lanes.claim(true, false), lanes.claim(true, false)]
  for (const claim of [one, other]) if (claim) lanes.answered(claim, [], performance.now())
  expect(other).toBeDefined() // as long as nobody knows

  lanes.refill()
  const claim = lanes.claim(false, false)
  expect(claim).toMatchObject({ queues: [{ limit: 2 }] })
  expect(lanes.claim(true, false)).toBeUndefined()
  lanes.refill()
  const meanwhile = lanes.claim(false, false)
  expect(meanwhile).toBeDefined() // the first may be waiting for a lock
  if (meanwhile) lanes.answered(meanwhile, [], performance.now())

  if (claim) lanes.answered(claim, [{ queue: 'default' }, { queue: 'default' }] as TurnLease[], performance.now())
  expect([lanes.claim(true, false), lanes.claim(true, false)]).toMatchObject([{ room: 4 }, { room: 2 }])
})

it('claims ahead at the rate of the endings, and starts only what there are free handlers for', () => {
  const lanes = new Lanes(2, { default: 2 })
  for (let turns = 0; turns < 5; turns++) {
    const claim = lanes.claim(true, false)
    if (!claim) throw new Error('there is room')
    for (let n = 0; n < 200; n++) {
      lanes.enter(anExecution('default'))
      lanes.leave('default')
    }
    lanes.answered(claim, [], performance.now() - 50)
  }
  expect(lanes.enter(anExecution('default'))).toBe(true)

  const claim = lanes.claim(true, false)

  expect(claim?.queues[0]?.limit).toBeGreaterThan(100)
  expect(claim?.queues[0]?.starts).toBe(1)
})

it('asks no queue first twice in a row', () => {
  const lanes = new Lanes(2, { mail: 2, reports: 2 })
  const first = () => {
    const claim = lanes.claim(true, false)
    if (claim) lanes.answered(claim, [], performance.now())
    return claim?.queues[0]?.queue
  }

  expect([first(), first(), first()]).toEqual(['mail', 'reports', 'mail'])
})

it('claims a bounded number ahead, however fast the handlers are', () => {
  const lanes = new Lanes(2, { default: 2 })
  for (let turns = 0; turns < 5; turns++) {
    const claim = lanes.claim(true, false)
    if (!claim) throw new Error('there is room')
    for (let n = 0; n < 10_000; n++) {
      lanes.enter(anExecution('default'))
      lanes.leave('default')
    }
    lanes.answered(claim, [], performance.now() - 60_000)
  }

  expect(lanes.claim(true, false)?.room).toBe(1_002)
})

it('gives a slot that is free to whoever waits, of whichever queue', () => {
  const lanes = new Lanes(1, { mail: 1, reports: 1 })
  const report = anExecution('reports')
  expect(lanes.enter(anExecution('mail'))).toBe(true)
  expect(lanes.enter(report)).toBe(false)

  expect(lanes.leave('mail')).toBe(report)
})

it('lets a queue have no more handlers than it may, whatever is free', () => {
  const lanes = new Lanes(2, { mail: 1 })
  expect(lanes.enter(anExecution('mail'))).toBe(true)

  expect(lanes.enter(anExecution('mail'))).toBe(false)
})
