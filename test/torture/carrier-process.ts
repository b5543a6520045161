/**
 * Enqueues under fresh ids what a worker of its own has handlers free for, a few jobs at a time, until SIGTERM; then the worker
 * stops at once, whatever is just being enqueued, and the process exits with 0.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { childJournal, childOptions, connected, slowTeller, untilDone } from './child.js'
import { enqueueFresh, freshRetryMs, intended } from './fresh-enqueues.js'
import { readJournal } from './journal.js'
import { workerTasks } from './tasks.js'
import { firstOfCarrier, momentsOf } from './work.js'

const options = childOptions()
const { seed, slot, providerUrl } = options
const before = intended(readJournal(options.journal))
const journal = childJournal(options)
const fp = await connected(options.url, 3, freshRetryMs)
const onSlow = slowTeller()
const tasks = workerTasks({ journal, providerUrl, onSlow }).filter(({ name }) => name === 'carried')
const worker = await untilDone(() => fp.work(tasks, { concurrency: 12, poll: '200ms', grace: '1s' }))
let stopping = false
const stopped = new Promise<void>((resolve) => process.once('SIGTERM', () => resolve(stop())))
onSlow(0)

await Promise.all([carry(), stopped])
await fp.close()
journal.write('stopped', process.pid)
process.exit(0)

async function stop(): Promise<void> {
  stopping = true
  await worker.stop()
}

async function carry(): Promise<void> {
  let next = Math.max(firstOfCarrier(Number(slot.split('-')[1])), ...before.values())
  for (const { pauseMs, calls } of momentsOf(seed, next)) {
    await pause(pauseMs)
    if (stopping) return
    const asked = calls.map((count) => {
      const first = next
      next += count
      return enqueueFresh(fp, journal, { seed, kind: 'carried', first, count })
    })
    await Promise.all(asked)
  }
}
