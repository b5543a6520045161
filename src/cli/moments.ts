/** `2026-01-31 12:00:00Z`: UTC, so that it can be compared with logs of any machine. */
export function momentText(date: Date): string {
  return `${date.toISOString().slice(0, 19).replace('T', ' ')}Z`
}

/** The same with milliseconds, for timelines. */
export function preciseMomentText(date: Date): string {
  return date.toISOString().replace('T', ' ')
}

/** `250ms`, `1.5s`, `3m 20s`, `2h 5m`, `4d 3h`: two units at most. */
export function spanText(ms: number): string {
  const span = Math.max(0, ms) // a clock that is behind the database's must not show a negative age
  if (span < 1_000) return `${Math.round(span)}ms`
  if (span < 10_000) return `${(Math.floor(span / 100) / 10).toFixed(1)}s`
  const seconds = Math.floor(span / 1_000)
  if (seconds < 60) return `${seconds}s`
  if (seconds < 3_600) return `${Math.floor(seconds / 60)}m ${seconds % 60}s`
  if (seconds < 86_400) return `${Math.floor(seconds / 3_600)}h ${Math.floor((seconds % 3_600) / 60)}m`
  return `${Math.floor(seconds / 86_400)}d ${Math.floor((seconds % 86_400) / 3_600)}h`
}
