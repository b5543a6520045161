import { expect, it } from 'vitest'
import { RunChanges } from '../../src/cli/run-changes.js'
import type { RunReport } from '../../src/cli/run-report.js'
import { runTimeline } from '../../src/cli/run-timeline.js'
import { SecretMask } from '../../src/job/secret-mask.js'
import { sideBySide } from '../../src/cli/side-by-side.js'
import { drawWatchScreen } from '../../src/cli/watch-screen.js'
import { laneRows } from '../../src/cli/workflow-lanes.js'
import type { RunDetail, TaskRunView } from '../../src/store/runs.js'
import { workflowOf } from '../harness/workflows.js'

/** Tasks and what each leads to, drawn without the spaces at the ends. */
function drawn(tasks: Readonly<Record<string, readonly string[]>>): string[] {
  const graph = {
    tasks: Object.entries(tasks).map(([name, targets]) => ({ name, join: null, next: [{ do: targets }] })),
  }
  return laneRows(graph).map(({ lanes, task }) => (task === null ? lanes : `${lanes.trimEnd()} ${task}`))
}

it.each<[string, Readonly<Record<string, readonly string[]>>, readonly string[]]>([
  ['a chain', { a: ['b'], b: ['c'], c: [] }, ['● a', '● b', '● c']],
  ['a diamond', { a: ['b', 'c'], b: ['d'], c: ['d'], d: [] }, ['● a', '├─╮', '● │ b', '│ ● c', '├─╯', '● d']],
  ['tasks that have nothing to do with each other', { a: [], b: ['c'], c: [] }, ['● a', '', '● b', '● c']],
  ['a second beginning', { a: ['c'], b: ['c'], c: [] }, ['● a', '│ ● b', '├─╯', '● c']],
  ['a cycle', { a: ['b'], b: ['c'], c: ['b', 'd'], d: [] }, ['● a', '● b', '● c', '● d']],
  [
    'an edge that crosses a lane, and one that leads into one',
    { a: ['b', 'c', 'd'], b: ['e'], c: ['f'], d: ['e', 'f'], e: [], f: [] },
    ['● a', '├─┬─╮', '● │ │ b', '│ ● │ c', '│ │ ● d', '├─┼─╯', '● │ e', '  ● f'],
  ],
  [
    'an edge that only crosses',
    { a: ['b', 'c', 'd'], b: ['e'], c: [], d: ['e'], e: [] },
    ['● a', '├─┬─╮', '● │ │ b', '│ ● │ c', '│   ● d', '├───╯', '● e'],
  ],
  [
    'a join of what is far apart',
    { a: ['b', 'c'], b: ['d', 'e'], c: ['e'], d: [], e: [] },
    ['● a', '├─╮', '● │ b', '├─│─╮', '● │ │ d', '  ● │ c', '  ╰─┤', '    ● e'],
  ],
])('draws %s', (_, tasks, lines) => {
  expect(drawn(tasks)).toEqual(lines)
})

it('draws every task once, after all that lead to it, whatever the graph', () => {
  const names = Array.from({ length: 40 }, (_, n) => `t${n}`)
  let seed = 1
  const random = (below: number) => (seed = (seed * 48_271) % 2_147_483_647) % below
  for (let round = 0; round < 50; round++) {
    const tasks = Object.fromEntries(
      names.map((name, n) => [
        name,
        [...new Set(Array.from({ length: random(4) }, () => `t${n + 1 + random(40 - n)}`))].filter((each) =>
          names.includes(each),
        ),
      ]),
    )
    const order = drawn(tasks).flatMap((line) => /t\d+$/.exec(line)?.[0] ?? [])
    expect([...order].sort()).toEqual([...names].sort())
    for (const [name, targets] of Object.entries(tasks)) {
      for (const target of targets) expect(order.indexOf(name)).toBeLessThan(order.indexOf(target))
    }
  }
})

it.each([
  ['hunter2', 'with hunter2 in it', 'with ••• in it'],
  ['a"b', '{"x":"a\\"b"}', '{"x":"•••"}'],
  ['a/b c', 'https://x/?q=a%2Fb%20c', 'https://x/?q=•••'],
  ['ab', 'ab', '•••'],
  ['ab', 'cabbage', 'cabbage'],
  [12345, 'pin 12345', 'pin •••'],
  [{ user: 'ada', keys: ['k-1', 'k-12'] }, 'k-12 of ada, k-1', '••• of •••, •••'],
  ['', 'text', 'text'],
  [true, 'true', 'true'],
  [null, 'null', 'null'],
])('hides %j in %j', (secret, text, masked) => {
  expect(new SecretMask([secret]).text(text)).toBe(masked)
})

it('hides secrets in keys and values, however deep, and leaves the rest as it is', () => {
  const mask = new SecretMask(['hunter2', 7])
  const value = { hunter2: [{ a: 'x hunter2', b: 7, c: 17 }], d: null, e: true }
  expect(mask.json(value)).toEqual({ '•••': [{ a: 'x •••', b: '•••', c: 17 }], d: null, e: true })
  const plain = { a: [1, 'b'] }
  expect(new SecretMask([]).json(plain)).toEqual(plain)
})

