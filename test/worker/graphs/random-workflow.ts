import type { Json } from '../../../src/job/json.js'

/** Numbers from a seed: the same ones each time. */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** What a handler is told to do: fail so often, then give `value`. */
export interface Behaviour {
  readonly value: number
  readonly failures: number
}

/** A workflow as YAML would have it. Its tasks call the task `graph` with a Behaviour as input, or a workflow. */
export interface RandomWorkflow {
  readonly name: string
  readonly tasks: readonly RandomTask[]
  readonly output: Json
}

export interface RandomTask {
  readonly name: string
  readonly action: string
  readonly input?: Json
  readonly with_items?: readonly Behaviour[]
  readonly concurrency?: number
  readonly on_item_failure?: 'fail' | 'continue'
  readonly join?: 'all' | number
  readonly retry?: { readonly count: number; readonly delay: string; readonly backoff: 'fixed' }
  readonly next: readonly RandomTransition[]
}

interface RandomTransition {
  readonly when?: string
  readonly do: readonly string[]
}

export const conditions = {
  succeeded: '{{ succeeded() }}',
  failed: '{{ failed() }}',
  always: undefined,
} as const

/**
 * Branches, joins, cycles, items, retries and sub-workflows. Edges lead to later tasks, or round one task a few times; what
 * a task comes to depends on its input alone, so that the order in which things happen must not matter.
 */
export function randomWorkflow(seed: number, child: string | undefined): RandomWorkflow {
  const random = randomFrom(seed)
  const below = (n: number) => Math.floor(random() * n)
  const pick = <Value>(values: readonly Value[]) => values[below(values.length)] as Value
  const count = 3 + below(7)
  const names = Array.from({ length: count }, (_, n) => `t${n}`)
  const inbound = new Map(names.map((name) => [name, new Set<string>()]))
  const tasks = names.map((name, n): RandomTask => {
    const retry =
      random() < 0.4
        ? { count: 1 + below(2), delay: '1ms', backoff: 'fixed' as const }
        : { count: 0, delay: '1ms', backoff: 'fixed' as const }
    const behaviour = (): Behaviour => ({ value: below(100), failures: random() < 0.3 ? below(4) : 0 })
    const next: RandomTransition[] = []
    const transitions = n === count - 1 ? 0 : below(3)
    for (let i = 0; i < transitions; i++) {
      const targets = [...new Set(Array.from({ length: 1 + below(2) }, () => pick(names.slice(n + 1))))]
      for (const target of targets) inbound.get(target)?.add(name)
      const when = conditions[pick(['succeeded', 'always', 'failed', 'succeeded'] as const)]
      next.push({ ...(when && { when }), do: targets })
    }
    if (random() < 0.15) {
      next.push({ when: `{{ tasks.${name}.ordinal < ${2 + below(2)} }}`, do: [name] })
      inbound.get(name)?.add(name)
    }
    // Most failures are dealt with: what runs beside one that is not depends on the time.
    if (random() < 0.85) next.push({ when: conditions.failed, do: ['noop'] })
    const kind = random()
    if (child !== undefined && kind < 0.15) return { name, action: `workflow.${child}`, input: { n: below(4) }, next }
    if (kind < 0.3) return { name, action: 'core.echo', input: below(100), next }
    if (kind < 0.6) {
      const items = Array.from({ length: below(5) }, behaviour)
      const concurrency = random() < 0.5 ? { concurrency: 1 + below(3) } : {}
      return {
        name,
        action: 'graph',
        with_items: items,
        input: '{{ item }}',
        on_item_failure: pick(['fail', 'continue']),
        ...concurrency,
        retry,
        next,
      }
    }
    return { name, action: 'graph', input: { ...behaviour() }, retry, next }
  })
  const joined = tasks.map((task): RandomTask => {
    const edges = [...(inbound.get(task.name) as Set<string>)]
    if (edges.length < 2 || edges.includes(task.name) || random() < 0.3) return task
    return { ...task, join: random() < 0.6 ? 'all' : 1 + below(edges.length) }
  })
  // A task that only leads to itself is none that a run could begin with.
  const reachable = joined.map((task) => {
    const sources = inbound.get(task.name) as Set<string>
    if (sources.size !== 1 || !sources.has(task.name)) return task
    return { ...task, next: task.next.filter((transition) => !transition.do.includes(task.name)) }
  })
  // Of a list of which one item failed, some others may not have begun: its results are nobody's to tell.
  const output = Object.fromEntries(
    names.map((name) => [
      name,
      `{{ has(tasks.${name}) ? [tasks.${name}.status, tasks.${name}.status == 'succeeded' ? tasks.${name}.result : null] : [] }}`,
    ]),
  )
  return { name: `graph-${seed}`, tasks: reachable, output }
}

/** What the random ones start as sub-workflows: its one task fails for an odd number. */
export const child = {
  name: 'child',
  parameters: { n: 'integer' },
  tasks: [
    {
      name: 'only',
      action: 'core.echo',
      input: '{{ parameters.n }}',
      next: [{ when: '{{ result() == 1 || result() == 3 }}', do: ['fail'] }],
    },
  ],
  output: '{{ parameters.n * 10 }}',
}
export const childComesTo = (input: Json) => {
  const { n } = input as { n: number }
  return { state: n % 2 === 1 ? ('failed' as const) : ('succeeded' as const), output: n * 10 }
}
