import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { Events } from '../../src/events.js'
import { collectMetrics } from '../../src/observe/metrics.js'
import { type MetricsOptions, serveMetrics } from '../../src/observe/metrics-server.js'
import type { QueueView } from '../../src/store/read.js'
import { double, hopeless, setupClient } from '../client/setup.js'

type Observed = Parameters<typeof collectMetrics>[0]

async function serve(fp: Observed, options: MetricsOptions = { port: 0 }) {
  const server = await serveMetrics(fp, options)
  onTestFinished(() => server.close())
  return server
}

/** The lines of our own metrics, by their name and labels. */
async function scrape(url: string): Promise<Record<string, number>> {
  const text = await (await fetch(url)).text()
  const lines = text.split('\n').filter((line) => line.startsWith('fencepost_'))
  return Object.fromEntries(lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.split(' ').at(-1))]))
}

it('counts what happens to jobs, by task and queue, and where they are', async () => {
  const { fp } = await setupClient()
  const { url } = await serve(fp)
  await fp.enqueueMany(double, [
    { input: { n: 1 }, delay: '1h' },
    { input: { n: 2 }, queue: 'elsewhere' },
    { input: { n: 3 }, queue: 'gated', gate: { key: 'k' } },
    { input: { n: 4 }, queue: 'gated', gate: { key: 'k' } },
  ])
  await fp.work([double, hopeless], { poll: '10ms' })
  await (await fp.enqueue(double, { n: 2 })).result()
  await expect((await fp.enqueue(hopeless, null)).result()).rejects.toThrow('no hope')

  expect(await scrape(url)).toMatchObject({
    'fencepost_jobs_enqueued_total{task="double",queue="default"}': 2,
    'fencepost_jobs_finished_total{task="double",queue="default"}': 1,
    'fencepost_attempts_failed_total{task="hopeless",queue="default",final="true"}': 1,
    'fencepost_attempt_duration_seconds_count{task="double",queue="default",ending="succeeded"}': 1,
    'fencepost_attempt_duration_seconds_bucket{le="+Inf",task="hopeless",queue="default",ending="failed"}': 1,
    fencepost_jobs_running: 0,
    fencepost_errors_total: 0,
    'fencepost_jobs{queue="default",place="delayed"}': 1,
    'fencepost_jobs{queue="elsewhere",place="ready"}': 1,
    'fencepost_jobs{queue="gated",place="ready"}': 1,
    'fencepost_jobs{queue="gated",place="waiting"}': 1,
    'fencepost_oldest_ready_seconds{queue="default"}': 0,
    'fencepost_oldest_ready_seconds{queue="elsewhere"}': expect.any(Number) as number,
    fencepost_database_up: 1,
  })
})

/** Events by hand, and queues that are told. */
function stub(queues: () => Promise<QueueView[]> = () => Promise.resolve([])): Observed & { events: Events } {
  const events = new Events()
  return { events, on: (name, listener) => events.on(name, listener), queues }
}

it('counts losses, releases, late words and double successes', async () => {
  const fp = stub()
  const { url } = await serve(fp)
  const { events } = fp
  const [jobId, task, queue, leaseId] = ['j', 't', 'mail', 1]
  events.emit('claimed', { jobId, task, queue, worker: 'w', attempt: 1 })
  expect(await scrape(url)).toMatchObject({ fencepost_jobs_running: 1 })
  events.emit('stale', { jobId, task, queue, leaseId, said: 'succeeded', outcome: 'succeeded' })
  events.emit('duplicate_success', { jobId, leaseId })
  events.emit('released', { jobId, task, reason: 'shutdown' })
  events.emit('lost', { jobId, task, queue, leaseId, worker: 'w', started: true, outcome: null })
  events.emit('error', { during: 'maintenance', error: new Error('away') })

  expect(await scrape(url)).toMatchObject({
    'fencepost_attempts_claimed_total{task="t",queue="mail"}': 1,
    'fencepost_attempts_stale_total{task="t",queue="mail",said="succeeded"}': 1,
    'fencepost_duplicate_successes_total{task="t",queue="mail"}': 1,
    'fencepost_attempts_released_total{task="t",queue="mail",reason="shutdown"}': 1,
    'fencepost_attempts_lost_total{task="t",queue="mail",started="true",final="false"}': 1,
    fencepost_errors_total: 1,
    fencepost_jobs_running: 0,
  })
})

it('asks the database once for several scrapes, and answers without it', async () => {
  let asked = 0
  const { url } = await serve(stub(() => Promise.reject(new Error(`away ${++asked}`))))
  const [first, second] = await Promise.all([scrape(url), scrape(url)])
  expect(asked).toBe(1)
  expect(first).toMatchObject({ fencepost_database_up: 0, fencepost_jobs_running: 0 })
  expect(second).toEqual(first)
  expect(Object.keys(first).filter((name) => name.startsWith('fencepost_jobs{'))).toEqual([])
})

it('tells that it is alive whatever the database does, and knows no other page', async () => {
  const server = await serve(stub(() => new Promise(() => {})))
  const page = async (path: string) => {
    const answer = await fetch(new URL(path, server.url))
    return [answer.status, await answer.text()]
  }
  expect(await page('/healthz')).toEqual([200, 'ok\n'])
  expect(await page('/')).toEqual([404, 'There are /metrics and /healthz.\n'])
})

it('also counts what the process itself does', async () => {
  const { url } = await serve(stub())
  expect(await (await fetch(url)).text()).toMatch(/^nodejs_eventloop_lag_seconds /m)
})

it('stops counting when it is closed, and closes although a scraper keeps its connection', async () => {
  const fp = stub()
  const server = await serve(fp)
  await scrape(server.url)
  await server.close()
  fp.events.emit('error', { during: 'maintenance', error: new Error('away') })
  expect(await server.registry.getSingleMetricAsString('fencepost_errors_total')).toContain('fencepost_errors_total 0')
  await expect(fetch(server.url)).rejects.toThrow('fetch failed')
})

it('says that a port is taken, and what to do', async () => {
  const other = createServer().listen(0, '127.0.0.1')
  onTestFinished(() => void other.close())
  await new Promise((resolve) => other.once('listening', resolve))
  const { port } = other.address() as AddressInfo
  await expect(serve(stub(), { port })).rejects.toMatchObject({
    code: 'FP_METRICS_UNAVAILABLE',
    message: expect.stringContaining(`EADDRINUSE`) as string,
  })
})

it('has a registry that can be merged with one’s own', async () => {
  const metrics = await collectMetrics(stub())
  onTestFinished(() => metrics.stop())
  expect(await metrics.registry.metrics()).toContain('# HELP fencepost_jobs_running')
})
