import type { Colour, Paint } from './colours.js'
import type { ScreenSize } from './dev-screen.js'
import { spanText } from './moments.js'
import type { RunReport } from './run-report.js'
import { runColours } from './run-states.js'
import { runTimeline } from './run-timeline.js'
import { waitLines } from './run-waits.js'
import { fitted, type Segment } from './segments.js'
import { type PictureLine, pictureOfRun } from './workflow-picture.js'

const waitRowsShare = 0.35
/** With fewer rows the timeline is left out: its titles and two tasks. */
const timelineRowsMin = 4

/** A run on a screen: its graph, what it waits for, and, if there is room, its timeline. */
export function drawWatchScreen(report: RunReport, size: ScreenSize, paint: Paint): string[] {
  const { run } = report
  const head = [fitted(headline(report), size.columns, paint), fitted(counts(report), size.columns, paint), '']
  const waits = waitLines(report)
    .slice(0, Math.floor(size.rows * waitRowsShare))
    .map((line) => fitted(line, size.columns, paint))
  const picture = pictureOfRun(run.definition, run.taskRuns, run.now, size.columns)
  const room = Math.max(1, size.rows - head.length - (waits.length > 0 ? waits.length + 1 : 0))
  const drawn = cropped(picture, room, run).map(({ segments }) => fitted(segments, size.columns, paint))
  const left = room - drawn.length - 1
  const timeline = left < timelineRowsMin ? [] : runTimeline(run, left - 2, size.columns, paint)
  const parts = [drawn, waits, timeline].filter((lines) => lines.length > 0)
  return [...head, ...parts.flatMap((lines, i) => (i === 0 ? lines : ['', ...lines]))].slice(0, size.rows)
}

function headline({ run }: RunReport): Segment[] {
  const took = spanText((run.endedAt ?? run.now).getTime() - run.createdAt.getTime())
  return [
    [`${run.workflow} v${run.version}`, 'bold'],
    [`  ${run.id}  `, 'dim'],
    [run.state, runColours[run.state]],
    [` ${took}`],
  ]
}

function counts({ run: { definition, taskRuns } }: RunReport): Segment[] {
  const latest = new Map(taskRuns.map((each) => [each.task, each]))
  const by = (...states: string[]) => [...latest.values()].filter(({ state }) => states.includes(state)).length
  const parts: [number, string, Colour][] = [
    [by('succeeded'), 'succeeded', 'green'],
    [by('failed', 'timed_out'), 'failed', 'red'],
    [by('cancelled'), 'cancelled', 'magenta'],
    [by('running'), 'running', 'cyan'],
    [by('waiting', 'delayed'), 'waiting', 'magenta'],
    [definition.tasks.length - latest.size, 'not begun', 'dim'],
  ]
  const shown = parts.filter(([count]) => count > 0)
  return [
    ...shown.flatMap(([count, word, colour]): Segment[] => [[`${word} `, colour], [`${count}  `]]),
    [' Ctrl-C leaves, the run goes on', 'dim'],
  ]
}

/** The lines around what is going on, if not all have room. */
function cropped(lines: readonly PictureLine[], room: number, { taskRuns }: RunReport['run']): readonly PictureLine[] {
  if (lines.length <= room) return lines
  const active = new Set(taskRuns.filter(({ endedAt }) => endedAt === null).map(({ task }) => task))
  const focus = lines.findIndex(({ task }) => task !== null && active.has(task))
  const last = lines.findLastIndex(({ task }) => taskRuns.some((each) => each.task === task))
  const wanted = (focus === -1 ? last : focus) - Math.floor(room / 3)
  const from = Math.max(0, Math.min(wanted, lines.length - room))
  const more = (count: number, where: string): PictureLine => ({
    task: null,
    segments: [[`⋮ ${count} more lines ${where}`, 'dim']],
  })
  return lines.slice(from, from + room).map((line, i) => {
    if (i === 0 && from > 0) return more(from + 1, 'above')
    return i === room - 1 && from + room < lines.length ? more(lines.length - from - room + 1, 'below') : line
  })
}
