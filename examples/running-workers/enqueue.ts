import { fencepost } from 'fencepost'
import { sendMail } from './tasks/send-mail.js'

const fp = await fencepost()
for (const to of ['ada@example.org', 'grace@example.org']) {
  const job = await fp.enqueue(sendMail, { to, seconds: 3 })
  console.log(`enqueued ${job.id}`)
}
await fp.close()
