import { attachLogger, fencepost, serveMetrics } from 'fencepost'
import { pino } from 'pino'
import { sendMail } from './tasks/send-mail.js'

const fp = await fencepost()
attachLogger(fp, pino({ level: 'info' }))
const metrics = await serveMetrics(fp, { port: 0 })
await fp.work([sendMail], { concurrency: 20 })

const job = await fp.enqueue(sendMail, { to: 'ada@example.org', seconds: 0 })
console.log(`enqueued ${job.id}; metrics at ${metrics.url}`)
await job.result()

await metrics.close()
await fp.close()
