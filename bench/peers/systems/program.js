/**
 * One system under test in a process of its own: does what the parent says, one thing at a time, and tells how long it took
 * and what it cost this process. What differs between the systems is in the file that carries the system's name.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { timed } from '../timed.js'

const { system: name, ...given } = JSON.parse(process.argv[2])
const system = await (await import(`./${name}.js`)).open(given)

const acts = {
  clear: () => system.clear(),
  fill: ({ jobs }) => system.fill(jobs),
  /** One by one, each caller as fast as it is answered. */
  add: ({ jobs, callers }) => timed(callers, async (n) => (n < jobs ? system.add(n).then(() => 1) : 0)),
  /** What is there, until it is done. */
  process: ({ jobs, ...options }) => processed(jobs, options),
  /** Added at a steady rate while a worker runs: from the call that adds to the handler. */
  latency: ({ perSecond, seconds, concurrency }) => latencies(perSecond, seconds, concurrency),
  /** Added in bulk while a worker runs, as much as is done; how many ended in each tenth of the time. */
  steady: ({ seconds, concurrency }) => steady(seconds, concurrency),
}

process.on('message', ({ act, ...options }) => {
  measured(() => acts[act](options)).then(
    (told) => process.send(told),
    (error) => process.send({ error: error.stack ?? String(error) }),
  )
})
process.once('disconnect', () => void system.close().finally(() => process.exit()))
process.send({ versions: { node: process.version, ...system.versions }, settings: system.settings })

async function measured(act) {
  const cpu = process.cpuUsage()
  const at = performance.now()
  const found = await act()
  const seconds = (performance.now() - at) / 1_000
  const { user, system: kernel } = process.cpuUsage(cpu)
  return { seconds, cpuSeconds: (user + kernel) / 1e6, rssMb: process.memoryUsage.rss() / 2 ** 20, ...found }
}

/** From before the worker starts to the end of the last handler; then it is checked that all were acknowledged. */
async function processed(jobs, { handlerMs = 0, ...options }) {
  let [done, rssMb] = [0, 0]
  let ended
  const all = new Promise((resolve) => (ended = resolve))
  const over = overshoot()
  const at = performance.now()
  const cpu = process.cpuUsage()
  const worker = await system.work(options, async (data) => {
    const leave = over.enter(data)
    if (handlerMs > 0) await pause(handlerMs)
    leave()
    if (++done % 1_000 === 0) rssMb = Math.max(rssMb, process.memoryUsage.rss() / 2 ** 20)
    if (done === jobs) ended()
  })
  await all
  const seconds = (performance.now() - at) / 1_000
  const { user, system: kernel } = process.cpuUsage(cpu)
  await worker.stop()
  const left = await system.left()
  if (options.alone !== false && left > 0) throw new Error(`${name}: ${left} jobs are left`)
  return { seconds, cpuSeconds: (user + kernel) / 1e6, rssMb, ran: done, overshoot: over.most() }
}

/** By how many the handlers of a group at the same time were ever more than its limit: as they see it themselves. */
function overshoot() {
  const running = new Map()
  let most = 0
  return {
    enter(data) {
      if (data?.limit === undefined) return () => {}
      const now = (running.get(data.group) ?? 0) + 1
      running.set(data.group, now)
      most = Math.max(most, now - data.limit)
      return () => running.set(data.group, running.get(data.group) - 1)
    },
    most: () => most,
  }
}

async function latencies(perSecond, seconds, concurrency) {
  const tookMs = []
  const jobs = perSecond * seconds
  let ended
  const all = new Promise((resolve) => (ended = resolve))
  const worker = await system.work({ concurrency }, async ({ at }) => {
    if (at === undefined) return
    tookMs.push(performance.now() - at)
    if (tookMs.length === jobs) ended()
  })
  await pause(2_000) // it has found out that there is nothing to do
  const begunAt = performance.now()
  const adding = []
  for (let n = 0; n < jobs; n++) {
    const waitMs = begunAt + (n * 1_000) / perSecond - performance.now()
    if (waitMs > 0) await pause(waitMs)
    adding.push(system.add(n, { at: performance.now() }))
  }
  await Promise.all(adding)
  await all
  await worker.stop()
  const sorted = tookMs.sort((a, b) => a - b)
  return { p50: sorted[Math.floor(jobs / 2)], p99: sorted[Math.floor(jobs * 0.99)] }
}

async function steady(seconds, concurrency) {
  const backlog = 20_000
  const tenths = Array.from({ length: 10 }, () => 0)
  let [added, done] = [0, 0]
  await system.fill(backlog)
  added += backlog
  const begunAt = performance.now()
  const now = () => (performance.now() - begunAt) / 1_000
  const worker = await system.work({ concurrency }, async () => {
    done++
    const tenth = Math.floor((now() / seconds) * 10)
    if (tenth < 10) tenths[tenth]++
  })
  while (now() < seconds) {
    if (added - done < backlog) {
      await system.fill(2_000)
      added += 2_000
    } else await pause(5)
  }
  await worker.stop()
  await system.clear()
  return { tenths }
}
