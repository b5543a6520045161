import { expect, it, vi } from 'vitest'
import { each, processTestMsMax, setupProcesses } from './setup.js'

vi.setConfig({ testTimeout: processTestMsMax })

const losses = 2

it('a job that kills its process ends for its losses, and its neighbours do not', async () => {
  const { sql, spawn, enqueue, enqueueMany, quiet, runOut, ended, verify } = await setupProcesses()
  const poison = await enqueue('poison', {}, { losses })
  const neighbours = await enqueueMany('hold', [{}, {}, {}], { losses })
  const all = [poison, ...neighbours]

  /** A supervisor: whenever the process dies, another one takes its place. */
  let deaths = 0
  for (; deaths <= losses; deaths++) {
    const worker = await spawn({ concurrency: all.length })
    // Whoever is suspect runs alone, and a neighbour may be first.
    if (deaths > 0) worker.open(...neighbours)
    await worker.hears('started', ...(deaths === 0 ? all : [poison]))
    worker.open(poison)
    expect(await worker.exited).toEqual({ code: null, signal: 'SIGKILL' })
    await quiet()
    await runOut(all)
  }
  const last = await spawn({ concurrency: all.length })
  last.open(...neighbours)
  await ended()

  // Only the first death had neighbours: whoever is suspect runs alone.
  await verify({
    some: new Map([...each([poison], { losses: losses + 1 }), ...each(neighbours, { losses: 1, releases: 'any' })]),
    failed: new Map([[poison, 'losses_exhausted']]),
  })
  expect(await sql('select * from fencepost.leased')).toEqual([])
})
