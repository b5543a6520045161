import { expect, it } from 'vitest'
import type { Move } from '../../src/cli/dev-moves.js'
import { drawDevScreen } from '../../src/cli/dev-screen.js'
import { spanText } from '../../src/cli/moments.js'
import { nearestName } from '../../src/task/nearest-name.js'
import { printable } from '../../src/cli/printable.js'
import { tableLines } from '../../src/cli/table.js'
import type { JobView } from '../../src/store/read.js'

it.each([
  [-5, '0ms'],
  [999.4, '999ms'],
  [1_000, '1.0s'],
  [9_999, '9.9s'],
  [10_000, '10s'],
  [61_000, '1m 1s'],
  [3_600_000, '1h 0m'],
  [90_000_000, '1d 1h'],
])('writes %d ms as %s', (ms, text) => {
  expect(spanText(ms)).toBe(text)
})

it.each([
  ['sned-mail', 'send-mail'],
  ['SEND-MAIL', 'send-mail'],
  ['sendmail', 'send-mail'],
  ['charge', undefined],
  ['x', undefined],
  ['', undefined],
])('takes %j for %j', (written, meant) => {
  expect(nearestName(written, ['send-mail', 'charge-card', 'report'])).toBe(meant)
})

it('makes control characters visible and leaves the rest', () => {
  expect(printable('Grüße → 日本 👍')).toBe('Grüße → 日本 👍')
  expect(printable('a\nb\t\u001b[2J\u009b\u202e')).toBe('a\\nb\\t\\u001b[2J\\u009b\\u202e')
})

it('aligns the columns of a table and cuts the last one at the edge', () => {
  const lines = tableLines(
    [
      { title: 'NAME', text: (row: string[]) => row[0] as string },
      { title: 'N', text: (row) => (row[0] as string).length, align: 'right' },
      { title: 'NOTE', text: (row) => row[1] as string },
    ],
    [
      ['send-mail', 'a long note'],
      ['x', ''],
    ],
    { width: 20 },
  )
  expect(lines).toEqual(['NAME       N  NOTE', 'send-mail  9  a lon…', 'x          1'])
})

it.each([
  { columns: 140, rows: 40 },
  { columns: 80, rows: 24 },
  { columns: 20, rows: 5 },
  { columns: 1, rows: 1 },
])('draws a screen of $columns × $rows that fits', (size) => {
  const moves: Move[] = Array.from({ length: 20 }, () => ({
    at: new Date(0),
    jobId: job.id,
    task: job.task,
    from: 'ready',
    to: 'leased',
    outcome: null,
    note: 'attempt 1',
  }))
  const tally = { enqueued: 1, succeeded: 2, failed: 3, cancelled: 4, discarded: 0, expired: 0 }
  const jobs = Array.from({ length: 60 }, () => job)
  const state = { server: 'a server with a long name', queue: undefined, tally, jobs, moves, trouble: undefined }

  const lines = drawDevScreen(state, size, (_, text) => text)

  expect(lines.length).toBeLessThanOrEqual(size.rows)
  for (const line of lines) expect(line.length).toBeLessThanOrEqual(size.columns)
})

it('shows a job that waits at a gate, and counts it', () => {
  const queue = {
    queue: 'demo',
    ready: 1,
    waiting: 2,
    leased: 0,
    delayed: 0,
    parked: 0,
    oldestReadyMs: null,
    pausedAt: null,
  }
  const tally = { enqueued: 1, succeeded: 0, failed: 0, cancelled: 0, discarded: 0, expired: 0 }
  const jobs: JobView[] = [{ ...job, place: 'waiting', waitsAt: 'gate:api', waitsSince: new Date(0) }]
  const state = { server: 'here', queue, tally, jobs, moves: [], trouble: undefined }
  const text = drawDevScreen(state, { columns: 140, rows: 40 }, (_, part) => part).join('\n')
  expect(text).toContain('delayed 0  waiting 2  ready 1')
  expect(text).toMatch(/^01a1e13e.* waits at gate:api$/m)
})

const job: JobView = {
  id: '01a1e13e-b04d-7e9c-b7da-35f43787b80e',
  task: 'a-task-with-a-long-name',
  queue: 'demo',
  place: 'leased',
  outcome: null,
  priority: 0,
  tries: 1,
  failures: 0,
  losses: 0,
  releases: 0,
  createdAt: new Date(0),
  dueAt: null,
  finishedAt: null,
  worker: 'w1',
  expiresAt: null,
  waitName: null,
  waitsAt: null,
  waitsSince: null,
  cancelRequestedAt: null,
  reason: null,
}
