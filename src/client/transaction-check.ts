import { FencepostError, shown } from '../errors.js'
import type { Queryable } from '../store/database.js'
import { checkOptionNames } from '../task/options.js'

/** Whatever else was passed would be told by the database, as an error that names no option. */
function checkTransaction(tx: Queryable | undefined): void {
  if (tx === undefined || typeof tx?.query === 'function') return
  throw new FencepostError('FP_OPTION_INVALID', `tx must be a connection of yours, not ${shown(tx)}`, {
    hint: 'Pass what transaction() hands to its function, or a client of `pg` on which you have said BEGIN.',
  })
}

/** The options of a call that may be made in a transaction of the caller's: `tx`, and these. */
export function checkCallOptions(options: { readonly tx?: Queryable }, known: readonly string[], what: string): void {
  checkOptionNames(options, ['tx', ...known], what)
  checkTransaction(options.tx)
}
