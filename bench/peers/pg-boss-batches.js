// pg-boss by its own API: batches of ten, sent and then fetched and completed by a number of callers at the same time.
import { PgBoss } from 'pg-boss'

const { url, messages, callers, body } = JSON.parse(process.argv[2])
const boss = new PgBoss({
  connectionString: url,
  max: callers,
  schema: 'bench_pg_boss',
  supervise: false,
  schedule: false,
})
await boss.start()
await boss.createQueue('bench')

const batches = Array.from({ length: messages / 10 }, () => Array.from({ length: 10 }, () => ({ data: { body } })))
const send = await timed(async (n) => {
  if (n >= batches.length) return 0
  await boss.insert('bench', batches[n])
  return 10
})
await boss.getDb().executeSql('analyze bench_pg_boss.job')
let fetched = 0
const receive = await timed(async () => {
  if (fetched >= messages) return 0
  const jobs = await boss.fetch('bench', { batchSize: 10 })
  fetched += jobs.length
  if (jobs.length > 0)
    await boss.complete(
      'bench',
      jobs.map(({ id }) => id),
    )
  return jobs.length
})
await boss.getDb().executeSql('drop schema bench_pg_boss cascade')
await boss.stop({ graceful: false })
process.send({ send, receive })
process.disconnect()

async function timed(act) {
  const tookMs = []
  let [next, done] = [0, 0]
  const begunAt = performance.now()
  await Promise.all(
    Array.from({ length: callers }, async () => {
      for (;;) {
        const at = performance.now()
        const n = await act(next++)
        if (n === 0) return
        tookMs.push(performance.now() - at)
        done += n
      }
    }),
  )
  return { perSecond: done / ((performance.now() - begunAt) / 1000), tookMs }
}
