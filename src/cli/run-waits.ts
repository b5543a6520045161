import type { RunDetail, TaskRunView } from '../store/runs.js'
import type { Parameter } from '../workflow/definition.js'
import { isRun } from '../workflow/built-in-actions.js'
import { momentText, spanText } from './moments.js'
import { exampleOptions } from './named-values.js'
import { printable } from './printable.js'
import type { RunReport } from './run-report.js'
import type { Segment } from './segments.js'
import { progressText } from './workflow-picture.js'
import { whyText } from './why-text.js'

/** What a task run waits for: a line for people, and what may be typed or looked at. */
interface WaitText {
  readonly task: string
  readonly what: string
  readonly more: readonly string[]
}

const shownMax = 20

/** What a run that has not ended does or waits for, now, and what one may do about it. */
export function waitLines(report: RunReport): Segment[][] {
  const texts = waitTexts(report)
  const width = Math.max(0, ...texts.map(({ task }) => task.length))
  return texts.flatMap(({ task, what, more }): Segment[][] => [
    [[task.padEnd(width), 'bold'], [width > 0 ? '  ' : ''], [printable(what)]],
    ...more.map((line): Segment[] => [[' '.repeat(width)], ['  '], [printable(line), 'dim']]),
  ])
}

function waitTexts(report: RunReport): WaitText[] {
  const { run, hasWorker } = report
  if (run.endedAt !== null) return []
  const active = run.taskRuns.filter(({ endedAt }) => endedAt === null)
  const texts = active.slice(0, shownMax).map((taskRun) => waitText(taskRun, report))
  if (active.length > shownMax) texts.push({ task: '…', what: `and ${active.length - shownMax} more`, more: [] })
  if (run.state === 'paused')
    texts.push({ task: '', what: `it is paused: fencepost workflow resume ${run.id}`, more: [] })
  else if (!hasWorker)
    texts.push({ task: '', what: 'no live worker is there, and one has to advance it: fencepost worker', more: [] })
  return texts
}

function waitText(taskRun: TaskRunView, report: RunReport): WaitText {
  const { run, subRuns } = report
  const { task, ordinal, action, state } = taskRun
  const limit = timerText(taskRun, run, 'timeout', ', times out')
  const name = ordinal > 1 ? `${task}#${ordinal}` : task
  const simple = (what: string, ...more: string[]): WaitText => ({ task: name, what: `${what}${limit}`, more })
  if (state === 'delayed') return simple(`begins${timerText(taskRun, run, 'delay', '')}`)
  if (isRun(action)) {
    const open = subRuns.filter((each) => each.task === task && each.ordinal === ordinal && each.endedAt === null)
    const [first] = open
    const progress = progressText(taskRun)
    if (!first) return simple(progress || 'its run begins')
    const does = `run ${first.id} is ${first.state}`
    const what = progress === '' ? does : `${progress}; item ${first.item}: ${does}`
    return simple(what, `fencepost workflow show ${first.id}`)
  }
  if (state !== 'waiting') return workText(taskRun, report, name)
  const input = (taskRun.input ?? {}) as Readonly<Record<string, string>>
  switch (action) {
    case 'wait.signal':
      return simple(
        `waits for the signal ${input['name']}`,
        `fencepost workflow signal ${run.id} ${shellWord(String(input['name']))}`,
      )
    case 'wait.run':
      return simple(`waits for the end of run ${input['run']}`, `fencepost workflow show ${input['run']}`)
    case 'wait.time':
    case 'core.sleep':
      return simple(`waits for a time, due${timerText(taskRun, run, 'due', '')}`)
    default:
      return questionText(taskRun, run, name)
  }
}

function workText(taskRun: TaskRunView, { openItems }: RunReport, task: string): WaitText {
  const open = openItems.get(`${taskRun.task}/${taskRun.ordinal}`)
  const progress = progressText(taskRun)
  if (!open) return { task, what: progress || 'runs', more: [] }
  const { why, item, jobId } = open
  const does =
    why.because === 'running' ? `runs for ${spanText(why.sinceMs)} on ${why.worker}` : (whyText(why) ?? 'has ended')
  const what = progress === '' ? does : `${progress}; item ${item} ${does.replace(/^it /, '')}`
  return { task, what, more: [`fencepost jobs show ${jobId}`] }
}

function questionText({ task, input, ...taskRun }: TaskRunView, run: RunDetail, name: string): WaitText {
  const { title, form } = (input ?? {}) as { title?: unknown; form?: Readonly<Record<string, Parameter>> | null }
  const fields = typeof form === 'object' && form !== null ? form : {}
  const example = exampleOptions(fields, '--field')
  const due = timerText({ task, ordinal: taskRun.ordinal }, run, 'due', ', expires')
  return {
    task: name,
    what: `asks: ${String(title)}${due}`,
    more: [
      ...Object.entries(fields).map(([field, declared]) => `  ${field}: ${fieldText(declared)}`),
      `fencepost workflow answer ${run.id} ${task}${example === '' ? '' : ` ${example}`}`,
    ],
  }
}

/** `boolean, required: Is it good?` */
function fieldText({ type, required, description }: Parameter): string {
  const notes = [type ?? 'anything', required ? 'required' : ''].filter((note) => note !== '').join(', ')
  return description === null ? notes : `${notes}: ${description}`
}

/** ` in 5m 3s, at 2030-…`, if there is such a timer. */
function timerText(
  { task, ordinal }: Pick<TaskRunView, 'task' | 'ordinal'>,
  run: RunDetail,
  kind: string,
  before: string,
): string {
  const timer = run.timers.find((each) => each.task === task && each.ordinal === ordinal && each.kind === kind)
  if (!timer) return ''
  const leftMs = timer.dueAt.getTime() - run.now.getTime()
  return leftMs <= 0 ? `${before} now` : `${before} in ${spanText(leftMs)}, at ${momentText(timer.dueAt)}`
}

function shellWord(text: string): string {
  return /^[\w./:@%+-]+$/.test(text) ? text : `'${printable(text).replaceAll("'", `'\\''`)}'`
}
