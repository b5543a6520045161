import { setTimeout as pause } from 'node:timers/promises'
import { fencepost, task } from 'fencepost'
import { z } from 'zod'

const running: Record<string, number> = {}
let most = 0

const callApi = task('call-api', {
  input: z.object({ tenant: z.string() }),
  gate: { key: ({ tenant }) => `api/${tenant}`, limit: 2 },
  async run({ tenant }) {
    running[tenant] = (running[tenant] ?? 0) + 1
    most = Math.max(most, running[tenant])
    await pause(50)
    running[tenant]--
  },
})

const fp = await fencepost()
const tenants = ['acme', 'globex', 'acme', 'globex', 'acme', 'globex', 'acme', 'globex', 'acme']
const jobs = await fp.enqueueMany(
  callApi,
  tenants.map((tenant) => ({ input: { tenant } })),
)
console.log(`enqueued ${jobs.length} jobs`)
for (const gate of await fp.gates()) {
  console.log(`${gate.key}: ${gate.held} of ${gate.limit} held, ${gate.waiting} wait`)
}

await fp.work([callApi], { concurrency: 20 })
await Promise.all(jobs.map((job) => job.result({ timeout: '30s' })))
console.log(`at most ${most} of one tenant ran at a time`)
await fp.close()
