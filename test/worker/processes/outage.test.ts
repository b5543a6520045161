import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { startTestServer, systemPrograms, type TestServer } from '../../harness/test-server.js'
import { processTestMsMax, setupProcesses } from './setup.js'

vi.setConfig({ testTimeout: processTestMsMax })

/** A server of this file's own: the others' must not go away under them. */
let server: TestServer
beforeAll(async () => {
  server = await startTestServer(systemPrograms() ? 'system' : 'embedded')
})
afterAll(() => server?.stop())

it.each(['fast', 'immediate'] as const)(
  'a server that is restarted (%s) under load: all is done once',
  async (mode) => {
    const { spawn, enqueue, produce, ended, verify } = await setupProcesses(server.url)
    const workers = await Promise.all([spawn({ concurrency: 5 }), spawn({ concurrency: 5 })])
    const producing = produce()

    // One is inside its commit for certain, whatever the others are at.
    const inside = await enqueue('hold', { inCommit: true })
    await Promise.any(workers.map((worker) => worker.hears('in commit', inside)))
    await producing.made(30)
    await server.restart(mode)
    for (const worker of workers) worker.open(inside)
    await producing.made(20)
    await producing.stop()
    await ended()

    // None of them had to be restarted, and none is left with its hands full.
    for (const worker of workers) expect((await worker.terminate()).exit).toEqual({ code: 0, signal: null })
    await verify({ all: { releases: 'any' } })
  },
)
