import type { Fence } from '../../src/job/places.js'

/** What each job was told; the rows of an answer come in no particular order. */
export function byJob<Answer>(rows: readonly { jobId: string; answer: Answer }[]): Record<string, Answer> {
  return Object.fromEntries(rows.map(({ jobId, answer }) => [jobId, answer]))
}

/** The fence of another lease of the same claim: same job, same nonce. */
export function ofAnotherLease(fence: Fence): Fence {
  return { ...fence, leaseId: fence.leaseId + 1_000 }
}

/** Same lease, same nonce, another job. */
export function ofAnotherJob(fence: Fence, jobId: string): Fence {
  return { ...fence, jobId }
}

/** Whether the lease row can be locked at once, that is, nobody else holds it. */
export const leaseIsFree = `select true as free from fencepost.leased where lease_id = $1 for update skip locked`
