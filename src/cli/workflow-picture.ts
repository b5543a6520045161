import type { TaskRunView } from '../store/runs.js'
import type { Definition, TaskDefinition, Transition } from '../workflow/definition.js'
import { edgesInto } from '../workflow/graph.js'
import { durationText } from '../task/duration.js'
import type { Colour } from './colours.js'
import { spanText } from './moments.js'
import { printable } from './printable.js'
import { stateText, taskSigns, unreachedSign } from './run-states.js'
import type { Segment } from './segments.js'
import { backEdges, type LaneRow, laneRows } from './workflow-lanes.js'

/** A line of the picture; `task` if one stands on it. */
export interface PictureLine {
  readonly task: string | null
  readonly segments: readonly Segment[]
}

/** More would leave no room for what is beside them. */
const lanesShareMax = 0.4

/** The definition: each task with its action, and below it what its end leads to. */
export function pictureOfDefinition(definition: Definition, columns: number): PictureLine[] {
  const tasks = new Map(definition.tasks.map((task) => [task.name, task]))
  const sources = edgesInto(definition)
  return picture(definition, columns, (name) => {
    const task = tasks.get(name) as TaskDefinition
    const notes = taskNotes(task, sources.get(name)?.length ?? 0)
    return {
      sign: signOf(task),
      text: [[task.action, 'dim'], ...(notes.length > 0 ? [[`  ${notes.join(', ')}`] satisfies Segment] : [])],
      below: task.next.filter((transition) => !isPlain(transition)).map(transitionText),
    }
  })
}

/** It says no more than the lanes do. */
function isPlain({ when, publish, do: targets }: Transition): boolean {
  return when === null && Object.keys(publish).length === 0 && targets.length > 0
}

function signOf({ action }: TaskDefinition): readonly [string, Colour] {
  if (/^(wait\.|core\.(ask|sleep)$)/.test(action)) return ['◆', 'magenta']
  return action.startsWith('workflow.') ? ['■', 'blue'] : ['●', 'cyan']
}

function taskNotes({ join, items, retry, delayMs, timeoutMs }: TaskDefinition, edges: number): string[] {
  return [
    join === null ? '' : `join ${join === 'all' ? `all ${edges}` : `${join} of ${edges}`}`,
    join === null && edges > 1 ? `once for each of ${edges} edges` : '',
    items === null
      ? ''
      : `with items${items.concurrency === null ? '' : `, ${bare(String(items.concurrency))} at a time`}`,
    retry === null ? '' : `retry ${retry.count}`,
    delayMs === 0 ? '' : `delay ${durationText(delayMs)}`,
    timeoutMs === null ? '' : `timeout ${durationText(timeoutMs)}`,
  ].filter((note) => note !== '')
}

function transitionText({ when, publish, do: targets }: Transition): string {
  const vars = Object.keys(publish)
  const condition = when === null ? '' : `${bare(when)} `
  const published = vars.length === 0 ? '' : `, publish ${vars.join(', ')}`
  return printable(`${condition}→ ${targets.length === 0 ? 'continue' : targets.join(', ')}${published}`)
}

/** `{{ x }}` → `x` */
function bare(expression: string): string {
  return expression.trim().replace(/^\{\{\s*([^]*?)\s*\}\}$/, '$1')
}

/** A run: each task with what became of it the last time it was activated. */
export function pictureOfRun(
  definition: Definition,
  taskRuns: readonly TaskRunView[],
  now: Date,
  columns: number,
): PictureLine[] {
  const latest = new Map(taskRuns.map((each) => [each.task, each]))
  return picture(definition, columns, (name) => {
    const taskRun = latest.get(name)
    if (!taskRun) return { sign: unreachedSign, text: [], below: [] }
    const [, colour] = taskSigns[taskRun.state]
    const tookMs = (taskRun.endedAt ?? now).getTime() - taskRun.startedAt.getTime()
    const notes = [
      progressText(taskRun),
      taskRun.ordinal > 1 ? `#${taskRun.ordinal}` : '',
      taskRun.error?.message ?? '',
    ]
    const text: Segment[] = [
      [stateText(taskRun.state).padEnd(10), colour],
      [`${spanText(tookMs).padStart(7)}  `, 'dim'],
      [printable(notes.filter((note) => note !== '').join('  '))],
    ]
    return { sign: taskSigns[taskRun.state], text, below: [] }
  })
}

/** `37/50`, of a task with items. */
export function progressText({
  total,
  succeeded,
  failed,
}: Pick<TaskRunView, 'total' | 'succeeded' | 'failed'>): string {
  if (total === 1) return ''
  return `${succeeded + failed}/${total}${failed > 0 ? `, ${failed} failed` : ''}`
}

interface Described {
  readonly sign: readonly [sign: string, colour: Colour]
  readonly text: readonly Segment[]
  readonly below: readonly string[]
}

function picture(definition: Definition, columns: number, describe: (name: string) => Described): PictureLine[] {
  const rows = fittingRows(definition, columns)
  const lanesWidth = Math.max(...rows.map(({ lanes }) => lanes.length)) + 2
  const nameWidth = Math.max(...definition.tasks.map(({ name }) => name.length)) + 2
  const back = backEdges(definition)
  return rows.flatMap(({ lanes, at, task }, i): PictureLine[] => {
    if (task === null) return [{ task, segments: [[lanes, 'dim']] }]
    const { sign, text, below } = describe(task)
    const again = back.get(task) ?? []
    const segments: Segment[] = [
      [lanes.slice(0, at), 'dim'],
      sign,
      [lanes.slice(at + 1).padEnd(lanesWidth - at - 1), 'dim'],
      [task.padEnd(nameWidth)],
      ...text,
      ...(again.length > 0 ? [[`  ↺ ${again.join(', ')}`, 'dim'] satisfies Segment] : []),
    ]
    const under = lanesUnder(rows, i)
    const lines = below.map(
      (line): PictureLine => ({ task: null, segments: [[`${under.padEnd(lanesWidth)}  ${line}`, 'dim']] }),
    )
    return [{ task, segments }, ...lines]
  })
}

/** What goes on from a task, without its branches. */
function lanesUnder(rows: readonly LaneRow[], i: number): string {
  const { lanes, at } = rows[i] as LaneRow
  const next = rows[i + 1]
  const isConnected =
    next !== undefined && (next.task === null ? /[│├┤┼╰╯┴╵┬]/.test(next.lanes[at] ?? ' ') : next.at === at)
  return `${lanes.slice(0, at)}${isConnected ? '│' : ' '}${lanes.slice(at + 1)}`.trimEnd()
}

/** Where too many lanes run side by side, the tasks stand below each other, and the lanes are left out. */
function fittingRows(definition: Definition, columns: number): LaneRow[] {
  const rows = laneRows(definition)
  if (Math.max(...rows.map(({ lanes }) => lanes.length)) <= columns * lanesShareMax) return rows
  return rows.filter(({ task }) => task !== null).map(({ task }) => ({ lanes: '●', at: 0, task }))
}
