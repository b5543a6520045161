/** What a piece of work cost the server: WAL, and the processor time of all its processes. */
import { readdirSync, readFileSync } from 'node:fs'
import type { Database } from '../src/store/database.js'

export interface Costs {
  readonly walBytes: number
  readonly databaseCpuSeconds: number
}

export async function costing<Result>(db: Database, work: () => Promise<Result>): Promise<[Result, Costs]> {
  const before = await now(db)
  const result = await work()
  const after = await now(db)
  return [
    result,
    {
      walBytes: after.walBytes - before.walBytes,
      databaseCpuSeconds: after.databaseCpuSeconds - before.databaseCpuSeconds,
    },
  ]
}

async function now(db: Database): Promise<Costs> {
  const [row] = await db.once<{ wal: string; pid: number }>(
    `select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::text as wal, pg_backend_pid() as pid`,
  )
  const { wal, pid } = row as { wal: string; pid: number }
  return { walBytes: Number(wal), databaseCpuSeconds: cpuOfFamily(parentOf(pid)) }
}

/** In ticks of a hundredth of a second. Of a server on another machine, or another system than Linux, nothing is known. */
function cpuOfFamily(parent: number | undefined): number {
  if (parent === undefined) return 0
  for (;;) {
    const ended = ticksOfEnded(parent)
    let ticks = ended
    for (const entry of readdirSync('/proc')) {
      const fields = /^\d+$/.test(entry) ? statOf(Number(entry)) : undefined
      if (fields && (Number(entry) === parent || Number(fields[1]) === parent))
        ticks += Number(fields[11]) + Number(fields[12])
    }
    // A session that ended in between is in neither of the two, or in both.
    if (ticksOfEnded(parent) === ended) return ticks / 100
  }
}

/** Those that have ended are counted with their parent. */
function ticksOfEnded(parent: number): number {
  const fields = statOf(parent)
  return fields === undefined ? 0 : Number(fields[13]) + Number(fields[14])
}

function parentOf(pid: number): number | undefined {
  const parent = statOf(pid)?.[1]
  return parent === undefined ? undefined : Number(parent)
}

/** What comes behind the name of the process, which may have spaces in it. */
function statOf(pid: number): string[] | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return text.slice(text.lastIndexOf(')') + 2).split(' ')
  } catch {
    return undefined
  }
}
