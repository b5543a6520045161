import { audit } from '../../src/audit/audit.js'
import type { Database } from '../../src/store/database.js'
import type { EndedJob, FinalState } from './checker/checker.js'
import type { Fleet } from './fleet.js'
import { mailQueue } from './mail.js'
import type { TortureServer } from './server.js'
import { countStoredBy } from './stored-by.js'
import { freshKinds, numberOf } from './work.js'

const pageSize = 50_000

/** What the database holds now, and how much of it there is. */
export async function readFinalState(
  db: Database,
  { complaints }: TortureServer,
  { accidents }: Fleet,
): Promise<FinalState & { readonly figures: Readonly<Record<string, number>> }> {
  // Statistics do not survive a crash, and without them the audit's joins took minutes.
  await db.once('analyze')
  const { jobs, fresh } = await readJobs(db)
  const storedBy = await countStoredBy(db)
  const rows = <Row>(sql: string) => db.read<Row>(sql)
  const effects = await rows<{ n: number; count: number }>('select n, count(*) from effect group by n')
  const runs = await rows<{ id: string; state: string }>('select id, state from fencepost.run')
  const parts = await rows<{ part: string; count: number }>(
    `select r || '/' || part as part, count(*) from item_effect group by r, part`,
  )
  const messages = await rows<FinalState['messages'][0]>(
    `select (j.payload -> '$message' ->> 'body')::int8 as m, j.id, f.outcome,
            extract(epoch from f.finished_at)::float8 * 1000 as "finishedAtMs"
     from fencepost.job j left join fencepost.finished f on f.job_id = j.id where j.queue = '${mailQueue}'`,
  )
  const lost = await rows<{ job_id: string; worker: string; claimedAtMs: number; endedAtMs: number }>(
    `select job_id, worker, extract(epoch from claimed_at)::float8 * 1000 as "claimedAtMs",
            extract(epoch from ended_at)::float8 * 1000 as "endedAtMs"
     from fencepost.attempt where ending = 'lost'`,
  )
  const [counts] = await rows<Record<string, number>>(
    `select count(*) as jobs, coalesce(sum(failures), 0) as failures, coalesce(sum(losses), 0) as losses,
            coalesce(sum(releases), 0) as releases,
            (select count(*) from fencepost.attempt where late_ending is not null) as "lateWords",
            (select count(*) from fencepost.run) as runs
     from fencepost.finished`,
  )
  const { findings } = await audit(db)
  return {
    jobs,
    fresh,
    storedBy,
    effects: new Map(effects.map(({ n, count }) => [n, count])),
    runs: new Map(runs.map(({ id, state }) => [numberOf(id), state])),
    partEffects: new Map(parts.map(({ part, count }) => [part, count])),
    messages,
    lost: lost.map(({ job_id, worker, ...times }) => ({ n: job_id, pid: Number(worker.split('/').at(-2)), ...times })),
    complaints,
    audit: findings
      .filter(({ severity }) => severity === 'violation')
      .map(({ invariant, problem, jobId }) => `${invariant} ${jobId}: ${problem}`),
    accidents,
    figures: { ...storedBy, ...counts, messages: messages.length },
  }
}

async function readJobs(db: Database): Promise<Pick<FinalState, 'jobs' | 'fresh'>> {
  const jobs = new Map<number, EndedJob>()
  const fresh: { n: number; id: string }[] = []
  let after = '00000000-0000-0000-0000-000000000000'
  for (;;) {
    const page = await db.read<EndedJob & { id: string; n: number | null }>(
      `select j.id, case when j.task = any ($2) then (j.payload ->> 'n')::int8 end as n, f.outcome, coalesce(f.tries, 0) as tries, coalesce(f.failures, 0) as failures,
              coalesce(f.losses, 0) as losses, coalesce(f.releases, 0) as releases
       from fencepost.job j left join fencepost.finished f on f.job_id = j.id
       where j.id > $1 and j.run_id is null and j.queue <> '${mailQueue}'
       order by j.id limit ${pageSize}`,
      [after, freshKinds],
    )
    for (const { id, n, ...ended } of page) {
      jobs.set(n ?? numberOf(id), ended)
      if (n !== null) fresh.push({ n, id })
    }
    const last = page.at(-1)
    if (!last) return { jobs, fresh }
    after = last.id
  }
}
