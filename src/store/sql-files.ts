import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from '../package-root.js'

export interface Migration {
  readonly version: number
  readonly name: string
  /** The oldest version of this list that a process may know and still work with the schema after this migration. */
  readonly compatibleFrom: number
  readonly sql: string
}

export interface SqlFiles {
  readonly migrations: readonly Migration[]
  /** The functions, by file name without `.sql`, in the order of creation. */
  readonly moves: ReadonlyMap<string, string>
}

/** What other functions take as a parameter type or a default has to exist before them; the rest is in any order. */
const movesFirst = ['clock', 'new_id', 'durable', 'new_job_rules', 'gate_rules', 'place', 'record_late']

export function readSqlFiles(): SqlFiles {
  const directory = join(packageRoot, 'sql')
  const read = (folder: string) =>
    readdirSync(join(directory, folder))
      .filter((file) => file.endsWith('.sql'))
      .sort()
      .map((file) => ({ file: file.slice(0, -4), sql: readFileSync(join(directory, folder, file), 'utf8') }))

  const migrations = read('migrations').map(({ file, sql }) => {
    const compatibleFrom = /^-- compatible-from: (\d+)$/m.exec(sql)?.[1]
    if (compatibleFrom === undefined) throw new Error(`sql/migrations/${file}.sql does not say -- compatible-from: n`)
    return { version: Number.parseInt(file, 10), name: file, compatibleFrom: Number(compatibleFrom), sql }
  })
  const rank = (name: string) => movesFirst.indexOf(name) + 1 || movesFirst.length + 1
  const moves = read('moves').sort((a, b) => rank(a.file) - rank(b.file))
  return { migrations, moves: new Map(moves.map(({ file, sql }) => [file, sql])) }
}

/** Tells two sets of functions apart, so that a process with the same version and other functions installs its own. */
export function movesDigest(files: SqlFiles): string {
  const hash = createHash('sha256')
  for (const [name, sql] of files.moves) hash.update(name).update('\0').update(sql).update('\0')
  return hash.digest('hex').slice(0, 16)
}
