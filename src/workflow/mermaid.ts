import { durationText } from '../task/duration.js'
import { commands, type Definition, type TaskDefinition, type Transition } from './definition.js'
import { startTasks } from './graph.js'

/** More of a condition or a list would make the picture unreadable. */
const labelLengthMax = 40

/**
 * The graph of a workflow as a Mermaid flowchart: a box for each task (a double one works through items, a hexagon
 * joins), an edge for each transition with its condition. Tasks that wait for someone have round ends.
 */
export function mermaid(definition: Definition): string {
  const ids = new Map(definition.tasks.map(({ name }, i) => [name, `t${i}`]))
  const starts = startTasks(definition)
  const lines = [
    'flowchart TD',
    'start((start))',
    ...definition.tasks.map((task) => `${ids.get(task.name)}${box(task)}`),
    ...starts.map((name) => `start --> ${ids.get(name)}`),
  ]
  for (const task of definition.tasks) {
    task.next.forEach((transition, i) => {
      lines.push(...edges(ids.get(task.name) as string, i, transition, ids))
    })
  }
  return `${lines.join('\n    ')}\n`
}

function box(task: TaskDefinition): string {
  const label = `"${nodeLabel(task)}"`
  if (task.join !== null) return `{{${label}}}`
  if (task.items) return `[[${label}]]`
  return /^(wait\.|core\.ask$)/.test(task.action) ? `([${label}])` : `[${label}]`
}

function nodeLabel(task: TaskDefinition): string {
  const { items, retry } = task
  const notes = [
    task.name,
    task.action,
    task.join === null ? '' : `join: ${task.join}`,
    items ? itemsText(items) : '',
    retry ? `retry: ${retry.count}` : '',
    task.delayMs > 0 ? `delay: ${durationText(task.delayMs)}` : '',
    task.timeoutMs === null ? '' : `timeout: ${durationText(task.timeoutMs)}`,
  ]
  return notes
    .filter((note) => note !== '')
    .map(escaped)
    .join('<br/>')
}

function itemsText({ of, zipped, batchSize, concurrency }: NonNullable<TaskDefinition['items']>): string {
  const list = zipped ? Object.keys(of as object).join(', ') : listText(of)
  const batches = batchSize === null ? '' : `, ${batchSize} at a time`
  const limit =
    concurrency === null
      ? ''
      : `, ${typeof concurrency === 'string' ? shortened(concurrency) : concurrency} in parallel`
  return `items: ${list}${batches}${limit}`
}

function listText(of: unknown): string {
  return Array.isArray(of) ? `a list of ${of.length}` : shortened(String(of))
}

/** Commands have a node of their own for each transition, so that their edges do not cross the picture. */
function edges(source: string, index: number, transition: Transition, ids: ReadonlyMap<string, string>): string[] {
  const label = edgeLabel(transition)
  const arrow = label === '' ? '-->' : `-->|"${label}"|`
  const command = transition.do.length === 0 ? 'continue' : commands.find((each) => each === transition.do[0])
  if (command === 'retry') return [`${source} ${label === '' ? '-.->' : `-.->|"${label}"|`} ${source}`]
  if (command === undefined) return transition.do.map((name) => `${source} ${arrow} ${ids.get(name)}`)
  return [`${source} ${arrow} ${source}x${index}((${command}))`]
}

function edgeLabel({ when, publish, do: targets }: Transition): string {
  const vars = Object.keys(publish)
  const parts = [
    when === null ? '' : shortened(when),
    vars.length === 0 ? '' : shortened(`publish ${vars.join(', ')}`),
    targets[0] === 'retry' ? 'retry' : '',
  ]
  return parts
    .filter((part) => part !== '')
    .map(escaped)
    .join('<br/>')
}

/** An expression without its braces, on one line, cut if it is long. */
function shortened(text: string): string {
  const inner = /^\s*\{\{([^]*)\}\}\s*$/.exec(text)?.[1] ?? text
  const line = inner.replaceAll(/\s+/g, ' ').trim()
  return line.length > labelLengthMax ? `${line.slice(0, labelLengthMax - 1).toWellFormed()}…` : line
}

/** Mermaid’s own escapes: whatever it could take for markup becomes the number of its character. */
function escaped(text: string): string {
  return text.replaceAll(/[#&<>"`\\]|\p{C}/gu, (character) => `#${character.codePointAt(0)};`)
}
