/**
 * A producer: enqueues, starts runs and sends messages as the plan of the seed says, and goes on where the one before it in
 * its slot was killed: what that one may have asked for, it asks for again, but for jobs under fresh ids, which would be others. It
 * exits with 0 when all was acknowledged.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { childJournal, childOptions, connected, untilDone } from './child.js'
import { enqueueFresh, freshRetryMs, intended } from './fresh-enqueues.js'
import { nowMs, readJournal } from './journal.js'
import { sendMessage } from './mail.js'
import { fan, gateOptions, makeTask } from './tasks.js'
import { type Batch, batchesOf, copiedMin, itemsOf, jobIdOf, type Kind, lanes, specOf } from './work.js'

const options = childOptions()
const { seed, slot, plain } = options
const before = readJournal(options.journal)
const acknowledged = new Set(before.map(([what, , index]) => (what === 'ack' ? index : null)))
const copied = intended(before)
const journal = childJournal(options)
/** What is copied comes on top: nobody else is to wait for it. */
const backlogMax = 6 * plain + 2 * copiedMin
/** The first batch of a lane in each second. */
const paced: readonly Batch['kind'][] = ['plain', 'copied', 'note', 'strict', 'run']
let stopping = false
// The run is over: what was not asked for yet is left.
process.once('SIGTERM', () => (stopping = true))
const fp = await connected(options.url, 5)
const copying = await connected(options.url, 2, freshRetryMs)
const workflow = fan()
const batches = batchesOf(options, Number(slot.split('-')[1])).filter(({ index, kind, first }) =>
  kind === 'copied' ? !copied.has(first) : !acknowledged.has(index),
)

await Promise.all(lanes.map((lane) => produce(batches.filter((batch) => batch.lane === lane))))
await Promise.all([fp.close(), copying.close()])
process.exit(0)

async function produce(asked: readonly Batch[]): Promise<void> {
  for (const batch of asked) {
    const waitMs = options.beganAtMs + batch.atMs - nowMs()
    if (waitMs > 0) await pause(waitMs)
    if (paced.includes(batch.kind)) await untilRoom()
    if (stopping) return
    if (batch.kind === 'copied') {
      await enqueueFresh(copying, journal, { seed, kind: 'copied', first: batch.first, count: batch.count })
      continue
    }
    journal.write('try', batch.index)
    await ask(batch)
    journal.write('ack', batch.index)
  }
}

/** On a machine that is too slow for the plan, it is asked for less: a backlog of minutes would only be a longer end. */
async function untilRoom(): Promise<void> {
  for (;;) {
    const queues = await untilDone(() => fp.queues())
    if (stopping || queues.reduce((sum, { ready, waiting }) => sum + ready + waiting, 0) < backlogMax) return
    await pause(500)
  }
}

async function ask({ kind, first, count }: Batch): Promise<void> {
  const numbers = Array.from({ length: count }, (_, n) => first + n)
  if (kind === 'message') {
    for (const m of numbers) await sendMessage(options.sqsPorts, m, jobIdOf(seed, m), journal)
  } else if (kind === 'run') {
    for (const r of numbers) {
      const parameters = { r, items: itemsOf(seed, r) }
      await untilDone(() => fp.workflows.start(workflow, parameters, { id: jobIdOf(seed, r) }))
    }
  } else
    await untilDone(() =>
      fp.enqueueMany(
        makeTask(kind),
        numbers.map((n) => jobOf(kind, n)),
      ),
    )
}

function jobOf(kind: Kind, n: number) {
  const { failures, workMs, gates, delayMs } = specOf(seed, kind, n)
  const gate = gateOptions(gates)
  return {
    id: jobIdOf(seed, n),
    input: { failures, workMs, gates },
    ...(delayMs > 0 && { delay: delayMs }),
    ...(gate.length > 0 && { gate }),
  }
}
