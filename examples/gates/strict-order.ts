import { fencepost, task } from 'fencepost'
import { z } from 'zod'

const applied: string[] = []

const applyEvent = task('apply-event', {
  input: z.object({ order: z.string(), event: z.string() }),
  gate: { key: ({ order }) => order, strict: true },
  retry: { limit: 3, delay: '100ms' },
  run({ order, event }, job) {
    if (event === 'paid' && job.attempt === 1) throw new Error('the ledger did not answer')
    applied.push(`${order} ${event}`)
  },
})

const fp = await fencepost()
fp.on('failed', ({ error }) => console.log(`failed: ${error}`))
const jobs = []
for (const event of ['created', 'paid', 'shipped']) {
  jobs.push(await fp.enqueue(applyEvent, { order: 'o-1', event }))
}
console.log(`enqueued ${jobs.length} jobs`)

await fp.work([applyEvent], { concurrency: 20 })
await Promise.all(jobs.map((job) => job.result({ timeout: '30s' })))
console.log(applied.join(', '))
await fp.close()
