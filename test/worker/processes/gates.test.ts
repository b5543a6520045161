import { expect, it, vi } from 'vitest'
import { each, processTestMsMax, setupProcesses } from './setup.js'

vi.setConfig({ testTimeout: processTestMsMax })

type World = Awaited<ReturnType<typeof setupProcesses>>

/** Behind `limit` places, and each looks for itself whether there is one. */
const crowd = ({ enqueueMany }: World, key: string, limit: number, count: number, workMs = 5) =>
  enqueueMany(
    'crowd',
    Array.from({ length: count }, () => ({ key, limit, workMs })),
    { gate: { key, limit } },
  )

const nothingLeft = ({ sql }: World) =>
  vi.waitUntil(
    async () => (await sql('select key from fencepost.gate union all select key from fencepost.nudge')).length === 0,
    {
      timeout: 30_000,
      interval: 25,
    },
  )

it('three workers with their maintenance, a holder that overruns, a SIGTERM in the middle: no limit is passed', async () => {
  const world = await setupProcesses()
  const { spawn, enqueueMany, ended, verify, sql } = world
  const late = { key: 'late', limit: 1, overrun: { after: '1s', then: 'admit' } } as const
  const [holder] = await enqueueMany('crowd', [{ key: 'the late one', limit: 1, stays: true }], { gate: late })
  const [first, second, third] = await Promise.all([1, 2, 3].map(() => spawn({ concurrency: 10, grace: '100ms' })))
  const workers = [first, second, third].map((worker) => worker as NonNullable<typeof worker>)
  await vi.waitUntil(() => workers.some((worker) => worker.said('started', holder as string).length > 0), 30_000)
  await enqueueMany('crowd', [{ key: 'late', limit: 1 }], { gate: late })
  const jobs = [
    await crowd(world, 'one', 1, 40),
    await crowd(world, 'two', 2, 40),
    await crowd(world, 'five', 5, 40),
  ].flat()

  await vi.waitUntil(() => workers.some((worker) => worker.said('overrun', holder as string).length > 0), 60_000)
  const keeper = workers.find((worker) => worker.said('started', holder as string).length > 0)
  const other = workers.find((worker) => worker !== keeper) as (typeof workers)[number]
  await vi.waitUntil(() => other.said('started').length > 5, 60_000)
  const [{ exit }] = await Promise.all([other.terminate(), spawn({ concurrency: 10 })])
  await ended(jobs)
  keeper?.open(holder as string)
  await ended()

  expect(exit).toEqual({ code: 0, signal: null })
  expect(await sql('select * from crowded')).toEqual([])
  await nothingLeft(world)
  await verify({ all: { releases: 'any' } })
})

it('a worker that is killed leaves no slot behind, and its jobs keep theirs', async () => {
  const world = await setupProcesses()
  const { spawn, enqueueMany, ended, verify, sql, runOut, quiet } = world
  const held = await enqueueMany(
    'crowd',
    [1, 2].map(() => ({ key: 'k', limit: 2, stays: true })),
    { gate: { key: 'k', limit: 2 } },
  )
  const doomed = await spawn({ concurrency: 10 })
  await doomed.hears('started', ...held)
  await crowd(world, 'k', 2, 20)

  await doomed.kill()
  await quiet()
  await runOut(held)
  const heir = await spawn({ concurrency: 10 })
  heir.open(...held) // one after the other: each may have killed its worker
  await ended()
  // They had the two slots all the time: nobody could be admitted before one of them had ended.
  expect(held).toContain(heir.said('started')[0]?.jobId)

  expect(await sql('select * from crowded')).toEqual([])
  await nothingLeft(world)
  await verify({ some: new Map(each(held, { losses: 1 })) })
})

it('jobs of a dead worker that end in bulk free each its own slot, and no more', async () => {
  const world = await setupProcesses()
  const { spawn, enqueueMany, ended, verify, sql, runOut, quiet } = world
  const held = await enqueueMany(
    'crowd',
    [1, 2, 3].map(() => ({ key: 'k', limit: 3, stays: true })),
    { gate: { key: 'k', limit: 3 }, losses: 0 },
  )
  const doomed = await spawn({ concurrency: 10 })
  await doomed.hears('started', ...held)
  await crowd(world, 'k', 3, 30)

  await doomed.kill()
  await quiet()
  await runOut(held)
  await spawn({ concurrency: 10 })
  await ended()

  expect(await sql('select * from crowded')).toEqual([])
  await nothingLeft(world)
  await verify({
    some: new Map(each(held, { losses: 1 })),
    failed: new Map(held.map((id) => [id, 'losses_exhausted'])),
  })
})
