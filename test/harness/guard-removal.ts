import { readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { packageRoot } from '../../src/package-root.js'
import { readSqlFiles, type SqlFiles } from '../../src/store/sql-files.js'

interface Marked {
  readonly id: string
  readonly protects: string
  readonly remove: readonly { readonly find: string; readonly replace: string }[]
  /** Those that must go red without it. */
  readonly tests: readonly string[]
}

/** A guard of a function in `sql/moves/`. */
export interface SqlGuard extends Marked {
  readonly move: string
}

/** A guard in TypeScript: `file` is its path from the root of the package. */
interface FileGuard extends Marked {
  readonly file: string
}

export type Guard = SqlGuard | FileGuard

export function isSqlGuard(guard: Guard): guard is SqlGuard {
  return 'move' in guard
}

export function readGuards(): Guard[] {
  return JSON.parse(readFileSync(join(packageRoot, 'guards.json'), 'utf8')) as Guard[]
}

/** A text without one guard. Fails if the guard's text is not found exactly once. */
export function textWithout(text: string, { id, remove }: Guard): string {
  let left = text
  for (const { find, replace } of remove) {
    const found = left.split(find).length - 1
    if (found !== 1) throw new Error(`guard ${id}: found ${found} times: ${find}`)
    left = left.replace(find, () => replace)
  }
  return left
}

/** The functions without one guard. */
export function withoutGuard(files: SqlFiles, guard: SqlGuard): SqlFiles {
  const sql = files.moves.get(guard.move)
  if (sql === undefined) throw new Error(`guard ${guard.id} names the move ${guard.move}, which does not exist`)
  return { ...files, moves: new Map(files.moves).set(guard.move, textWithout(sql, guard)) }
}

/** The guard that `npm run guards` names in the environment, if it does. */
export function guardOff(): Guard | undefined {
  const off = process.env['FENCEPOST_GUARD_OFF']
  if (!off) return undefined
  const guard = readGuards().find(({ id }) => id === off)
  if (!guard) throw new Error(`guards.json has no guard ${off}`)
  return guard
}

/** The package's functions, without the guard that is off. */
export function sqlFilesUnderTest(): SqlFiles {
  const guard = guardOff()
  const files = readSqlFiles()
  return guard && isSqlGuard(guard) ? withoutGuard(files, guard) : files
}

/** For Vite: gives tests the module without the guard that is off. Nothing is written, so any number may run at once. */
export function guardRemoval() {
  const guard = guardOff()
  return {
    name: 'guard-removal',
    enforce: 'pre' as const,
    transform(code: string, module: string): string | undefined {
      if (!guard || isSqlGuard(guard)) return undefined
      const path = relative(packageRoot, module.split('?', 1)[0] as string)
      return path === guard.file ? textWithout(code, guard) : undefined
    },
  }
}
