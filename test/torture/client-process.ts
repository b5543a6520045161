/** Cancels the victims when their time has come, and receives and deletes messages, until SIGTERM. */
import { setTimeout as pause } from 'node:timers/promises'
import { childJournal, childOptions, connected, isPassing, untilDone } from './child.js'
import { nowMs, readJournal } from './journal.js'
import { deleteMessage, receiveMessages } from './mail.js'
import { batchesOf, jobIdOf, producers, specOf } from './work.js'

const options = childOptions()
const { seed, sqsPorts, beganAtMs } = options
const answered = new Set(readJournal(options.journal).map(([what, , n]) => (what === 'cancelled' ? n : null)))
const journal = childJournal(options)
let stopping = false
process.once('SIGTERM', () => (stopping = true))
const fp = await connected(options.url, 3)
const receivers = 3

await Promise.all([cancelVictims(), ...Array.from({ length: receivers }, (_, n) => receive(n))])
await fp.close()
process.exit(0)

async function cancelVictims(): Promise<void> {
  const victims = Array.from({ length: producers }, (_, producer) => batchesOf(options, producer))
    .flat()
    .filter(({ kind }) => kind === 'victim')
    .flatMap(({ atMs, first, count }) => Array.from({ length: count }, (_, n) => ({ n: first + n, atMs })))
    .map(({ n, atMs }) => ({ n, dueMs: beganAtMs + atMs + specOf(seed, 'victim', n).cancelAfterMs }))
    .filter(({ n }) => !answered.has(n))
    .sort((a, b) => a.dueMs - b.dueMs)
  for (const { n, dueMs } of victims) {
    const waitMs = dueMs - nowMs()
    if (waitMs > 0) await pause(waitMs)
    if (stopping) return
    journal.write('cancel', n)
    const answer = await untilDone(() => fp.cancel(jobIdOf(seed, n))).catch((error: { code?: string }) => {
      if (isPassing(error) || error.code === undefined) throw error
      return { answer: error.code, outcome: null } // it does not exist yet
    })
    journal.write('cancelled', n, answer.answer, answer.outcome)
  }
}

/** Stops when it is told to, and the queue seems empty. */
async function receive(n: number): Promise<void> {
  for (let tries = n; ; tries++) {
    const askedAtMs = nowMs()
    const messages = await receiveMessages(sqsPorts, tries).catch(() => undefined)
    if (!messages) {
      await pause(50)
      continue
    }
    for (const { m, id } of messages) journal.write('received', m, id, askedAtMs)
    for (const message of messages) await remove(message)
    if (stopping && messages.length === 0) return
  }
}

/** A tenth is not deleted at once: it comes again when its visibility has run out. */
async function remove({ m, id, receipt }: { m: number; id: string; receipt: string }): Promise<void> {
  if (Math.random() < 0.1) return
  for (let tries = m; ; tries++) {
    journal.write('delete', m, id)
    try {
      await deleteMessage(sqsPorts, tries, receipt)
      journal.write('deleted', m, id)
      return
    } catch (error) {
      // A receipt that has run out, and that somebody else's has taken the place of, deletes nothing, for ever.
      if (/: 4\d\d /.test((error as Error).message)) return
      await pause(50)
    }
  }
}
