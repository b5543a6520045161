import { expect, it, vi } from 'vitest'
import { processTestMsMax, setupProcesses } from './setup.js'

vi.setConfig({ testTimeout: processTestMsMax })

const workers = 5

it('a rolling restart under load loses nothing, repeats nothing and charges nobody', async () => {
  const { spawn, produce, ended, verify } = await setupProcesses()
  const first = await Promise.all(Array.from({ length: workers }, () => spawn({ concurrency: 4 })))
  const producing = produce()

  const exits = []
  for (const worker of first) {
    await producing.made(12)
    const [{ exit }] = await Promise.all([worker.terminate(), spawn({ concurrency: 4 })])
    exits.push(exit)
  }
  await producing.stop()
  await ended()

  expect(exits).toEqual(first.map(() => ({ code: 0, signal: null })))
  await verify({ all: { releases: 'any' } })
})
