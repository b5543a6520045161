import { Workflows } from '../client/workflows.js'
import { FencepostError } from '../errors.js'
import { checkedJobId } from '../job/job-id.js'
import { defaults } from '../limits.js'
import type { Database } from '../store/database.js'
import { listWorkers, readJob } from '../store/read.js'
import { workerSilentMs } from '../store/why-not-running.js'
import type { GlobalOptions } from './global-options.js'
import { withDatabase } from './server-session.js'

/** Workflows and their runs on the server that the options name. */
export function withWorkflows<Result>(
  options: GlobalOptions,
  work: (workflows: Workflows, db: Database) => Promise<Result>,
): Promise<Result> {
  const notWaited = () => Promise.reject(new Error('the command line waits by itself'))
  return withDatabase(options, (db) => work(new Workflows(db, defaults.payloadBytesMax, notWaited), db))
}

function checkedRunId(given: string): string {
  try {
    return checkedJobId(given)
  } catch (error) {
    if (!(error instanceof FencepostError)) throw error
    throw new FencepostError('FP_ID_INVALID', JSON.stringify(given), {
      hint: 'Ids of runs look like 0198c1a2-7b1e-7cc3-98c4-dc0c0c07398f. `fencepost workflow runs` shows them.',
    })
  }
}

/** What is done with a run; if there is none, the error tells whether the id is that of a job. */
export async function withRun<Result>(
  options: GlobalOptions,
  id: string,
  work: (workflows: Workflows, runId: string, db: Database) => Promise<Result>,
): Promise<Result> {
  const runId = checkedRunId(id)
  return withWorkflows(options, async (workflows, db) => {
    try {
      return await work(workflows, runId, db)
    } catch (error) {
      if (!(error instanceof FencepostError) || error.code !== 'FP_RUN_UNKNOWN') throw error
      const job = await readJob(db, runId)
      throw job
        ? new FencepostError('FP_RUN_UNKNOWN', runId, { hint: `It is the id of a job: fencepost jobs show ${runId}` })
        : error
    }
  })
}

/** Runs are advanced by workers: without any, nothing happens. */
export async function hasLiveWorker(db: Database): Promise<boolean> {
  const workers = await listWorkers(db)
  return workers.some(({ registered, seenMs }) => registered && (seenMs ?? 0) <= workerSilentMs)
}
