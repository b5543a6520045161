import { type Actor, labJob } from '../../src/lab/actor.js'
import { scenario, scene, step, timePasses } from '../../src/lab/scenario.js'
import { enqueue } from '../../src/store/enqueue.js'
import { claim, start } from '../../src/store/lease.js'
import { sweepMessages } from '../../src/store/sqs-messages.js'

/** A queue of jobs, of which nobody has said how long they are kept. */
const reports = 'reports'

async function enqueueReport(producer: Actor): Promise<string> {
  const job = { ...labJob(producer.jobIds[2] as string), queue: reports }
  return [...(await enqueue(producer.db, [job])).values()].join('')
}

async function runReport(worker: Actor): Promise<string> {
  const [lease] = await claim(worker.db, { queue: reports, limit: 1, worker: worker.name, turn: 1 })
  if (!lease) return 'nothing to claim'
  worker.lease = lease
  await start(worker.db, [lease])
  return worker.commit()
}

async function sweep(server: Actor): Promise<string> {
  return `${await sweepMessages(server.db, 300_000)} swept`
}

export default scenario({
  id: 'FM_042',
  name: 'Retention deletes unrun work',
  story:
    'Workers are down for longer than jobs are kept; the clean-up removes what was never run, and what runs just now.',
  invariants: ['INV_004'],
  jobs: 3,
  steps: [
    scene('operator', 'makes a queue that keeps its messages for a minute', (o) =>
      o.sqs.make({ messageRetentionPeriod: 60 }, ['server']),
    ),
    step('server', 'stores a message', (s) => s.sqs.send([0])),
    step('consumer', 'receives it', (c) => c.sqs.receive()),
    step('consumer', 'needs ten minutes for it', (c) => c.sqs.changeVisibility('#1', 600_000)),
    step('server', 'stores another', (s) => s.sqs.send([1])),
    step('producer', 'enqueues a report', enqueueReport),
    timePasses('two minutes without workers', 120_000),
    step('server', 'sweeps what is too old', sweep),
    step('consumer', 'is done with the first', (c) => c.sqs.delete('#1')),
    step('worker', 'is back, and runs the report', runReport),
  ],
  check: async (found) => {
    const stored = (key: string) => !['(killed)', undefined].includes(found.notes.get(key))
    const message = async (entry: number) =>
      (
        await found.sql<{ outcome: string | null; place: string }>(
          `select v.outcome, v.place from fencepost.jobs v join fencepost.job j on j.id = v.id
           where j.payload -> '$message' ->> 'body' = $1`,
          [`entry ${entry}`],
        )
      )[0]
    const inFlight = found.notes.get('consumer: needs ten minutes for it') === '#1 changed'
    const [first, second, report] = [await message(0), await message(1), await found.job(2)]
    return [
      ...(inFlight && (!first || first.outcome === 'expired')
        ? ['INV_004: a message was removed while its consumer was at it']
        : []),
      ...(stored('server: stores another') && !second ? ['INV_004: a message is gone, and no outcome tells why'] : []),
      ...(stored('producer: enqueues a report') && !report
        ? ['INV_004: a job that was never run is gone without a trace']
        : []),
      ...(await found.audit()).findings
        .filter(({ severity }) => severity === 'violation')
        .map(({ invariant, problem }) => `${invariant}: ${problem}`),
    ]
  },
})
