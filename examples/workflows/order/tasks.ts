import { NonRetryable, task } from 'fencepost'
import { z } from 'zod'

const order = z.object({ order: z.string() })

export const reserve = task('stock.reserve', { input: order, run: ({ order }) => ({ reserved: order }) })
export const release = task('stock.release', { input: order, run: ({ order }) => ({ released: order }) })

export const refund = task('payments.refund', {
  input: z.object({ payment: z.string() }),
  run: ({ payment }, job) => job.step('refund', ({ key }) => ({ refunded: payment, key })),
})

export const pack = task('warehouse.pack', {
  input: order,
  run({ order }) {
    if (order === 'o-4') throw new NonRetryable('the last one is broken')
    return { grams: 1200 }
  },
})

export const label = task('carrier.label', {
  input: z.object({ order: z.string(), grams: z.number() }),
  run: ({ order, grams }) => ({ tracking: `${order}-${grams}g` }),
})
