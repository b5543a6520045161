import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Json } from '../job/json.js'
import { packageRoot } from '../package-root.js'
import type { Database } from '../store/database.js'
import { inSchema } from '../store/schema-name.js'

export interface AuditFinding {
  readonly invariant: string
  /** A warning is no fault of the engine's: the handlers were run in a way that may have repeated an outside effect. */
  readonly severity: 'violation' | 'warning'
  readonly jobId: string
  readonly problem: string
  /** The rows that show it. */
  readonly rows: Json
}

export interface AuditReport {
  readonly ok: boolean
  readonly violations: number
  readonly warnings: number
  readonly findings: readonly AuditFinding[]
  /** Some check found more than it shows. */
  readonly truncated: boolean
}

/** One snapshot for all checks, so that a job on the move is not seen in two places; reads only, locks nothing. */
export async function audit(db: Database, findingsPerCheckMax = 100): Promise<AuditReport> {
  const found = await db.transaction(async (tx) => {
    await tx.query('set transaction isolation level repeatable read, read only')
    const all: { findings: AuditFinding[]; truncated: boolean }[] = []
    for (const check of readChecks()) {
      const { rows } = await tx.query<{ job_id: string; problem: string; rows: Json }>(
        // Materialized: with a limit on the millions of rows that it expects, the planner chose a nested loop over the log of
        // attempts, which took more than two minutes for 54,000 jobs; without, it hashes, which takes 0.3 s.
        `with found as materialized (\n${inSchema(check.sql, db.schema)}\n) select * from found limit ${findingsPerCheckMax + 1}`,
      )
      all.push({
        findings: rows.slice(0, findingsPerCheckMax).map((row) => ({
          invariant: check.invariant,
          severity: check.severity,
          jobId: row.job_id,
          problem: row.problem,
          rows: row.rows,
        })),
        truncated: rows.length > findingsPerCheckMax,
      })
    }
    return all
  })
  const findings = found.flatMap((check) => check.findings)
  const violations = findings.filter(({ severity }) => severity === 'violation').length
  return {
    ok: violations === 0,
    violations,
    warnings: findings.length - violations,
    findings,
    truncated: found.some((check) => check.truncated),
  }
}

interface Check {
  readonly invariant: string
  readonly severity: 'violation' | 'warning'
  readonly sql: string
}

/** `sql/audit/INV_nnn_what.sql`, each a select of (job_id, problem, rows); a warning says so in its header. */
function readChecks(): Check[] {
  const directory = join(packageRoot, 'sql', 'audit')
  return readdirSync(directory)
    .filter((file) => file.endsWith('.sql'))
    .sort()
    .map((file) => {
      const sql = readFileSync(join(directory, file), 'utf8')
      return { invariant: file.slice(0, 7), severity: /^-- warning$/m.test(sql) ? 'warning' : 'violation', sql }
    })
}
