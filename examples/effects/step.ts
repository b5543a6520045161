import { fencepost, task } from 'fencepost'
import { z } from 'zod'

/** Stands in for a payment provider that honours idempotency keys. */
const provider = new Map<string, { chargeId: string }>()
async function charge(cents: number, idempotencyKey: string): Promise<{ chargeId: string }> {
  const known = provider.get(idempotencyKey) ?? { chargeId: `ch_${cents}_${provider.size + 1}` }
  provider.set(idempotencyKey, known)
  return known
}

const chargeCard = task('charge-card', {
  input: z.object({ cents: z.number().int().positive() }),
  retry: { limit: 3, delay: '100ms' },
  async run({ cents }, job) {
    const { chargeId } = await job.step('charge', ({ key }) => charge(cents, key))
    if (job.attempt === 1) throw new Error('the worker had bad luck after the charge')
    return { chargeId, attempt: job.attempt }
  },
})

const fp = await fencepost()
await fp.work([chargeCard])
const job = await fp.enqueue(chargeCard, { cents: 500 })
console.log('enqueued and charged', await job.result({ timeout: '30s' }), 'charges:', provider.size)
await fp.close()
