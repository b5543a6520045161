import { isDeepStrictEqual } from 'node:util'
import { expect } from 'vitest'
import { audit } from '../../../src/audit/audit.js'
import type { Database } from '../../../src/store/database.js'
import type { TaskName } from './handlers.js'
import type { PaymentServer } from './payment-server.js'

export interface Counters {
  readonly failures: number
  readonly losses: number
  /** Free and unlimited: a test that cannot know how many there were says `any`. */
  readonly releases: number | 'any'
}

export interface Expected {
  /** What happened to every job, unless told otherwise: nothing. */
  readonly all?: Partial<Counters>
  /** What happened to some jobs. */
  readonly some?: ReadonlyMap<string, Partial<Counters>>
  /** The jobs that ended as failed, and why; all others succeeded. */
  readonly failed?: ReadonlyMap<string, string>
}

interface Ended {
  readonly task: TaskName
  readonly outcome: string | null
  readonly reason: string | null
  readonly failures: number | null
  readonly losses: number | null
  readonly releases: number | null
  /** Rows that its handlers committed. */
  readonly effects: number
  /** Idempotency keys under which it called the payment provider, and charges made for it. */
  readonly keys: number
  readonly charges: number
}

/** Every job that was asked for has ended once, has its effects once, and was charged for what happened. */
export async function verify(
  { db, payment, asked }: { db: Database; payment: PaymentServer; asked: ReadonlyMap<string, TaskName> },
  { all, some, failed }: Expected = {},
): Promise<void> {
  const seen = await readEnded(db, payment)
  const expected = new Map(
    [...asked].map(([id, task]): [string, Ended] => {
      const { releases, ...counters } = { failures: 0, losses: 0, releases: 0, ...all, ...some?.get(id) }
      const reason = failed?.get(id) ?? null
      const calls = task === 'charge' ? 1 : 0
      return [
        id,
        {
          ...counters,
          task,
          outcome: reason ? 'failed' : 'succeeded',
          reason,
          releases: releases === 'any' ? (seen.get(id)?.releases ?? 0) : releases,
          effects: reason || task === 'echo' ? 0 : 1,
          keys: calls,
          charges: calls,
        },
      ]
    }),
  )
  // Only what differs: the rest of a thousand jobs would hide it.
  const different = [...new Set([...seen.keys(), ...expected.keys()])].filter(
    (id) => !isDeepStrictEqual(seen.get(id), expected.get(id)),
  )
  const of = (jobs: ReadonlyMap<string, Ended>) => Object.fromEntries(different.map((id) => [id, jobs.get(id)]))
  expect(of(seen)).toEqual(of(expected))
  const { findings } = await audit(db)
  expect(findings.filter(({ severity }) => severity === 'violation')).toEqual([])
}

async function readEnded(db: Database, payment: PaymentServer): Promise<Map<string, Ended>> {
  const rows = await db.read<Omit<Ended, 'keys' | 'charges'> & { id: string }>(
    `select j.id, j.task, f.outcome, f.reason, f.failures, f.losses, f.releases,
            (select count(*) from effect e where e.job_id = j.id) as effects
     from fencepost.job j left join fencepost.finished f on f.job_id = j.id`,
  )
  return new Map(
    rows.map(({ id, ...row }) => {
      const keys = new Set(payment.calls.filter(({ jobId }) => jobId === id).map(({ key }) => key)).size
      const charges = [...payment.charges.values()].filter(({ jobId }) => jobId === id).length
      return [id, { ...row, keys, charges }]
    }),
  )
}
