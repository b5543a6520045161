import { FencepostError, shown } from '../errors.js'
import type { Queryable } from '../store/database.js'

/** Whatever else was passed would be told by the database, as an error that names no option. */
export function checkTransaction(tx: Queryable | undefined): void {
  if (tx === undefined || typeof tx?.query === 'function') return
  throw new FencepostError('FP_OPTION_INVALID', `tx must be a connection of yours, not ${shown(tx)}`, {
    hint: 'Pass what transaction() hands to its function, or a client of `pg` on which you have said BEGIN.',
  })
}
