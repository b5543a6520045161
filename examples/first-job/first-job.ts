import { fencepost, task } from 'fencepost'
import { z } from 'zod'

const chargeCard = task('charge-card', {
  input: z.object({ orderId: z.string(), cents: z.number().int().positive() }),
  retry: { limit: 5, backoff: 'exponential', delay: '200ms', max: '5m' },
  timeout: '30s',
  async run(order, job) {
    if (job.attempt === 1) throw new Error('the payment provider hung up')
    return { receipt: `${order.orderId} for ${order.cents} cents, at attempt ${job.attempt}` }
  },
})

const fp = await fencepost()
fp.on('failed', ({ task, attempt, error }) => console.log(`${task}, attempt ${attempt}: ${error}`))
await fp.work([chargeCard], { concurrency: 20 })

const job = await fp.enqueue(chargeCard, { orderId: 'o-1', cents: 500 })
console.log(`enqueued ${job.id}`)

const { receipt } = await job.result({ timeout: '30s' })
console.log(`charged ${receipt}`)

await fp.close()
