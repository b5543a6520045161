import { Command } from 'commander'
import { type AuditFinding, type AuditReport, audit } from '../audit/audit.js'
import { type Paint, paintFor } from './colours.js'
import { counted } from './counted.js'
import type { GlobalOptions } from './global-options.js'
import { printable } from './printable.js'
import { withDatabase } from './server-session.js'

export function auditCommand(): Command {
  return new Command('audit')
    .description('check the invariants on the live database, without blocking it; exit 1 on a violation')
    .action(async (_options: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>()
      const report = await withDatabase(options, (db) => audit(db))
      console.log(options.json ? JSON.stringify(report) : reportText(report, paintFor(process.stdout)))
      if (!report.ok) process.exitCode = 1
    })
}

function reportText(report: AuditReport, paint: Paint): string {
  const lines = report.findings.flatMap((finding) => findingLines(finding, paint))
  if (report.truncated) lines.push('There are more findings than are shown here.')
  const warnings = counted(report.warnings, 'warning')
  const verdict = report.ok
    ? paint('green', `clean: 0 violations, ${warnings}`)
    : paint('red', `${counted(report.violations, 'violation')}, ${warnings}`)
  return [...lines, verdict].join('\n')
}

function findingLines({ invariant, severity, jobId, problem, rows }: AuditFinding, paint: Paint): string[] {
  const shown = Array.isArray(rows) ? rows : [rows]
  return [
    `${paint(severity === 'violation' ? 'red' : 'yellow', severity)}  ${invariant}  job ${jobId}: ${printable(problem)}`,
    ...shown.map((row) => paint('dim', `  ${printable(JSON.stringify(row))}`)),
  ]
}
