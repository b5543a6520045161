import { expect, it } from 'vitest'
import { Events } from '../../src/events.js'
import { task } from '../../src/index.js'
import { definitionOf } from '../../src/lab/run-steps.js'
import type { Task } from '../../src/task/task.js'
import { Advancer } from '../../src/worker/advancer.js'
import { untilBlockedBy } from '../harness/blocked.js'
import { Session } from '../harness/session.js'
import { anything, door, next, setupWorker } from './setup.js'

const soon = { poll: '20ms' } as const

it('gives back what a claim brings after it was told to stop', async () => {
  const { fp, url, connect, sql, see } = await setupWorker()
  await sql(`create function wait() returns trigger language plpgsql as $$ begin
      perform pg_advisory_xact_lock(1); return new; end $$;
    create trigger wait before insert on fencepost.leased for each row execute function wait()`)
  const holder = await Session.open({ url, connect })
  await holder.begin()
  await holder.query('select pg_advisory_xact_lock(1)')
  let begun = false
  const work = task('work', {
    input: anything,
    run: () => {
      begun = true
    },
  })
  const job = await fp.enqueue(work, null)
  const worker = await fp.work([work], soon)
  await untilBlockedBy(sql, holder)

  const report = worker.stop()
  await holder.commit()

  // A second claim that is on its way, too, may bring it once more.
  expect(await report).toMatchObject({ finished: 0 })
  expect(begun).toBe(false)
  expect(await see(job.id)).toMatchObject({ place: 'ready', losses: 0 })
})

it('claims nothing more while it waits for its handlers', async () => {
  const { fp, client, see } = await setupWorker()
  const gate = door()
  const work = task('work', { input: anything, run: () => gate.pass() })
  const reached = gate.reached()
  const worker = await fp.work([work], { ...soon, concurrency: 1, grace: '20s' })
  await fp.enqueue(work, null)
  await reached
  const stopping = next(fp, 'worker_stopping')
  const report = worker.stop()
  await stopping
  const late = await (await client()).enqueue(work, null)
  gate.open()

  expect(await report).toEqual({ finished: 1, released: 0 })
  expect(await see(late.id)).toMatchObject({ place: 'ready', tries: 0 })
})

it('extends the leases of the handlers that it waits for', async () => {
  const { fp, sql, see } = await setupWorker()
  const gate = door()
  const work = task('work', { input: anything, lease: '1s', run: () => gate.pass() })
  const reached = gate.reached()
  const worker = await fp.work([work], { ...soon, grace: '20s' })
  const job = await fp.enqueue(work, null)
  await reached

  const report = worker.stop()
  const extended = () => sql<{ at: Date }>('select expires_at as at from fencepost.leased')
  for (let times = 0, last = await extended(); times < 2; ) {
    const now = await extended()
    if (now[0]?.at.getTime() !== last[0]?.at.getTime()) times++
    last = now
  }
  gate.open()

  expect(await report).toEqual({ finished: 1, released: 0 })
  expect(await see(job.id)).toMatchObject({ outcome: 'succeeded', losses: 0 })
})

it('stops once', async () => {
  const { fp } = await setupWorker()
  const worker = await fp.work([task('work', { input: anything, run: () => 'done' })], soon)
  let stopped = 0
  fp.on('worker_stopped', () => stopped++)

  await Promise.all([worker.stop(), worker.stop()])

  expect(stopped).toBe(1)
})

it('says its last words again, if they fail, before it closes', async () => {
  const { fp, sql, see } = await setupWorker()
  await sql(`create sequence refused; create table refuse (); 
    create function refuse() returns trigger language plpgsql as $$ begin
      if to_regclass('refuse') is not null then
        perform nextval('refused');
        raise exception using errcode = '40001', message = 'refused';
      end if;
      return old; end $$;
    create trigger refuse before delete on fencepost.leased for each row execute function refuse()`)
  const gate = door()
  const work = task('work', { input: anything, run: () => gate.pass() })
  const reached = gate.reached()
  const worker = await fp.work([work], { ...soon, grace: 0 })
  const job = await fp.enqueue(work, null)
  await reached

  const report = worker.stop()
  const refusals = async () => (await sql<{ n: number }>('select last_value as n from refused'))[0]?.n as number
  await Promise.race([report, expect.poll(refusals, { interval: 5, timeout: 10_000 }).toBeGreaterThan(5)])
  await sql('drop table refuse')

  expect(await report).toEqual({ finished: 0, released: 1 })
  expect(await see(job.id)).toMatchObject({ place: 'ready' })
  gate.open()
})

it('advances to its end what it had begun to advance', async () => {
  const world = await setupWorker()
  const { fp, db, sql } = world
  const only = task('only', { input: anything, run: () => 'done' })
  const definition = definitionOf(`
name: single
tasks: [{ name: only, action: only }]
`)
  await fp.workflows.start({ definition, tasks: [only], workflows: [] }, {})
  // Who takes the run waits before it commits.
  const holder = await Session.open(world)
  await holder.begin()
  await holder.query('select pg_advisory_xact_lock(42)')
  await sql(`create function hold() returns trigger language plpgsql as $$ begin
      perform pg_advisory_xact_lock_shared(42); return new; end $$;
    create trigger hold before update on fencepost.run for each row
    when (new.busy_until is not null) execute function hold()`)
  const order: string[] = []
  const look = () => void order.push('advanced')
  const advancer = new Advancer({ db, events: new Events(), tasks: new Map([['only', only as Task]]), look })
  advancer.call()
  await untilBlockedBy(sql, holder)

  const stopped = advancer.stop().then(() => order.push('stopped'))
  await holder.commit()
  await stopped

  expect(order).toEqual(['advanced', 'stopped'])
  expect(await sql('select revision, busy_until from fencepost.run')).toEqual([{ revision: 1, busy_until: null }])
})
