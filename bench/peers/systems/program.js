/**
 * One system under test in a process of its own: does what the parent says, one thing at a time, and tells how long it took
 * and what it cost this process. What differs between the systems is in the file that carries the system's name.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { timed } from '../timed.js'
import { beginCounting, endCounting, watchConnectionsTo } from './wire-counter.js'
import { WorkerRun } from './worker-run.js'

const { system: name, guest, ...given } = JSON.parse(process.argv[2])
watchConnectionsTo(Number(new URL(given.url).port || 5432))
const system = await (await import(`./${name}.js`)).open(given)
let run

const acts = {
  clear: () => system.clear(),
  fill: ({ jobs, ...kind }) => system.fill(jobs, kind),
  /** One by one, each caller as fast as it is answered. */
  add: async ({ jobs, callers, by = 'add' }) => {
    await timed(callers, async (n) => (n < jobs ? system[by](n).then(() => 1) : 0))
  },
  left: async () => ({ left: await system.left() }),
  /** A worker, until it is told to finish; how far it is can be asked meanwhile. */
  begin: async (options) => {
    run = await WorkerRun.begin(system, options)
  },
  count: () => run.count(),
  finish: () => run.finish(),
  /** Added at a steady rate while a worker runs: from the call that adds to the handler. */
  latency: (options) => latencies(options),
  /** From here to there, what this process says to PostgreSQL is counted. */
  beginCounting,
  endCounting,
}

process.on('message', ({ act, ...options }) => {
  measured(() => acts[act](options)).then(
    (told) => process.send(told),
    (error) => process.send({ error: error.stack ?? String(error) }),
  )
})
process.once('disconnect', () => void end().finally(() => process.exit()))
process.send({ versions: { node: process.version, ...system.versions }, settings: system.settings })

async function end() {
  // The tables belong to the first process of a system.
  if (!guest) await system.drop().catch(() => {})
  await system.close()
}

async function measured(act) {
  const cpu = process.cpuUsage()
  const at = performance.now()
  const found = await act()
  const seconds = (performance.now() - at) / 1_000
  const { user, system: kernel } = process.cpuUsage(cpu)
  return { seconds, cpuSeconds: (user + kernel) / 1e6, ...found }
}

/** Those of the first `warmUpSeconds` are not counted. */
async function latencies({ perSecond, seconds, warmUpSeconds, concurrency }) {
  const tookMs = []
  const unmeasured = Math.round(perSecond * warmUpSeconds)
  const jobs = Math.round(perSecond * seconds)
  let ended
  const all = new Promise((resolve) => (ended = resolve))
  const worker = await system.work({ concurrency }, async ({ n, at }) => {
    if (n < unmeasured) return
    tookMs.push(performance.now() - at)
    if (tookMs.length === jobs) ended()
  })
  await pause(2_000) // it has found out that there is nothing to do
  const begunAt = performance.now()
  const adding = []
  for (let n = 0; n < unmeasured + jobs; n++) {
    const waitMs = begunAt + (n * 1_000) / perSecond - performance.now()
    if (waitMs > 0) await pause(waitMs)
    adding.push(system.add(n, { n, at: performance.now() }))
  }
  await Promise.all(adding)
  await all
  await worker.stop()
  const sorted = tookMs.sort((a, b) => a - b)
  return { p50: sorted[Math.floor(jobs / 2)], p99: sorted[Math.floor(jobs * 0.99)] }
}