it.each<[string, string, readonly (readonly [string | undefined, string | undefined])[]]>([
  [
    'abc',
    'abc',
    [
      ['a', 'a'],
      ['b', 'b'],
      ['c', 'c'],
    ],
  ],
  [
    'abc',
    'ac',
    [
      ['a', 'a'],
      ['b', undefined],
      ['c', 'c'],
    ],
  ],
  [
    'ac',
    'abc',
    [
      ['a', 'a'],
      [undefined, 'b'],
      ['c', 'c'],
    ],
  ],
  [
    'axc',
    'ayzc',
    [
      ['a', 'a'],
      ['x', 'y'],
      [undefined, 'z'],
      ['c', 'c'],
    ],
  ],
  ['', 'a', [[undefined, 'a']]],
  ['', '', []],
])('puts %j and %j side by side', (left, right, pairs) => {
  expect(sideBySide(left.split(''), right.split(''))).toEqual(pairs)
})

const start = Date.UTC(2030, 0, 1)
const at = (ms: number) => new Date(start + ms)

function aTaskRun(taskRun: Partial<TaskRunView> & { task: string }): TaskRunView {
  const startedAt = taskRun.startedAt ?? at(0)
  return {
    ordinal: 1,
    action: 'x',
    state: 'succeeded',
    total: 1,
    dispatched: 1,
    succeeded: 1,
    failed: 0,
    stopped: 0,
    stop: null,
    concurrency: null,
    via: null,
    viaOrdinal: null,
    input: null,
    error: null,
    startedAt,
    endedAt: null,
    itemId: '00000000-0000-8000-8000-000000000001',
    ...taskRun,
  }
}

function aRun(tasks: readonly string[], taskRuns: readonly TaskRunView[], run: Partial<RunDetail> = {}): RunDetail {
  const next = (i: number) => (i + 1 < tasks.length ? `, next: [{ do: ${tasks[i + 1]} }]` : '')
  const text = `name: w\ntasks:\n${tasks.map((name, i) => `  - { name: ${name}, action: x${next(i)} }`).join('\n')}\n`
  return {
    id: '00000000-0000-8000-8000-000000000000',
    workflow: 'w',
    version: 1,
    state: 'running',
    createdAt: at(0),
    endedAt: null,
    error: null,
    parentId: null,
    definition: workflowOf(text).definition,
    parameters: {},
    vars: {},
    output: null,
    revision: 1,
    taskRuns,
    timers: [],
    now: at(10_000),
    ...run,
  }
}

it('draws bars to scale, of the newest if there are many', () => {
  const run = aRun(
    ['a', 'b'],
    [
      aTaskRun({ task: 'a', startedAt: at(0), endedAt: at(5_000) }),
      aTaskRun({ task: 'b', via: 'a', viaOrdinal: 1, startedAt: at(5_000), state: 'waiting', action: 'wait.signal' }),
    ],
  )
  const plain = (_: string, text: string) => text
  expect(runTimeline(run, 10, 54, plain)).toEqual([
    '   TASK  VIA  BEGAN   TOOK  0 to 10s',
    '✔  a           +0ms   5.0s  ████████████',
    '◆  b     a    +5.0s  5.0s…              ░░░░░░░░░░░░',
  ])
  expect(runTimeline(run, 1, 54, plain)).toHaveLength(3)
  expect(runTimeline(run, 1, 54, plain).at(-1)).toBe('And 1 earlier; --json shows all.')
  expect(runTimeline(run, 10, 30, plain)[1]).toBe('✔  a           +0ms   5.0s')
  expect(runTimeline({ ...run, taskRuns: [] }, 10, 80, plain)).toEqual([])
})

it('tells what is new, each thing once', () => {
  const changes = new RunChanges()
  const running = aTaskRun({ task: 'each', state: 'running', total: 3, succeeded: 0 })
  const run = aRun(['each'], [running])
  const said = (next: RunDetail) => changes.next(next).map(({ task, what, note }) => [task, what, note])
  expect(said(run)).toEqual([
    ['each', 'began', ''],
    [null, 'running', ''],
  ])
  expect(said(run)).toEqual([])
  expect(said({ ...run, taskRuns: [{ ...running, succeeded: 1 }] })).toEqual([['each', '1/3', '']])
  const ended = {
    ...running,
    succeeded: 2,
    failed: 1,
    state: 'failed',
    endedAt: at(2_000),
    error: { message: 'no' },
  } as const
  expect(said({ ...run, state: 'failed', endedAt: at(2_000), error: { message: 'no' }, taskRuns: [ended] })).toEqual([
    ['each', 'failed', '2.0s  3/3, 1 failed  no'],
    [null, 'failed', 'no'],
  ])
})

it.each([
  { columns: 120, rows: 60 },
  { columns: 80, rows: 24 },
  { columns: 30, rows: 8 },
  { columns: 1, rows: 1 },
])('draws a watched run on a screen of $columns × $rows that fits', (size) => {
  const names = Array.from({ length: 30 }, (_, n) => `task_${n}`)
  const taskRuns = names.slice(0, 21).map((task, n) => {
    return aTaskRun({
      task,
      startedAt: at(n * 100),
      ...(n < 20 && { endedAt: at(n * 100 + 90) }),
      state: n < 20 ? 'succeeded' : 'running',
    })
  })
  const report: RunReport = {
    run: aRun(names, taskRuns),
    subRuns: [],
    failedItems: [],
    openItems: new Map(),
    hasWorker: true,
  }
  const lines = drawWatchScreen(report, size, (_, text) => text)
  expect(lines.length).toBeLessThanOrEqual(size.rows)
  for (const line of lines) expect(line.length).toBeLessThanOrEqual(size.columns)
  if (size.rows < 8) return
  expect(lines.some((line) => /^● +task_20 +runn/.test(line))).toBe(true)
  expect(lines.some((line) => line.includes('more lines above'))).toBe(size.rows < 60)
  expect(lines.some((line) => line.includes('TASK'))).toBe(size.rows === 60)
})
