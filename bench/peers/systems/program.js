/**
 * One system under test in a process of its own: does what the parent says, one thing at a time, and tells how long it took
 * and what it cost this process. What differs between the systems is in the file that carries the system's name.
 */
import { timed } from '../timed.js'
import { addSteadily, LatencyRun } from './latency-run.js'
import { beginCounting, endCounting, watchConnectionsTo } from './wire-counter.js'
import { WorkerRun } from './worker-run.js'

const { system: name, guest, ...given } = JSON.parse(process.argv[2])
watchConnectionsTo(Number(new URL(given.url).port || 5432))
const system = await (await import(`./${name}.js`)).open(given)
let run

const acts = {
  clear: () => system.clear(),
  forget: () => system.forget(),
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
  /** Added at a steady rate while a worker runs, here; or the two sides of it, in two processes. */
  latency: async (options) => {
    const latencies = await LatencyRun.begin(system, options)
    await addSteadily(system, options)
    return latencies.end()
  },
  beginLatency: async (options) => {
    run = await LatencyRun.begin(system, options)
  },
  addSteadily: (options) => addSteadily(system, options),
  endLatency: () => run.end(),
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
