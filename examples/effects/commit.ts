import { fencepost, task } from 'fencepost'
import { z } from 'zod'

const payOrder = task('pay-order', {
  input: z.object({ orderId: z.string() }),
  run: ({ orderId }, job) =>
    job.commit(async (tx) => {
      await tx.query('create table if not exists payment (order_id text primary key)')
      await tx.query('insert into payment values ($1)', [orderId])
      return { paid: orderId }
    }),
})

const fp = await fencepost()
await fp.work([payOrder])
const job = await fp.enqueue(payOrder, { orderId: 'o-1' })
console.log('enqueued and paid', await job.result({ timeout: '30s' }))
await fp.close()
