import { onTestFinished, vi } from 'vitest'
import { z } from 'zod'
import { type Duration, fencepost, task } from '../../../src/index.js'
import type { GateOptions } from '../../../src/task/gate.js'
import { setup } from '../../harness/setup.js'
import type { Inputs, TaskName } from './handlers.js'
import { Producers } from './producers.js'
import { PaymentServer } from './payment-server.js'
import { type Counters, type Expected, verify } from './verify.js'
import { WorkerProcess } from './worker.js'
import type { WorkerProcessOptions } from './worker-process.js'

/** A process takes half a second to start, and ten on a machine that is busy with something else. */
export const processTestMsMax = 180_000
const waitMsMax = 90_000

export interface Policy {
  readonly lease?: Duration
  readonly losses?: number
  readonly delay?: Duration
  readonly gate?: GateOptions<unknown>
}

/** A database with a table of effects, a payment provider, and worker processes to be killed. */
export async function setupProcesses(serverUrl?: string) {
  const { url, db, sql } = await setup(serverUrl)
  await sql('create table effect (job_id uuid not null, attempt integer not null)')
  await sql('create table crowded (key text not null, job_id uuid not null)')
  const payment = await PaymentServer.start()
  const fp = await fencepost({ database: url, migrate: false })
  onTestFinished(() => fp.close())
  const asked = new Map<string, TaskName>()

  const enqueueMany = async <Name extends TaskName>(
    name: Name,
    inputs: readonly Inputs[Name][],
    { delay = 0, ...policy }: Policy = {},
  ) => {
    const jobs = await fp.enqueueMany(
      task(name, { input: z.any(), ...policy, run: () => {} }),
      inputs.map((input) => ({ input, delay })),
    )
    for (const { id } of jobs) asked.set(id, name)
    return jobs.map(({ id }) => id)
  }

  return {
    url,
    sql,
    payment,
    spawn: (options: Partial<WorkerProcessOptions> = {}): Promise<WorkerProcess> =>
      WorkerProcess.spawn({ url, paymentUrl: payment.url, ...options }),
    enqueueMany,
    enqueue: async <Name extends TaskName>(name: Name, input: Inputs[Name], policy: Policy = {}) =>
      (await enqueueMany(name, [input], policy))[0] as string,
    /** Lets these leases run out now. Only for workers that are dead: a living one would extend them again. */
    runOut: (jobIds: readonly string[]) =>
      sql(`update fencepost.leased set expires_at = fencepost.clock() where job_id = any ($1)`, [jobIds]),
    /** Lets the leases that this job gets from now on be long: only the one it has now is to run out by itself. */
    lengthenNextLease: (jobId: string) => sql('update fencepost.job set lease_ms = 60000 where id = $1', [jobId]),
    /** Returns when no session but ours is at work: what a dead process had asked for is done, or undone. */
    quiet: () => vi.waitUntil(async () => (await sql(busySessions)).length === 0, { timeout: waitMsMax, interval: 25 }),
    /** Producers, which enqueue and wait and enqueue again until they are told to stop. */
    produce: () => new Producers((name, inputs) => enqueueMany(name, inputs), fp),
    /** Returns when these jobs have ended; all of the test if none are given. */
    ended: (jobIds?: readonly string[]) =>
      vi.waitUntil(() => allEnded(sql, jobIds ?? [...asked.keys()]), { timeout: waitMsMax, interval: 25 }),
    verify: (expected?: Expected) => verify({ db, payment, asked }, expected),
  }
}

const busySessions = `select pid from pg_stat_activity
  where datname = current_database() and backend_type = 'client backend' and state <> 'idle' and pid <> pg_backend_pid()`

type Sql = Awaited<ReturnType<typeof setup>>['sql']

async function allEnded(sql: Sql, jobIds: readonly string[]): Promise<boolean> {
  const rows = await sql<{ ended: number }>(
    'select count(*) as ended from fencepost.finished where job_id = any ($1)',
    [jobIds],
  ).catch(() => []) // the server may be away
  return rows[0]?.ended === jobIds.length
}

/** The same happened to each of these jobs. */
export function each(jobIds: readonly string[], counters: Partial<Counters>): [string, Partial<Counters>][] {
  return jobIds.map((id) => [id, counters])
}
