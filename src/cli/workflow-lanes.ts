import { type Graph, startTasks, targetsOf } from '../workflow/graph.js'

/** A line of a drawn graph: its lanes as text, and the task that stands on it, if one does. */
export interface LaneRow {
  readonly lanes: string
  /** The position of its sign in `lanes`. */
  readonly at: number
  readonly task: string | null
}

const nodeMark = '●'

/**
 * A graph as lines of text, one for each task and one below it if it branches or leads into another's lane:
 *
 *     ●       build
 *     ├─┬─╮
 *     ● │ │   scan
 *     │ ● │   deploy
 *     ├─╯ │
 *     ●   │   validate
 *         ●   report
 *
 * Every task that is still to come has one lane, whoever leads to it. Edges that lead back are left out. Tasks that stand
 * directly below each other are connected.
 */
export function laneRows(graph: Graph): LaneRow[] {
  const forward = forwardEdges(graph)
  const lanes: (string | null)[] = []
  const rows: LaneRow[] = []
  for (const task of drawingOrder(graph, forward)) {
    const at = laneOf(task, lanes)
    const above = rows.at(-1)
    const isUnder = above?.task != null && above.at === at * 2 && !forward.get(above.task)?.includes(task)
    if (isUnder) rows.push({ lanes: cells(lanes, -1).trimEnd(), at: at * 2, task: null })
    lanes[at] = task
    rows.push({ lanes: cells(lanes, at), at: at * 2, task })
    lanes[at] = null
    const branches = branch(forward.get(task) ?? [], lanes, at)
    if (branches !== undefined) rows.push({ lanes: branches, at: at * 2, task: null })
    while (lanes.at(-1) === null) lanes.pop()
  }
  return rows
}

/** Without those that lead back to where a way through the graph has come from. */
function forwardEdges(graph: Graph): ReadonlyMap<string, readonly string[]> {
  const tasks = new Map(graph.tasks.map((task) => [task.name, targetsOf(task)]))
  const forward = new Map<string, string[]>()
  const around = new Set<string>()
  const walk = (name: string) => {
    forward.set(name, [])
    around.add(name)
    for (const target of tasks.get(name) ?? []) {
      if (around.has(target)) continue
      forward.get(name)?.push(target)
      if (!forward.has(target)) walk(target)
    }
    around.delete(name)
  }
  for (const name of [...startTasks(graph), ...tasks.keys()]) if (!forward.has(name)) walk(name)
  return forward
}

/** Back edges of a task: drawn as text. */
export function backEdges(graph: Graph): ReadonlyMap<string, readonly string[]> {
  const forward = forwardEdges(graph)
  return new Map(
    graph.tasks.map((task) => {
      const again = task.next.some((transition) => transition.do.includes('retry')) ? [task.name] : []
      const back = targetsOf(task).filter((target) => !forward.get(task.name)?.includes(target))
      return [task.name, [...new Set([...back, ...again])]]
    }),
  )
}

/** A task after all that lead to it, and as near to the last of them as can be. */
function drawingOrder({ tasks }: Graph, forward: ReadonlyMap<string, readonly string[]>): string[] {
  const missing = new Map(tasks.map(({ name }) => [name, 0]))
  for (const targets of forward.values())
    for (const target of targets) missing.set(target, (missing.get(target) ?? 0) + 1)
  const ready = tasks
    .map(({ name }) => name)
    .filter((name) => missing.get(name) === 0)
    .reverse()
  const order: string[] = []
  for (let name = ready.pop(); name !== undefined; name = ready.pop()) {
    order.push(name)
    for (const target of (forward.get(name) ?? []).toReversed()) {
      const left = (missing.get(target) ?? 0) - 1
      missing.set(target, left)
      if (left === 0) ready.push(target)
    }
  }
  return order
}

function laneOf(task: string, lanes: readonly (string | null)[]): number {
  const known = lanes.indexOf(task)
  if (known !== -1) return known
  const free = lanes.indexOf(null)
  return free === -1 ? lanes.length : free
}

function cells(lanes: readonly (string | null)[], at: number): string {
  return lanes.map((lane, i) => (i === at ? nodeMark : lane === null ? ' ' : '│')).join(' ')
}

/** Gives the targets their lanes, and draws the line that leads to them; undefined if it would go straight down. */
function branch(targets: readonly string[], lanes: (string | null)[], at: number): string | undefined {
  const before = [...lanes]
  const ends = targets.map((target) => {
    const lane = lanes.includes(target) ? lanes.indexOf(target) : lanes[at] === null ? at : laneOf(target, lanes)
    lanes[lane] = target
    return lane
  })
  if (ends.every((lane) => lane === at)) return undefined
  const [left, right] = [Math.min(at, ...ends), Math.max(at, ...ends)]
  let text = ''
  for (let i = 0; i < lanes.length; i++) {
    const isPassed = (before[i] ?? null) !== null
    if (i < left || i > right || (isPassed && !ends.includes(i))) text += isPassed ? '│' : ' '
    else {
      const isEnd = ends.includes(i)
      const [up, down] = [i === at || isPassed, isEnd]
      text += joint(up, down, i > left, i < right)
    }
    text += i >= left && i < right ? '─' : ' '
  }
  return text.trimEnd()
}

/** By what it connects to: up, down, left, right. */
function joint(up: boolean, down: boolean, left: boolean, right: boolean): string {
  const index = (up ? 8 : 0) + (down ? 4 : 0) + (left ? 2 : 0) + (right ? 1 : 0)
  return ' ╶╴─╷╭╮┬╵╰╯┴│├┤┼'.charAt(index)
}
