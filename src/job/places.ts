/** Where a job is. It is in exactly one place, always. */
export const places = ['delayed', 'waiting', 'ready', 'leased', 'parked', 'finished'] as const
export type Place = (typeof places)[number]

/** How a job ended. Only `succeeded` is final; the others may be retried. */
export const outcomes = ['succeeded', 'failed', 'cancelled', 'discarded', 'expired'] as const
export type Outcome = (typeof outcomes)[number]

/** How a lease ended. `unknown`: nothing is recorded of it, for example after a failover to a replica that was behind. */
export type Ending = 'succeeded' | 'failed' | 'lost' | 'released' | 'parked' | 'cancelled' | 'unknown'

/** A worker's right to run a job. Every settle, heartbeat and extension names all three. */
export interface Fence {
  readonly jobId: string
  readonly leaseId: number
  readonly nonce: number
}
