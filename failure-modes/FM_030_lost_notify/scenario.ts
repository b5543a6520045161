import type { Actor } from '../../src/lab/actor.js'
import { scenario, step, timePasses } from '../../src/lab/scenario.js'
import { defaults } from '../../src/limits.js'
import { fallAsleep, readyChannel } from '../../src/store/worker.js'

/** What each worker has heard, on a connection of its own. */
const notices = new WeakMap<Actor, readonly string[]>()

/** It asks to be notified before it looks: a job that comes later finds it asleep. */
async function fallAsleepAtTheQueue(worker: Actor): Promise<string> {
  notices.set(worker, await worker.listen(readyChannel))
  await fallAsleep(worker.db, worker.name, ['lab'])
  return `${await worker.claim()}, asleep`
}

/** When this returns, the backend is gone: nothing can be notified to it any more. */
async function endListeningBackends(dba: Actor): Promise<string> {
  const ended = await dba.sql<{ gone: boolean }>(
    'select pg_terminate_backend(pid, 10000) as gone from pg_stat_activity where application_name = $1',
    [`${dba.db.schema} listener`],
  )
  return `${ended.filter(({ gone }) => gone).length} backend gone`
}

async function afterOnePollInterval(worker: Actor): Promise<string> {
  const heard = notices.get(worker)?.length ? 'notified' : 'no notice'
  if (worker.naive && heard === 'no notice') return 'no notice, sleeps on'
  return `${heard}, looks: ${await worker.claimAnd()}`
}

export default scenario({
  id: 'FM_030',
  name: 'Lost NOTIFY, lost LISTEN connection',
  story: 'The connection on which a sleeping worker listens breaks; a job comes, and the worker sleeps on beside it.',
  invariants: ['INV_005'],
  jobs: 1,
  steps: [
    step('A', 'listens, finds nothing, falls asleep', fallAsleepAtTheQueue),
    step('dba', 'ends the backend that listens', endListeningBackends),
    step('producer', 'enqueues the charge', (a) => a.enqueue()),
    timePasses('a poll interval passes', defaults.pollMs),
    step('A', 'is asleep or awake', afterOnePollInterval),
  ],
  check: async (found) => {
    const [waited] = await found.sql<{ ms: number }>(
      `select (extract(epoch from f.started_at - j.created_at) * 1000)::float8 as ms
       from fencepost.job j join fencepost.finished f on f.job_id = j.id`,
    )
    const slept = found.notes.get('A: is asleep or awake') === 'no notice, sleeps on'
    return [
      ...(slept && waited && waited.ms > 2 * defaults.pollMs
        ? ['INV_005: a job was ready for longer than a poll interval, beside a worker that was free']
        : []),
      ...(await found.usualSuspects()),
    ]
  },
})
