import pg from 'pg'
import { expect, it, onTestFinished, vi } from 'vitest'
import { fencepost } from '../../../src/index.js'
import { definitionOf } from '../../../src/lab/run-steps.js'
import { each, processTestMsMax, setupProcesses } from './setup.js'

vi.setConfig({ testTimeout: processTestMsMax })

it('SIGTERM: what ends in the grace period is done, the rest is given back at no charge, and both are reported', async () => {
  const { sql, spawn, enqueue, enqueueMany, ended, verify } = await setupProcesses()
  const worker = await spawn({ concurrency: 4, grace: '2500ms' })
  const drained = await enqueueMany('hold', [{}, {}])
  const left = [await enqueue('hold', {}), await enqueue('stubborn', {})]
  await worker.hears('started', ...drained, ...left)

  const terminated = worker.terminate()
  await worker.hears('stopping')
  const late = await enqueue('note', {})
  worker.open(...drained)
  await ended(drained)
  const { exit, report } = await terminated

  expect(exit).toEqual({ code: 0, signal: null })
  expect(report).toEqual({ finished: 2, released: 2 })
  expect(worker.said('aborted').map(({ jobId }) => jobId)).toEqual(expect.arrayContaining(left))
  expect(await sql('select * from fencepost.leased')).toEqual([])
  const heir = await spawn()
  heir.open(...left)
  await ended()
  expect(heir.said('started').map(({ jobId }) => jobId)).toEqual(expect.arrayContaining([...left, late]))
  await verify({ some: new Map(each(left, { releases: 1 })) })
})

it('SIGTERM of a worker with nothing to do ends it at once', async () => {
  const { spawn, verify } = await setupProcesses()
  const worker = await spawn({ grace: '1h' })

  expect(await worker.terminate()).toEqual({
    exit: { code: 0, signal: null },
    report: { finished: 0, released: 0 },
  })
  await verify()
})

it('a second SIGTERM ends it at once, which costs what runs a loss', async () => {
  const { spawn, enqueue, quiet, runOut, ended, verify } = await setupProcesses()
  const worker = await spawn({ grace: '1h' })
  const id = await enqueue('hold', {})
  await worker.hears('started', id)
  worker.signal('SIGTERM')
  await worker.hears('stopping')

  worker.signal('SIGTERM')

  expect(await worker.exited).toEqual({ code: null, signal: 'SIGTERM' })
  await quiet()
  const heir = await spawn()
  heir.open(id)
  await runOut([id])
  await ended()
  await verify({ all: { losses: 1 } })
})

it('SIGTERM among the items of a run: they are given back at no charge, and the run goes on elsewhere', async () => {
  const { url, sql, spawn } = await setupProcesses()
  const fp = await fencepost({ database: url, migrate: false })
  const conductor = new pg.Client({ connectionString: url })
  await conductor.connect()
  onTestFinished(() => Promise.all([fp.close(), conductor.end()]).then(() => {}))
  const worker = await spawn({ concurrency: 3, grace: 0 })
  await conductor.query('select pg_advisory_lock(1)')
  const definition = definitionOf(`
name: gathering
tasks:
  - { name: each, action: gather, with_items: [1, 2, 3], input: { cue: 1 }, retry: { count: 0 }, next: [{ do: after }] }
  - { name: after, action: echo, input: {} }
`)
  const run = await fp.workflows.start({ definition, tasks: [], workflows: [] }, {})
  await vi.waitUntil(() => worker.said('started').length === 3, { timeout: 60_000 })

  expect(await worker.terminate()).toEqual({ exit: { code: 0, signal: null }, report: { finished: 0, released: 3 } })

  expect(await sql('select advance_tries, busy_until from fencepost.run')).toEqual([
    { advance_tries: 0, busy_until: null },
  ])
  await conductor.query('select pg_advisory_unlock(1)')
  await spawn()
  await run.result({ timeout: '60s' })
  expect(
    await sql(`select run_task, failures, losses, count(*) as jobs from fencepost.jobs group by 1, 2, 3 order by 1`),
  ).toEqual([
    { run_task: 'after', failures: 0, losses: 0, jobs: 1 },
    { run_task: 'each', failures: 0, losses: 0, jobs: 3 },
  ])
})
