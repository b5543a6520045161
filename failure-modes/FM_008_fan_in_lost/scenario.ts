import type { Actor } from '../../src/lab/actor.js'
import { scenario, scene, step, timePasses } from '../../src/lab/scenario.js'

const orders = `
name: orders
tasks:
  - name: check
    action: check
    with_items: [1, 2]
    next: [{ do: validate }]
  - name: validate
    action: validate
`

/** The naïve worker tells the run when it has been told that its item is finished. */
async function finishAndTell(worker: Actor): Promise<string> {
  const answer = await worker.finish()
  if (worker.naive) {
    await worker.sql(
      `with told as (insert into fencepost.inbox (run_id, at, kind, task, ordinal, item, payload)
         select j.run_id, fencepost.clock(), 'item', j.run_task, j.ordinal, j.item, '{"outcome": "succeeded"}'
         from fencepost.job j where j.id = $1 returning run_id)
       insert into fencepost.call (run_id) select run_id from told`,
      [worker.lease?.jobId],
    )
  }
  return answer
}

/** A handler that may run twice, as one that is repeated after a crash does. */
async function handle(worker: Actor): Promise<string> {
  await worker.applyOnce()
  return finishAndTell(worker)
}

async function advanceAndDie(worker: Actor): Promise<string> {
  if (worker.runs.decided.length > 0) await worker.open((tx) => worker.runs.advanceIn(tx))
  return worker.die()
}

/** The server has seen that B is dead, and has undone what it was at. */
async function takeWhenUndone(worker: Actor): Promise<string> {
  const open = `select 1 from pg_stat_activity where application_name = 'B' and state <> 'idle' and position($1 in query) > 0`
  while ((await worker.sql(open, [worker.db.schema])).length > 0);
  return worker.runs.take()
}

export default scenario({
  id: 'FM_008',
  name: 'Fan-in lost',
  story: 'The last item is recorded as ended; whoever was to dispatch what follows is killed; nobody else knows of it.',
  invariants: ['INV_004', 'INV_009'],
  jobs: 0,
  runs: 1,
  steps: [
    scene('producer', 'starts a run with two items', (p) => p.runs.start(p.runIds[0] as string, orders)),
    scene('A', 'makes the items', (a) => a.runs.advanceAll()),
    scene('A', 'does the first', (a) => a.claimAnd(handle)),
    scene('A', 'leases the last', (a) => a.claim()),
    scene('A', 'does its work', async (a) => {
      await a.applyOnce()
      return 'done'
    }),
    step('A', 'records its end, and is killed', finishAndTell, { fault: 'killed' }),
    step('B', 'takes what the run was told', (b) => b.runs.take()),
    step('B', 'is killed inside its advance', advanceAndDie),
    timePasses('11 s pass', 11_000),
    step('C', 'takes what the run was told', takeWhenUndone),
    step('C', 'dispatches what follows', (c) => c.runs.advance()),
    step('C', 'looks for work', (c) => c.claim()),
    step('C', 'ends it', (c) => (c.lease ? c.applyAndFinish() : Promise.resolve('has none'))),
    step('D', 'ends the run', (d) => d.runs.advanceAll()),
  ],
  handle,
  check: async (found) => [...(await found.notOnce(['validate'])), ...(await found.usualSuspects())],
})
