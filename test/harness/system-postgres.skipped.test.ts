import { it } from 'vitest'

// Stands in for the whole suite where there is no system PostgreSQL; the reason is in the name.
it.skip('the suite on the system’s PostgreSQL 15: not installed here (apt-get install postgresql-15)', () => {})
