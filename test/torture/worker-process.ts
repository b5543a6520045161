/** A worker of the torture: works until SIGTERM, then stops in good order and exits with 0. */
import { childJournal, childOptions, connected, slowTeller, untilDone } from './child.js'
import { workerTasks } from './tasks.js'
import { isFresh, numberOf } from './work.js'

const options = childOptions()
const journal = childJournal(options)
// Fewer connections than handlers: the pool is exhausted now and then.
const fp = await connected(options.url, 2)
const isNumbered = (task: string) => task !== 'item' && !isFresh(task)
fp.on('finished', ({ jobId, task, attempt }) => {
  if (isNumbered(task) && task !== 'plain') journal.write('settled', numberOf(jobId), attempt, 'finished')
})
fp.on('failed', ({ jobId, task, attempt }) => {
  if (isNumbered(task)) journal.write('settled', numberOf(jobId), attempt, 'failed')
})
const onSlow = slowTeller()
const tasks = workerTasks({ journal, providerUrl: options.providerUrl, onSlow })
const worker = await untilDone(() => fp.work(tasks, { concurrency: 8, poll: '200ms', grace: '1s' }))
process.once('SIGTERM', () => void stop())
onSlow(0)

async function stop(): Promise<void> {
  await worker.stop()
  await fp.close()
  journal.write('stopped', process.pid)
  process.exit(0)
}
