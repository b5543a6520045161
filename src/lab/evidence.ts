import type { Database } from '../store/database.js'
import { outsideOf } from './outside-world.js'

/** A row of a table as it is at the end of a play, in words, and with numbers for the ids that differ from play to play. */
export interface EvidenceRow {
  readonly table: string
  readonly row: string
}

const rowsMax = 50

/** What the tables say in the end about jobs, their attempts and effects, gates and runs: nothing that is only a time. */
export async function readEvidence(db: Database): Promise<EvidenceRow[]> {
  // A job that has been deleted has no number any more.
  const numbered = `(select coalesce('#' || j.seq, 'no job') from (select 1) one left join fencepost.job j on j.id = t.job_id)`
  const sources: [table: string, row: string, from: string][] = [
    [
      'jobs',
      `format('#%s %s, tries %s, failures %s, losses %s, releases %s', t.seq, coalesce(t.outcome::text, t.place, 'in no place'),
              t.tries, t.failures, t.losses, t.releases) || coalesce(', by ' || t.worker, '') || coalesce(', ' || t.reason, '')`,
      `fencepost.jobs t order by t.seq`,
    ],
    [
      'attempt',
      `format('%s lease %s %s', ${numbered}, t.lease_id, t.ending) || coalesce(', by ' || t.worker, '')
         || coalesce(', late: ' || t.late_ending, '')`,
      'fencepost.attempt t order by t.lease_id, t.ended_at',
    ],
    ['effect', `format('%s by %s', ${numbered}, t.by)`, 'fencepost.lab_effect t order by t.at'],
    [
      'outside call',
      `format('%s by %s, %s', ${numbered}, t.by, case when t.charged then 'charged' else 'known by its key' end)`,
      `${outsideOf(db.schema)}.call t order by t.n`,
    ],
    ['gate', `format('%s held %s', t.key, t.held)`, 'fencepost.gate t order by t.key'],
    ['run', `format('run %s', t.state)`, 'fencepost.run t order by t.id'],
    [
      'task run',
      `format('%s/%s: %s items made, %s succeeded, %s failed', t.task, t.ordinal, t.dispatched, t.succeeded, t.failed)`,
      'fencepost.task_run t order by t.run_id, t.seq',
    ],
  ]
  const found = await Promise.all(
    sources.map(([table, row, from]) =>
      db.once<EvidenceRow>(`select '${table}' as table, ${row} as row from ${from} limit ${rowsMax}`),
    ),
  )
  return found.flat()
}
