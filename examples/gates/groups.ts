import { setTimeout as pause } from 'node:timers/promises'
import { fencepost, task } from 'fencepost'
import { z } from 'zod'

const running: Record<string, number> = {}
const most: Record<string, number> = {}

const exportData = task('export-data', {
  input: z.object({ tenant: z.string(), plan: z.enum(['free', 'paid']) }),
  group: {
    id: ({ tenant }) => tenant,
    tier: ({ plan }) => plan,
    limit: { free: 1, paid: 4, default: 1 },
    perProcess: 2,
  },
  async run({ tenant }) {
    running[tenant] = (running[tenant] ?? 0) + 1
    most[tenant] = Math.max(most[tenant] ?? 0, running[tenant])
    await pause(50)
    running[tenant]--
  },
})

const fp = await fencepost()
const jobs = []
for (let i = 0; i < 4; i++) {
  jobs.push(await fp.enqueue(exportData, { tenant: 'small', plan: 'free' }))
  jobs.push(await fp.enqueue(exportData, { tenant: 'big', plan: 'paid' }))
}
console.log(`enqueued ${jobs.length} jobs`)

await fp.work([exportData], { concurrency: 20 })
await Promise.all(jobs.map((job) => job.result({ timeout: '30s' })))
console.log(`in this process at most ${most['small']} of small, ${most['big']} of big`)
await fp.close()
