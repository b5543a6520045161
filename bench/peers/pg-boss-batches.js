// pg-boss by its own API: batches of ten, sent and then fetched and completed by a number of callers at the same time; a round
// for each message of the parent.
import { PgBoss } from 'pg-boss'
import { timed } from './timed.js'

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
process.on('message', () => void round().then((told) => process.send(told)))
process.once('disconnect', () => void end())
process.send('ready')

async function end() {
  await boss.getDb().executeSql('drop schema bench_pg_boss cascade')
  await boss.stop({ graceful: false })
  process.exit()
}

async function round() {
  await boss.deleteAllJobs('bench')
  const jobs = Array.from({ length: 10 }, () => ({ data: { body } }))
  const send = await timed(callers, async (n) => {
    if (n >= messages / 10) return 0
    await boss.insert('bench', jobs)
    return 10
  })
  await boss.getDb().executeSql('analyze bench_pg_boss.job')
  let fetched = 0
  const receive = await timed(callers, async () => {
    if (fetched >= messages) return 0
    const found = await boss.fetch('bench', { batchSize: 10 })
    fetched += found.length
    if (found.length > 0)
      await boss.complete(
        'bench',
        found.map(({ id }) => id),
      )
    return found.length
  })
  return { send, receive }
}
