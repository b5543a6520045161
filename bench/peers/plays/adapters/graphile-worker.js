// Graphile Worker by its own API. A lock of a job lasts for four hours, which no option changes: where a play needs it to
// run out, the workers take the time from their process (useNodeTime, meant for such tests), whose clock is set ahead.
import { Logger, makeWorkerUtils, run } from 'graphile-worker'
import { shownOptions } from '../shown-options.js'

const logger = new Logger(() => () => {})

export async function open({ url, queue, policy, setting, clockAheadMs }) {
  const utils = await makeWorkerUtils({ connectionString: url, schema: queue, logger })
  await utils.migrate()
  let runner

  return {
    handlesSignals: true,
    async enqueue(name, data, { key, priority, delayMs } = {}) {
      const spec = {
        maxAttempts: (policy.retries ?? 3) + 1,
        ...(key !== undefined && { jobKey: key, ...(policy.jobKeyMode && { jobKeyMode: policy.jobKeyMode }) }),
        ...(priority !== undefined && { priority: priority === 'high' ? -10 : 10 }),
        ...(policy.limit && { queueName: data.limitKey }),
      }
      if (delayMs !== undefined) return this.addDelayed(name, data, delayMs)
      setting(`addJob: ${shownOptions(spec)}`)
      const { id } = await utils.addJob(name, data, spec)
      return { task: name, id }
    },
    /** Its SQL function takes the time from the database; addJob() takes a Date of the producer's. */
    async addDelayed(name, data, delayMs) {
      setting('add_job(…, run_at := now() + interval)')
      const added = await utils.withPgClient((client) =>
        client.query(`select id from ${queue}.add_job($1, $2, run_at := now() + $3::int * interval '1 ms')`, [
          name,
          JSON.stringify(data),
          delayMs,
        ]),
      )
      return { task: name, id: String(added.rows[0].id) }
    },
    async work(programs, handle, { concurrency = 1, graceMs = 500 } = {}) {
      const options = {
        concurrency,
        pollInterval: 200,
        minResetLockedInterval: 200,
        maxResetLockedInterval: 300,
        gracefulShutdownAbortTimeout: graceMs,
        ...(policy.nodeTime && { useNodeTime: true }),
        ...(policy.localQueue && { preset: { worker: { localQueue: { size: policy.localQueue } } } }),
      }
      setting(`run: ${shownOptions(options)}`)
      if (clockAheadMs > 0) setting('clocks of later workers set ahead')
      const taskList = Object.fromEntries(
        Object.keys(programs).map((name) => [
          name,
          async (data, { job, abortSignal }) => {
            await handle({ id: String(job.id), task: name, data, attempt: job.attempts, signal: abortSignal })
          },
        ]),
      )
      runner = await run({ connectionString: url, schema: queue, logger, taskList, parsedCronItems: [], ...options })
      runner.promise.catch(() => {})
    },
    stop: () => runner.stop(),
    async look({ id }) {
      const found = await utils.withPgClient((client) =>
        client.query(`select attempts, max_attempts, locked_at from ${queue}.jobs where id = $1`, [id]),
      )
      const [job] = found.rows
      // A job that has succeeded is deleted, and so is one that was removed.
      if (!job) return { state: 'succeeded' }
      const state = job.locked_at ? 'running' : job.attempts >= job.max_attempts ? 'failed' : 'waiting'
      return { state, failures: job.attempts }
    },
    async cancel({ key }) {
      setting('remove_job(key)')
      const removed = await utils.withPgClient((client) => client.query(`select * from ${queue}.remove_job($1)`, [key]))
      const [job] = removed.rows
      if (!job?.id) return 'refused'
      return job.locked_at ? 'requested' : 'cancelled'
    },
    async rerun({ id }) {
      // `attempts: 0` is taken for none given, and changes nothing.
      setting('rescheduleJobs: maxAttempts 2')
      return utils.rescheduleJobs([id], { maxAttempts: 2, runAt: new Date() })
    },
    rescue: async () => {},
    async cleanUp() {
      setting('cleanup: all three tasks')
      await utils.cleanup({ tasks: ['GC_TASK_IDENTIFIERS', 'GC_JOB_QUEUES', 'DELETE_PERMAFAILED_JOBS'] })
    },
  }
}
