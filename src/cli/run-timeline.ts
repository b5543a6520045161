import type { RunDetail, TaskRunView } from '../store/runs.js'
import type { Paint } from './colours.js'
import { spanText } from './moments.js'
import { taskSigns } from './run-states.js'
import { type Column, tableLines } from './table.js'
import { progressText } from './workflow-picture.js'

const barWidthMin = 10
const barWidthMax = 60

/** When each task run began and ended, with bars to scale; the newest `rowsMax` of them. */
export function runTimeline(run: RunDetail, rowsMax: number, columns: number, paint: Paint): string[] {
  const shown = run.taskRuns.slice(-rowsMax)
  if (shown.length === 0) return []
  const texts = textColumns(run)
  const room = columns - Math.max(...tableLines(texts, shown).map((line) => line.length)) - 4
  const width = Math.min(barWidthMax, Math.floor(room))
  const bar = width < barWidthMin ? [] : [barColumn(run, width)]
  const earlier = run.taskRuns.length - shown.length
  const lines = tableLines([...texts, ...bar], shown, { paint, width: columns })
  return earlier > 0 ? [...lines, `And ${earlier} earlier; --json shows all.`] : lines
}

function textColumns({ createdAt, now, taskRuns }: RunDetail): Column<TaskRunView>[] {
  const repeated = new Set(taskRuns.filter(({ ordinal }) => ordinal > 1).map(({ task }) => task))
  const named = (task: string, ordinal: number | null) => (repeated.has(task) ? `${task}#${ordinal}` : task)
  const columns: Column<TaskRunView>[] = [
    { title: ' ', text: ({ state }) => taskSigns[state][0], colour: ({ state }) => taskSigns[state][1] },
    { title: 'TASK', text: ({ task, ordinal }) => named(task, ordinal) },
    { title: 'VIA', text: ({ via, viaOrdinal }) => (via === null ? '' : named(via, viaOrdinal)) },
    {
      title: 'BEGAN',
      text: ({ startedAt }) => `+${spanText(startedAt.getTime() - createdAt.getTime())}`,
      align: 'right',
    },
    { title: 'TOOK', text: ({ startedAt, endedAt }) => tookText(startedAt, endedAt, now), align: 'right' },
  ]
  const items: Column<TaskRunView> = { title: 'ITEMS', text: progressText, align: 'right' }
  return taskRuns.some((each) => progressText(each) !== '') ? [...columns, items] : columns
}

/** With a `…` if it goes on. */
function tookText(startedAt: Date, endedAt: Date | null, now: Date): string {
  return `${spanText((endedAt ?? now).getTime() - startedAt.getTime())}${endedAt ? '' : '…'}`
}

function barColumn({ createdAt, endedAt, now }: RunDetail, width: number): Column<TaskRunView> {
  const startMs = createdAt.getTime()
  const spanMs = Math.max(1, (endedAt ?? now).getTime() - startMs)
  const position = (at: Date) => Math.round(((at.getTime() - startMs) / spanMs) * width)
  return {
    title: `0 to ${spanText(spanMs)}`,
    text: ({ startedAt, endedAt: end, action }) => {
      const from = Math.min(position(startedAt), width - 1)
      const to = Math.min(Math.max(position(end ?? now), from + 1), width)
      // What waits holds no worker.
      const mark = /^(wait\.|core\.(ask|sleep)$)/.test(action) ? '░' : '█'
      return ' '.repeat(from) + mark.repeat(to - from)
    },
    colour: ({ state }) => taskSigns[state][1],
  }
}
