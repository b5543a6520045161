import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { fencepost, task } from '../../../src/index.js'
import { compiledProgram } from '../../harness/compiled.js'
import { setup } from '../../harness/setup.js'
import { processTestMsMax } from './setup.js'

/** A small young generation, so that much is collected, and an old one that is not: what becomes old is to be seen. */
const flags = ['--expose-gc', '--max-semi-space-size=8', '--initial-heap-size=1000']
const [warmUp, jobs] = [5_000, 45_000]

// A job leaves three kilobytes of garbage. What of it is still referred to by garbage that is old is not collected with
// the young objects, and the worker grows: what a Set kept that was added to and deleted from was a fourth of all,
// what the driver's query_timeout kept a tenth.
it('leaves next to nothing behind that V8 takes for old', { timeout: processTestMsMax }, async () => {
  const { url } = await setup()
  const fp = await fencepost({ database: url, migrate: false })
  onTestFinished(() => fp.close())
  const busy = task('busy', { input: z.any(), run: () => {} })
  for (let n = 0; n < jobs; n += 5_000) {
    await fp.enqueueMany(
      busy,
      Array.from({ length: 5_000 }, () => ({ input: { n } })),
    )
  }

  const program = compiledProgram('worker/processes/busy-worker-process')
  const { stdout } = await promisify(execFile)(process.execPath, [...flags, program, url, `${warmUp}`, `${jobs}`])

  expect(Number(stdout)).toBeLessThan(150)
})
