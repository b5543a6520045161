import { expect, it } from 'vitest'
import { FaultProxy } from '../../harness/fault-proxy.js'
import { each, setupProcesses } from './setup.js'

it('SIGKILL costs what had started a loss, and what had not nothing', async () => {
  const { url, sql, spawn, enqueueMany, quiet, runOut, ended, verify } = await setupProcesses()
  const proxy = await FaultProxy.start(url)
  const victim = await spawn({ url: proxy.url, concurrency: 5 })
  const held = await enqueueMany('hold', [{}, {}, {}])
  await victim.hears('started', ...held)
  // The worker has these leases and does not know it yet.
  const withheld = proxy.holdReplyWith('claimed, not started')
  await enqueueMany(
    'note',
    Array.from({ length: 8 }, () => ({ mark: 'claimed, not started' })),
  )
  await withheld

  await victim.kill()
  await quiet()
  const left = await sql<{ id: string; started: boolean }>(
    'select job_id as id, started_at is not null as started from fencepost.leased',
  )
  const started = left.filter((lease) => lease.started).map(({ id }) => id)
  const unstarted = left.filter((lease) => !lease.started).map(({ id }) => id)
  const heir = await spawn()
  heir.open(...held)
  await runOut(left.map(({ id }) => id))
  await ended()

  expect(started).toEqual(expect.arrayContaining(held))
  expect(unstarted.length).toBeGreaterThan(0)
  expect(victim.said('started', ...unstarted)).toEqual([])
  await verify({ some: new Map([...each(started, { losses: 1 }), ...each(unstarted, { releases: 1 })]) })
})

it('SIGKILL inside job.commit leaves nothing of it', async () => {
  const { sql, spawn, enqueue, quiet, runOut, ended, verify } = await setupProcesses()
  const victim = await spawn()
  const id = await enqueue('hold', { inCommit: true })
  await victim.hears('in commit', id)

  await victim.kill()
  await quiet()
  const heir = await spawn()
  heir.open(id)
  await runOut([id])
  await ended()

  expect(await sql('select attempt from effect')).toEqual([{ attempt: 2 }])
  await verify({ all: { losses: 1 } })
})

it('SIGKILL between a charge and its record: the charge is asked for again under the same key', async () => {
  const { payment, spawn, enqueue, quiet, runOut, ended, verify } = await setupProcesses()
  const victim = await spawn()
  const charged = payment.hangNext()
  const id = await enqueue('charge', {})
  await charged

  await victim.kill()
  await quiet()
  await spawn()
  await runOut([id])
  await ended()

  expect(payment.calls).toHaveLength(2)
  await verify({ all: { losses: 1 } })
})

it('what a handler throws is a failure, and nothing but a failure', async () => {
  const { payment, spawn, enqueue, ended, verify } = await setupProcesses()
  await spawn()
  const cut = payment.cutNext()
  const charge = await enqueue('charge', {})
  const flaky = await enqueue('flaky', { failures: 3 })
  await cut
  await ended()

  expect(payment.calls).toHaveLength(2)
  await verify({
    some: new Map([
      [charge, { failures: 1 }],
      [flaky, { failures: 3 }],
    ]),
  })
})
