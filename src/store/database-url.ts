import pg from 'pg'
import { FencepostError } from '../errors.js'

/** A URL that `pg` can read. The message does not repeat it: it may hold a password. */
export function checkedDatabaseUrl(url: unknown): string {
  try {
    if (typeof url === 'string' && /^postgres(ql)?:\/\//.test(url)) {
      void new pg.Client({ connectionString: url }) // reads the URL and does not connect
      return url
    }
  } catch {
    // told below
  }
  throw new FencepostError(
    'FP_OPTION_INVALID',
    'the database must be given as postgres://user:password@host:port/name',
    {
      hint: 'Check `database`, or DATABASE_URL. Characters such as @ : / # % in the user or the password have to be percent-encoded.',
    },
  )
}
