import { once } from 'node:events'
import { expect, it, onTestFinished, vi } from 'vitest'
import { cancel } from '../../src/store/control.js'
import { registerWorker } from '../../src/store/worker.js'
import type { Execution } from '../../src/worker/executor.js'
import { Heartbeat } from '../../src/worker/heartbeat.js'
import { untilBlockedBy } from '../harness/blocked.js'
import { Session } from '../harness/session.js'
import { setupExecution } from './setup.js'

/** What was asked for so long ago is to be extended at the next beat. */
const due = { sentAtMs: performance.now() - 11_000 }

type Bundle = Awaited<ReturnType<typeof setupExecution>>

function beat({ db, events }: Bundle, held: readonly Execution[], onLost = async () => {}): Heartbeat {
  const heartbeat = new Heartbeat({ db, events, worker: () => 'w1', stopping: () => false, held: () => held, onLost })
  onTestFinished(() => heartbeat.stop())
  return heartbeat
}

const aborted = async ({ signal }: Execution): Promise<unknown> => {
  if (!signal.aborted) await once(signal, 'abort')
  return signal.reason
}

it('tells a handler that its lease is gone, when that was to be extended', async () => {
  const bundle = await setupExecution(() => {}, due)
  await bundle.lose()

  beat(bundle, [bundle.execution])

  expect(await aborted(bundle.execution)).toMatchObject({ code: 'FP_LEASE_LOST' })
})

it('tells a handler that its lease is gone, before that was to be extended', async () => {
  const bundle = await setupExecution(() => {}, { sentAtMs: performance.now() + 600_000 })
  await bundle.lose()

  beat(bundle, [bundle.execution])

  expect(await aborted(bundle.execution)).toMatchObject({ code: 'FP_LEASE_LOST' })
})

it('tells a handler that its job was cancelled, although its lease is locked', async () => {
  const bundle = await setupExecution(() => {}, due)
  await cancel(bundle.db, [bundle.id], null)
  const holder = await Session.open(bundle)
  await holder.begin()
  await holder.query('select 1 from fencepost.leased for update')

  beat(bundle, [bundle.execution])

  expect(await aborted(bundle.execution)).toMatchObject({ message: expect.stringContaining('cancelled') as string })
  await holder.rollback()
})

it('does not tell a job that was given back that its lease was lost', async () => {
  const bundle = await setupExecution(() => {}, due)
  const witness = await bundle.another()
  await bundle.execution.giveBack('no_room')
  await bundle.lose()

  beat(bundle, [bundle.execution, witness])
  await aborted(witness)

  expect(bundle.execution.signal.aborted).toBe(false)
})

it('goes on after a beat that failed', async () => {
  const bundle = await setupExecution(() => {}, due)
  await bundle.sql(`create sequence refusals;
    create function refuse() returns trigger language plpgsql as $$ begin
      if nextval('refusals') = 1 then raise exception 'not now'; end if; return new; end $$;
    create trigger refuse before update on fencepost.leased for each row execute function refuse()`)
  const expiry = () => bundle.sql<{ at: Date }>('select expires_at as at from fencepost.leased')
  const before = await expiry()
  const failed = new Promise((resolve) => bundle.events.on('error', resolve))

  beat(bundle, [bundle.execution])

  expect(await failed).toMatchObject({ during: 'the heartbeat' })
  await expect.poll(expiry, { timeout: 5_000 }).not.toEqual(before)
})

it('learns that others took its worker for dead', async () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const bundle = await setupExecution() // and no worker is registered
  await new Promise<void>((resolve) => {
    beat(bundle, [], async () => resolve())
    vi.advanceTimersByTime(11_000)
  })
})

it('goes on as a new worker after it slept past its leases, though nobody has noticed', async () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const bundle = await setupExecution()
  await registerWorker(bundle.db, { id: 'w1', pid: 1, host: 'h', version: '0', queues: {}, tasks: [] })
  await bundle.lose()
  await new Promise<void>((resolve) => {
    beat(bundle, [bundle.execution], async () => resolve())
    vi.advanceTimersByTime(31_000)
  })
})

it('has beaten its last when it has stopped', async () => {
  const bundle = await setupExecution(() => {}, due)
  const holder = await Session.open(bundle)
  await bundle.sql(`create function wait() returns trigger language plpgsql as $$ begin
      perform pg_advisory_xact_lock(1); return new; end $$;
    create trigger wait before update on fencepost.leased for each row execute function wait()`)
  await holder.begin()
  await holder.query('select pg_advisory_xact_lock(1)')
  const heartbeat = beat(bundle, [bundle.execution])
  await untilBlockedBy(bundle.sql, holder)

  let isStopped = false
  const stopped = heartbeat.stop().then(() => {
    isStopped = true
  })
  await bundle.sql('select 1')

  expect(isStopped).toBe(false)
  await holder.commit()
  await stopped
})

it('reckons with what a lease lasts from when it was asked to, not from when that was answered', async () => {
  const bundle = await setupExecution(() => {}, due)
  const { sql, execution } = bundle
  await sql(`create function wait() returns trigger language plpgsql as $$ begin
      perform pg_advisory_xact_lock_shared(42); return new; end $$;
    create trigger wait before update on fencepost.leased for each row execute function wait()`)
  const holder = await Session.open(bundle)
  await holder.begin()
  await holder.query('select pg_advisory_xact_lock(42)')
  const before = execution.validUntilMs
  beat(bundle, [execution])
  await untilBlockedBy(sql, holder)
  const askedBeforeMs = performance.now()
  await holder.commit()
  await vi.waitUntil(() => execution.validUntilMs !== before, { timeout: 4_000, interval: 5 })

  expect(execution.validUntilMs).toBeLessThanOrEqual(askedBeforeMs + execution.lease.leaseMs)
})
