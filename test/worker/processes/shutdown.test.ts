import { expect, it, vi } from 'vitest'
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
