import { randomUUID } from 'node:crypto'
import { installLabReplace } from '../../src/lab/lab-replace.js'
import { RunSteps } from '../../src/lab/run-steps.js'
import type { Database } from '../../src/store/database.js'
import { claim, start as mark } from '../../src/store/lease.js'
import { fail, finish } from '../../src/store/settle.js'
import { setup } from './setup.js'

/** A database, and what workers do for runs and their items, one move at a time. */
export async function setupRunMoves() {
  const bundle = await setup()
  const { db, sql } = bundle
  const stepsOn = (other: Database) => new RunSteps({ db: other, queue: 'default', leaseMs: 30_000 })
  const steps = stepsOn(db)
  return {
    ...bundle,
    /** A worker's hand on this connection. */
    stepsOn,
    steps,
    /** From now on, without what this part of a naïve version takes out. */
    async without(naive: string): Promise<void> {
      await installLabReplace({ query: (text) => sql(text).then((rows) => ({ rows })) }, 'fencepost')
      await sql(naive)
    },
    /** Starts a run, and answers its id. */
    async start(text: string, id: string = randomUUID(), parameters: Record<string, string> = {}): Promise<string> {
      await steps.start(id, text, parameters)
      return id
    },
    /** Leases the next job of this task, started. */
    async takeItem(task: string) {
      const [lease] = await claim(db, { queue: 'default', limit: 1, worker: 'w1', tasks: [task] })
      if (!lease) throw new Error(`there is no ${task} to claim`)
      await mark(db, [lease])
      return lease
    },
    /** Runs every job of these tasks that can be claimed: each ends well, or, if asked, fails for good. */
    async runItems(tasks: readonly string[], how: 'finish' | 'fail' = 'finish'): Promise<number> {
      const leases = await claim(db, { queue: 'default', limit: 100, worker: 'w1', tasks })
      await mark(db, leases)
      if (how === 'finish')
        await finish(
          db,
          leases.map((lease) => ({ ...lease, resultText: '1' })),
        )
      else
        await fail(
          db,
          leases.map((lease) => ({ ...lease, errorText: '{"message":"no"}', delayMs: 0, final: true })),
        )
      return leases.length
    },
    /** How many jobs there are of this task. */
    async jobsOf(task: string): Promise<number> {
      const rows = await sql<{ n: number }>('select count(*) as n from fencepost.job where task = $1', [task])
      return rows[0]?.n as number
    },
    /** The states of a run's tasks, by their names; of each the latest. */
    async tasksOf(id: string): Promise<Record<string, string>> {
      const rows = await sql<{ task: string; state: string }>(
        'select task, state from fencepost.task_run where run_id = $1 order by task, ordinal',
        [id],
      )
      return Object.fromEntries(rows.map(({ task, state }) => [task, state]))
    },
    async stateOf(id: string): Promise<{ state: string; code: string | null; message: string | null }> {
      const rows = await sql<{ state: string; code: string | null; message: string | null }>(
        `select state, error ->> 'code' as code, error ->> 'message' as message from fencepost.run where id = $1`,
        [id],
      )
      return rows[0] as (typeof rows)[0]
    },
  }
}
