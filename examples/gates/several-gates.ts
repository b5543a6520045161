import { setTimeout as pause } from 'node:timers/promises'
import { fencepost, task } from 'fencepost'
import { z } from 'zod'

const running: Record<string, number> = {}
const most: Record<string, number> = {}
const count = (key: string, by: number) => {
  running[key] = (running[key] ?? 0) + by
  most[key] = Math.max(most[key] ?? 0, running[key])
}

const sendMail = task('send-mail', {
  input: z.object({ tenant: z.string() }),
  gate: [
    { key: ({ tenant }) => `tenant/${tenant}`, limit: 1 },
    { key: 'mail-provider', limit: 2 },
  ],
  async run({ tenant }) {
    count(tenant, 1)
    count('provider', 1)
    await pause(50)
    count(tenant, -1)
    count('provider', -1)
  },
})

const fp = await fencepost()
const inputs = ['a', 'b', 'c', 'a', 'b', 'c'].map((tenant) => ({ input: { tenant } }))
const jobs = await fp.enqueueMany(sendMail, inputs)
console.log(`enqueued ${jobs.length} jobs`)

await fp.work([sendMail], { concurrency: 20 })
await Promise.all(jobs.map((job) => job.result({ timeout: '30s' })))
console.log(`at most ${most['a']} of tenant a, and ${most['provider']} at the provider`)
await fp.close()
