import { fencepost, task } from 'fencepost'
import { z } from 'zod'

const sendMail = task('send-mail', {
  input: z.object({ to: z.email() }),
  run: ({ to }) => ({ sent: to }),
})

const fp = await fencepost()

const job = await fp.transaction(async (tx) => {
  await tx.query('create table if not exists customer (mail text)')
  await tx.query('insert into customer values ($1)', ['ada@example.org'])
  return fp.enqueue(sendMail, { to: 'ada@example.org' }, { tx })
})

console.log(`${job.id} is ${(await fp.job(job.id)).place}`)
await fp.close()
