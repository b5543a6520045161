/** What the figures are held against: ratios of one run, so that no machine's speed is in them. */
import type { Results } from './results.js'
import { median } from './stage.js'
import { postgresPeers } from './workloads.js'

export interface Goal {
  readonly name: string
  readonly value: number | undefined
  readonly goal: string
  readonly holds: boolean | undefined
}

const noop = 'no-op jobs, at its best'
const ten = 'no-op jobs, concurrency 10'
const bulk = 'enqueue in bulk'
const single = 'enqueue one by one, 20 callers'
const latency = 'latency at 100 jobs/s'
const gates = 'behind gates (1000 groups, limit 2)'
const together = 'enqueue and process together, 60 s'
const togetherGated = 'enqueue and process together behind one gate, 60 s'

export function goalsOf(results: Results): Goal[] {
  /** The one of several that did best. */
  const best = (workload: string, labels: readonly string[], figure = 'perSecond', most = true) =>
    labels
      .map((label) => ({ label, values: results.values(workload, label, figure) }))
      .filter(({ values }) => values.length > 0)
      .toSorted((a, b) => (most ? 1 : -1) * (median(b.values) - median(a.values)))[0]?.label
  const against = (
    workload: string,
    labels: readonly string[],
    { ours = 'fencepost', figure = 'perSecond', most = true } = {},
  ) => {
    const peer = best(workload, labels, figure, most)
    return peer === undefined ? undefined : results.ratio(workload, [ours, peer], figure)
  }
  /** Of two ways in which we do it. */
  const share = (workload: string, ours: string, to: string) => results.ratio(workload, [ours, to], 'perSecond')
  const own = (workload: string, label: string, figure: string) => {
    const values = results.values(workload, label, figure)
    return values.length === 0 ? undefined : median(values)
  }
  const atLeast = (name: string, value: number | undefined, least: number): Goal => ({
    name,
    value,
    goal: `≥ ${least}`,
    holds: value === undefined ? undefined : value >= least,
  })
  const atMost = (name: string, value: number | undefined, most: number): Goal => ({
    name,
    value,
    goal: `≤ ${most}`,
    holds: value === undefined ? undefined : value <= most,
  })
  const graphile = ['graphile-worker, local queue 1000', 'graphile-worker, local queue 2000']
  const fetches = ['pg-boss, fetch 500', 'pg-boss, fetch 2000']
  const tens = ['graphile-worker', 'graphile-worker, local queue 50', 'pg-boss', 'bullmq on PostgreSQL', 'DBOS']
  const overshoots = ['with gates, concurrency 100', 'with gates, concurrency 1000'].flatMap((label) =>
    results.values(gates, label, 'overshoot'),
  )
  const fiveMs = own('5 ms jobs, concurrency 100', 'fencepost', 'perSecond')
  const graphileBest = best(noop, graphile)
  return [
    atLeast('no-op jobs/s at its best, against graphile-worker', against(noop, graphile), 1.7),
    atLeast('… against BullMQ on Redis', against(noop, ['bullmq on Redis']), 4),
    atLeast('… against pg-boss, fetch and complete', against(noop, fetches), 1.7),
    atLeast('… against pg-boss, work', against(noop, ['pg-boss, work']), 20),
    atLeast('… at concurrency 10, against the best on PostgreSQL', against(ten, tens), 1.3),
    atLeast('… against the raw loop', share(noop, 'fencepost', 'raw loop'), 0.7),
    atLeast('bulk enqueue, against the best peer', against(bulk, [...postgresPeers, 'bullmq on Redis']), 1.6),
    atLeast('single enqueue from 20 callers, against the best on PostgreSQL', against(single, postgresPeers), 10),
    atLeast(
      '… each call a statement of its own',
      against(single, postgresPeers, { ours: 'fencepost, not coalesced' }),
      4,
    ),
    atLeast('enqueue and process for 60 s, last tenth against first', own(together, 'plain', 'lastToFirst'), 0.95),
    atLeast(
      '5 ms jobs at concurrency 100, share of the ideal',
      fiveMs === undefined ? undefined : fiveMs / 20_000,
      0.88,
    ),
    atMost(
      'latency p50, against the best on PostgreSQL',
      against(latency, postgresPeers, { figure: 'p50Ms', most: false }),
      0.9,
    ),
    atMost(
      'latency p99, against the best on PostgreSQL',
      against(latency, postgresPeers, { figure: 'p99Ms', most: false }),
      0.9,
    ),
    ...[100, 1_000].map((concurrency) =>
      atLeast(
        `gated, against ungated, at concurrency ${concurrency}`,
        share(gates, `with gates, concurrency ${concurrency}`, `without gates, concurrency ${concurrency}`),
        0.5,
      ),
    ),
    atMost('gated: overshoot', overshoots.length === 0 ? undefined : Math.max(...overshoots), 0),
    atLeast(
      'with a pinned xmin for 60 s, against without: plain',
      share(together, 'plain, a transaction held open', 'plain'),
      0.9,
    ),
    atLeast('… one gate', share(togetherGated, 'one gate, a transaction held open', 'one gate'), 0.8),
    atLeast(
      'from a backlog of 5 million, against one of 10 thousand that is topped up',
      share('from a backlog', '5 million', '10 thousand'),
      0.95,
    ),
    atMost(
      'WAL bytes per job, enqueued and done, against graphile-worker',
      graphileBest === undefined ? undefined : walRatio(results, graphileBest),
      1,
    ),
    ...[
      ['fencepost, Node 20', 'on Node 20'],
      ['fencepost, --max-semi-space-size=16', 'on the Node of the peers (24), started as the guide says'],
      ['fencepost', 'on that Node, started with nothing said'],
    ].map(([label, how]) =>
      atMost(
        `worker memory at concurrency 100, MB, ${how}`,
        own('worker memory, concurrency 100', label as string, 'workerMb'),
        120,
      ),
    ),
  ]
}

/** Of a whole life: put there and done. */
function walRatio(results: Results, graphile: string): number | undefined {
  const whole = (labels: readonly [string, string]) => {
    const [put, done] = [
      results.values(bulk, labels[0], 'walBytesPerJob'),
      results.values(noop, labels[1], 'walBytesPerJob'),
    ]
    return put.length === 0 || done.length === 0 ? undefined : median(put) + median(done)
  }
  const [ours, theirs] = [whole(['fencepost', 'fencepost']), whole(['graphile-worker', graphile])]
  return ours === undefined || theirs === undefined ? undefined : ours / theirs
}
