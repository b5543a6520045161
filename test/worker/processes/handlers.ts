import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import type { JobContext } from '../../../src/index.js'

/** What a handler needs of the process it runs in. */
export interface Surroundings {
  readonly paymentUrl: string
  readonly url: string
  say(what: string, job: JobContext): Promise<void>
  /** Resolves when the test opens this job. */
  opened(jobId: string): Promise<void>
}

export interface Inputs {
  note: { workMs?: number; mark?: string }
  charge: Record<string, never>
  hold: { inCommit?: boolean }
  stubborn: Record<string, never>
  poison: Record<string, never>
  flaky: { failures: number }
  echo: Record<string, never>
  crowd: { key: string; limit: number; workMs?: number; stays?: boolean }
  graph: { value: number; failures: number }
  gather: { cue: number | null; fails?: boolean }
}

export type TaskName = keyof Inputs

/** What a job's result says; the request that settles it carries this text. */
export function doneText(jobId: string): string {
  return `${jobId} is done`
}

/** `note`, `charge`, … Each leaves one row in the table `effect` when it commits, but `echo`, which only returns. */
export function makeHandlers({ say, opened, paymentUrl, url }: Surroundings): {
  [Name in TaskName]: (input: Inputs[Name], job: JobContext) => Promise<unknown>
} {
  const commit = (job: JobContext, inside?: () => Promise<void>) =>
    job.commit(async (tx) => {
      await tx.query('insert into effect (job_id, attempt) values ($1, $2)', [job.id, job.attempt])
      await inside?.()
      return doneText(job.id)
    })

  return {
    async note({ workMs }, job) {
      if (workMs) await pause(workMs)
      return commit(job)
    },

    async charge(_, job) {
      await job.step('charge', async ({ key, signal }) => {
        const headers = { 'idempotency-key': key }
        const body = JSON.stringify({ jobId: job.id })
        const answer = await fetch(paymentUrl, { method: 'POST', headers, body, signal })
        return answer.json()
      })
      return commit(job)
    },

    async hold({ inCommit }, job) {
      if (inCommit) {
        return commit(job, async () => {
          await say('in commit', job)
          // It goes on, and tries to commit all the same.
          await Promise.race([opened(job.id), aborted(job)])
        })
      }
      await Promise.race([opened(job.id), aborted(job).then(() => job.signal.throwIfAborted())])
      return commit(job)
    },

    async stubborn(_, job) {
      await opened(job.id)
      return commit(job)
    },

    async poison(_, job) {
      await opened(job.id)
      process.kill(process.pid, 'SIGKILL')
    },

    async flaky({ failures }, job) {
      if (job.failures < failures) throw new Error(`failure ${job.failures + 1} of ${failures}`)
      return commit(job)
    },

    async echo(_, job) {
      return doneText(job.id)
    },

    /** A task of a random workflow. */
    async graph({ value, failures }, job) {
      if (job.failures < failures) throw new Error(`failure ${job.failures + 1} of ${failures}`)
      return value
    },

    /** Ends when the test lets go of this lock, in the same instant as all others that wait for it. */
    async gather({ cue, fails }, job) {
      const client = new pg.Client({ connectionString: url })
      client.on('error', () => {})
      await client.connect()
      try {
        const given = cue === null ? undefined : client.query('select pg_advisory_lock_shared($1)', [cue])
        given?.catch(() => {})
        await Promise.race([given, aborted(job).then(() => job.signal.throwIfAborted())])
      } finally {
        await client.end()
      }
      if (fails) throw new Error('it is to fail')
      return doneText(job.id)
    },

    /** Stands in one of `limit` places, which the server frees if this process dies; none free is one too many. */
    async crowd({ key, limit, workMs = 0, stays }, job) {
      const client = new pg.Client({ connectionString: url })
      client.on('error', () => {})
      await client.connect()
      try {
        const { rows } = await client.query(
          `select n from generate_series(1, $2::int) n where pg_try_advisory_lock(hashtext($1), n) limit 1`,
          [key, limit],
        )
        if (rows.length === 0) await client.query('insert into crowded (key, job_id) values ($1, $2)', [key, job.id])
        if (stays) await Promise.race([opened(job.id), aborted(job).then(() => job.signal.throwIfAborted())])
        else await pause(workMs, undefined, { signal: job.signal })
      } finally {
        await client.end()
      }
      return commit(job)
    },
  }
}

function aborted({ signal }: JobContext): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
