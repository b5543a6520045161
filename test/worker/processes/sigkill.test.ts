import { expect, it, vi } from 'vitest'
import { FaultProxy } from '../../harness/fault-proxy.js'
import { each, processTestMsMax, setupProcesses } from './setup.js'

vi.setConfig({ testTimeout: processTestMsMax })

it('SIGKILL costs what had started a loss, and what had not nothing', async () => {
  const { sql, spawn, enqueue, enqueueMany, quiet, runOut, ended, verify } = await setupProcesses()
  // A job whose worker died under it: it is leased beside the others, and waits, unstarted, for them to end.
  const suspect = await enqueue('note', {})
  await sql(`select fencepost.claim('default', 1, 'dead', p_start => 1)`)
  await runOut([suspect])
  await sql('select fencepost.lose()')
  const held = await enqueueMany('hold', [{}, {}, {}])
  const victim = await spawn({ concurrency: 5 })
  await victim.hears('started', ...held)
  await vi.waitUntil(async () => (await sql('select 1 from fencepost.leased')).length === 4, { timeout: 20_000 })
  // Stopped first: until the suspect's lease has reached it, it may have a second claim on its way.
  victim.signal('SIGSTOP')
  await quiet()
  const untouched = await enqueueMany('note', [{}, {}])

  await victim.kill()
  await quiet()
  expect(await sql('select started_at from fencepost.leased where job_id = $1', [suspect])).toEqual([
    { started_at: null },
  ])
  const heir = await spawn()
  heir.open(...held)
  await runOut([...held, suspect])
  await ended()

  expect(victim.said('started', suspect)).toEqual([])
  await verify({
    some: new Map([
      ...each(held, { losses: 1 }),
      [suspect, { losses: 1, releases: 1 }],
      ...each(untouched, { losses: 0, releases: 0 }),
    ]),
  })
})

it('SIGKILL before the reply to a claim has come: its leases count as started, and are taken up', async () => {
  const { url, spawn, enqueueMany, quiet, runOut, ended, verify } = await setupProcesses()
  const proxy = await FaultProxy.start(url)
  const victim = await spawn({ url: proxy.url, concurrency: 5 })
  const withheld = proxy.holdReplyWith('never heard of')
  const jobs = await enqueueMany('note', [{ mark: 'never heard of' }])
  await withheld

  await victim.kill()
  await quiet()
  await spawn()
  await runOut(jobs)
  await ended()

  expect(victim.said('started', ...jobs)).toEqual([])
  await verify({ all: { losses: 1 } })
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
