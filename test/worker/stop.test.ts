import { expect, it } from 'vitest'
import { task } from '../../src/index.js'
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
