import type { Json } from '../job/json.js'
import type { Fence } from '../job/places.js'
import type { Database } from './database.js'

export interface BegunStep {
  /** `ambiguous`: an earlier attempt began it and recorded no result, so its effect may have happened. */
  readonly answer: 'begun' | 'done' | 'ambiguous' | 'stale'
  readonly result: Json
  /** In how long all earlier attempts must be over. */
  readonly waitMs: number
}

/** Records the intent, before the effect. `take`: an ambiguous step becomes this lease's. */
export async function beginStep(
  db: Database,
  fence: Fence,
  name: string,
  timeoutMs: number | null,
  take: boolean,
): Promise<BegunStep> {
  const rows = await db.move<{ answer: BegunStep['answer']; result: Json; wait_ms: number }>(
    'select * from fencepost.begin_step($1, $2, $3, $4, $5, $6)',
    () => [fence.jobId, fence.leaseId, fence.nonce, name, timeoutMs, take],
  )
  const row = rows[0] as (typeof rows)[0]
  return { answer: row.answer, result: row.result, waitMs: row.wait_ms }
}

export type EndStepAnswer = 'recorded' | 'already' | 'stale'

/** Records the result, after the effect; or that the attempt is over with this step, without one. */
export async function endStep(
  db: Database,
  fence: Fence,
  name: string,
  end: { resultText: string } | { threw: true },
): Promise<EndStepAnswer> {
  const rows = await db.move<{ answer: EndStepAnswer }>(
    'select * from fencepost.end_step($1, $2, $3, $4, $5::jsonb, $6)',
    () => [fence.jobId, fence.leaseId, fence.nonce, name, 'resultText' in end ? end.resultText : null, 'threw' in end],
  )
  return (rows[0] as (typeof rows)[0]).answer
}
