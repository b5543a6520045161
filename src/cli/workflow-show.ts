import { Command } from 'commander'
import type { Json } from '../job/json.js'
import type { RunDetail } from '../store/runs.js'
import type { FailedItemView, SubRunView } from '../store/run-items.js'
import { type Paint, paintFor } from './colours.js'
import type { GlobalOptions } from './global-options.js'
import { jsonLine } from './json-line.js'
import { momentText, spanText } from './moments.js'
import { type RunReport, readReport, subRunsShownMax } from './run-report.js'
import { runColours } from './run-states.js'
import { runTimeline } from './run-timeline.js'
import { waitLines } from './run-waits.js'
import { fitted } from './segments.js'
import { type Column, tableLines } from './table.js'
import { troubleLines } from './trouble-lines.js'
import { pictureOfRun } from './workflow-picture.js'
import { withRun } from './workflow-session.js'

const timelineRowsMax = 60
/** For a file or a pipe. */
const columnsDefault = 120

export function workflowShowCommand(): Command {
  return new Command('show')
    .description('a run: its state, its graph, what it waits for, and when what happened')
    .argument('<run>', 'the id of the run')
    .action(async (given: string, _options: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>()
      const report = await withRun(options, given, (workflows, id, db) => readReport(workflows, db, id))
      if (options.json)
        return console.log(JSON.stringify({ ...report.run, subRuns: report.subRuns, failedItems: report.failedItems }))
      printReport(report)
    })
}

export function printReport(report: RunReport): void {
  const { stdout } = process
  const columns = stdout.isTTY ? stdout.columns || columnsDefault : columnsDefault
  for (const line of reportLines(report, columns, paintFor(stdout))) console.log(line)
}

function reportLines(report: RunReport, columns: number, paint: Paint): string[] {
  const { run, subRuns, failedItems } = report
  const parts = [
    propertyLines(run, paint),
    pictureOfRun(run.definition, run.taskRuns, run.now, columns).map(({ segments }) =>
      fitted(segments, columns, paint).trimEnd(),
    ),
    // Not cut: what is to be typed must be there, all of it.
    waitLines(report).map((line) => fitted(line, Number.POSITIVE_INFINITY, paint)),
    runTimeline(run, timelineRowsMax, columns, paint),
    failedItems.length === 0 ? [] : tableLines(failedItemColumns, failedItems, { paint, width: columns }),
    subRuns.length === 0 ? [] : subRunLines(subRuns, columns, paint),
  ]
  return parts.filter((lines) => lines.length > 0).flatMap((lines, i) => (i === 0 ? lines : ['', ...lines]))
}

function propertyLines(run: RunDetail, paint: Paint): string[] {
  const { id, workflow, version, parentId, parameters, vars, output, error } = run
  const properties: [name: string, value: string, ...more: string[]][] = [
    ['run', id],
    ['workflow', `${workflow}, version ${version}`],
    ['state', paint(runColours[run.state], run.state) + spanOfRun(run)],
    ...(parentId === null
      ? []
      : [['item of', `run ${parentId}: fencepost workflow show ${parentId}`] satisfies [string, string]]),
    ...values('parameters', parameters),
    ...values('vars', vars),
    ...(run.endedAt === null ? [] : [['output', jsonLine(output)] satisfies [string, string]]),
  ]
  const [first, ...more] = troubleLines(error)
  if (first !== undefined) properties.push(['error', paint('red', first), ...more])
  return properties.flatMap(([name, value, ...rest]) => [
    `${paint('dim', name.padEnd(10))} ${value}`,
    ...rest.map((line) => `${' '.repeat(11)}${line}`),
  ])
}

function values(name: string, given: Readonly<Record<string, Json>>): [string, string][] {
  return Object.keys(given).length === 0 ? [] : [[name, jsonLine(given)]]
}

function spanOfRun({ createdAt, endedAt, now, timers }: RunDetail): string {
  const took = spanText((endedAt ?? now).getTime() - createdAt.getTime())
  const began = `began ${momentText(createdAt)}`
  if (endedAt) return ` after ${took}, ${began}`
  const deadline = timers.find(({ kind }) => kind === 'deadline')
  const left = deadline ? `, has to end in ${spanText(deadline.dueAt.getTime() - now.getTime())}` : ''
  return ` for ${took}, ${began}${left}`
}

function subRunLines(subRuns: readonly SubRunView[], columns: number, paint: Paint): string[] {
  const lines = tableLines(subRunColumns, subRuns, { paint, width: columns })
  return subRuns.length < subRunsShownMax ? lines : [...lines, `There may be more than ${subRunsShownMax}.`]
}

function taskText({ task, ordinal }: { task: string; ordinal: number }): string {
  return ordinal > 1 ? `${task}#${ordinal}` : task
}

/** With the job first: that is what one looks at next. */
const failedItemColumns: readonly Column<FailedItemView>[] = [
  { title: 'FAILED JOB', text: ({ jobId }) => jobId },
  { title: 'TASK', text: taskText },
  { title: 'ITEM', text: ({ item }) => item, align: 'right' },
  {
    title: 'OUTCOME',
    text: ({ outcome }) => outcome,
    colour: ({ outcome }) => (outcome === 'failed' ? 'red' : 'magenta'),
  },
  { title: 'WHY', text: ({ message }) => message ?? '' },
]

const subRunColumns: readonly Column<SubRunView>[] = [
  { title: 'SUB-RUN', text: ({ id }) => id },
  { title: 'TASK', text: taskText },
  { title: 'ITEM', text: ({ item }) => item, align: 'right' },
  { title: 'WORKFLOW', text: ({ workflow }) => workflow },
  { title: 'STATE', text: ({ state }) => state, colour: ({ state }) => runColours[state] },
]
