import pg from 'pg'
import type { Copies } from './copy-in.js'
import type { Database } from './database.js'
import type { NewJob } from './new-job.js'
import { inSchema } from './schema-name.js'

/** Three messages instead of one are worth it for so many. */
export const copiedLeast = 1_000

/** What enqueue_alike does, by COPY: begin_copy tells why. */
export async function enqueueCopied(db: Database, jobs: readonly NewJob[]): Promise<void> {
  const [{ task, queue, failuresMax, lossesMax, leaseMs }] = jobs as readonly [NewJob]
  await db.copy(
    'select fencepost.begin_copy($1, $2, $3, $4, $5, $6) as seqs',
    [jobs.length, task, queue, failuresMax, lossesMax, leaseMs],
    (row, schema) => copiesOf(jobs, (row as { seqs: string[] }).seqs.map(Number), schema),
  )
}

function copiesOf(jobs: readonly NewJob[], seqs: readonly number[], schema: string): Copies {
  const [{ task, queue, priority, failuresMax, lossesMax, leaseMs }] = jobs as readonly [NewJob]
  const names = `${escaped(queue)}\t${escaped(task)}`
  const ofJob = `${leaseMs}\t${priority}\t${failuresMax}\t${lossesMax}\t${names}`
  const ofReady = `0\t0\t${priority}\t0\t0\t${failuresMax}\t${lossesMax}\t${names}`
  let [intoJob, intoReady] = ['', '']
  jobs.forEach(({ id, payloadText }, n) => {
    const seq = seqs.length === 1 ? (seqs[0] as number) + n : seqs[n]
    intoJob += `${id}\t${seq}\t${ofJob}\t${escaped(payloadText)}\n`
    intoReady += `${id}\t${seq}\t${ofReady}\n`
  })
  // The name of a queue may look like that of a table.
  const sql = `${inSchema(copySql, schema)}(array[${pg.escapeLiteral(queue)}]); commit` // guard: copied-jobs.schema
  return { sql, texts: [intoJob, intoReady] }
}

// guard: copied-jobs.rouse
const copySql = `
  copy fencepost.job (id, seq, lease_ms, priority, failures_max, losses_max, queue, task, payload) from stdin;
  copy fencepost.ready
    (job_id, seq, tries, releases, priority, failures, losses, failures_max, losses_max, queue, task) from stdin;
  select fencepost.rouse`

/** There are no control characters in names, nor in a text that JSON.stringify() has made. */
function escaped(text: string): string {
  return text.includes('\\') ? text.replaceAll('\\', '\\\\') : text // guard: copied-jobs.escaped
}
