import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from '../../src/package-root.js'
import { readSqlFiles, type SqlFiles } from '../../src/store/sql-files.js'

/** One guard of `sql/moves/`: the text that removes it, and the tests that must go red without it. */
export interface Guard {
  readonly id: string
  readonly move: string
  readonly protects: string
  readonly remove: readonly { readonly find: string; readonly replace: string }[]
  readonly tests: readonly string[]
}

export function readGuards(): Guard[] {
  return JSON.parse(readFileSync(join(packageRoot, 'guards.json'), 'utf8')) as Guard[]
}

/** The functions without one guard. Fails if the guard's text is not found exactly once. */
export function withoutGuard(files: SqlFiles, guard: Guard): SqlFiles {
  let sql = files.moves.get(guard.move)
  if (sql === undefined) throw new Error(`guard ${guard.id} names the move ${guard.move}, which does not exist`)
  for (const { find, replace } of guard.remove) {
    const found = sql.split(find).length - 1
    if (found !== 1) throw new Error(`guard ${guard.id}: found ${found} times in ${guard.move}.sql: ${find}`)
    sql = sql.replace(find, () => replace)
  }
  return { ...files, moves: new Map(files.moves).set(guard.move, sql) }
}

/** The package's functions; without the guard that `npm run guards` names in the environment, if it does. */
export function sqlFilesUnderTest(): SqlFiles {
  const off = process.env['FENCEPOST_GUARD_OFF']
  const files = readSqlFiles()
  if (!off) return files
  const guard = readGuards().find(({ id }) => id === off)
  if (!guard) throw new Error(`guards.json has no guard ${off}`)
  return withoutGuard(files, guard)
}
