import { expect, it, vi } from 'vitest'
import { FaultProxy } from '../../harness/fault-proxy.js'
import { doneText } from './handlers.js'
import { processTestMsMax, setupProcesses } from './setup.js'
import type { WorkerProcess } from './worker.js'

vi.setConfig({ testTimeout: processTestMsMax })

type Scene = Awaited<ReturnType<typeof setupProcesses>>

const lates = (sql: Scene['sql'], id: string) =>
  sql('select ending, late_ending, late from fencepost.attempt where job_id = $1 and late_ending is not null', [id])

/** It is alone, and does what is asked. */
async function goesOn(zombie: WorkerProcess, heir: WorkerProcess, { enqueueMany, ended }: Scene): Promise<void> {
  expect((await heir.terminate()).exit).toEqual({ code: 0, signal: null })
  const further = await enqueueMany('note', [{}, {}, {}])
  await ended()
  await zombie.hears('finished', ...further)
}

it.each([
  'after another has done its job',
  'while another is at it', // then only the fence keeps the two leases of this job apart
])('a worker stopped inside job.commit, and woken %s, cannot commit any more, and goes on', async (woken) => {
  const scene = await setupProcesses()
  const { sql, spawn, enqueue, lengthenNextLease, ended, verify } = scene
  const zombie = await spawn()
  const id = await enqueue('hold', { inCommit: true }, { lease: '2s' })
  await zombie.hears('in commit', id)
  await lengthenNextLease(id)
  const heir = await spawn()

  zombie.signal('SIGSTOP')
  await heir.hears('in commit', id)
  if (woken === 'after another has done its job') {
    heir.open(id)
    await ended([id])
  }
  zombie.signal('SIGCONT')
  await zombie.hears('aborted', id)
  await zombie.hears('stale', id)
  heir.open(id)
  await ended([id])

  expect(heir.said('started', id)).toMatchObject([{ attempt: 2 }])
  expect(await lates(sql, id)).toEqual([{ ending: 'lost', late_ending: 'succeeded', late: doneText(id) }])
  expect(await sql('select attempt from effect')).toEqual([{ attempt: 2 }])
  await goesOn(zombie, heir, scene)
  await verify({ some: new Map([[id, { losses: 1 }]]) })
})

it('a worker stopped inside a step until its lease has run out: one key, one charge, one effect', async () => {
  const scene = await setupProcesses()
  const { sql, payment, spawn, enqueue, lengthenNextLease, ended, verify } = scene
  const zombie = await spawn()
  const charged = payment.hangNext()
  const id = await enqueue('charge', {}, { lease: '2s' })
  await charged
  await lengthenNextLease(id)
  const heir = await spawn()

  zombie.signal('SIGSTOP')
  await ended([id])
  zombie.signal('SIGCONT')
  await zombie.hears('aborted', id)
  await zombie.hears('stale', id)

  expect(payment.calls).toHaveLength(2)
  expect(await lates(sql, id)).toMatchObject([{ ending: 'lost', late_ending: 'failed' }])
  await goesOn(zombie, heir, scene)
  await verify({ some: new Map([[id, { losses: 1 }]]) })
})

it('a worker cut off from the database until its lease has run out cannot commit any more, and goes on', async () => {
  const scene = await setupProcesses()
  const { url, spawn, enqueue, lengthenNextLease, ended, verify } = scene
  const proxy = await FaultProxy.start(url)
  const zombie = await spawn({ url: proxy.url })
  const id = await enqueue('stubborn', {}, { lease: '2s' })
  await zombie.hears('started', id)
  await lengthenNextLease(id)
  const heir = await spawn()
  heir.open(id)

  proxy.stall()
  await ended([id])
  proxy.resume()
  await zombie.hears('aborted', id)
  zombie.open(id)
  await zombie.hears('stale', id)

  await goesOn(zombie, heir, scene)
  await verify({ some: new Map([[id, { losses: 1 }]]) })
})
