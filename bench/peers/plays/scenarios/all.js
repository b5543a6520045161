import * as leases from './leases.js'

export const scenarios = Object.fromEntries(
  Object.entries({ ...leases })
    .filter(([id]) => id.startsWith('FM_'))
    .toSorted(([a], [b]) => (a < b ? -1 : 1)),
)
