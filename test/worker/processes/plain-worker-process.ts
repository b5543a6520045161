/** A worker with one task and one job, and nothing else that a program could use of the package. */
import { fencepost, task } from '../../../src/index.js'

const anything = { '~standard': { version: 1 as const, vendor: 'test', validate: (value: unknown) => ({ value }) } }
const plain = task('plain', { input: anything, run: () => null })
const fp = await fencepost({ database: process.argv[2] as string, migrate: false })
await fp.work([plain])
const job = await fp.enqueue(plain, null)
await job.result()
await fp.close()
