import * as budgets from './budgets.js'
import * as enqueue from './enqueue.js'
import * as fanIn from './fan-in.js'
import * as leases from './leases.js'
import * as limits from './limits.js'
import * as wakeUps from './wake-ups.js'

/** By id, in the order of the catalogue. */
export const scenarios = Object.fromEntries(
  Object.entries({ ...budgets, ...enqueue, ...fanIn, ...leases, ...limits, ...wakeUps }).sort(([a], [b]) =>
    a < b ? -1 : 1,
  ),
)
