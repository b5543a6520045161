import type * as prometheus from 'prom-client'
import type { Fencepost } from '../client/fencepost.js'
import type { QueueView } from '../store/read.js'
import { RunningJobs } from './running-jobs.js'

type Observed = Pick<Fencepost, 'on' | 'queues'>
/** Loaded when it is asked for: most processes that import this package count nothing. */
type Prometheus = typeof prometheus

export interface Metrics {
  /** Of its own: merge it with yours (`Registry.merge`), or serve it with `serveMetrics`. */
  readonly registry: prometheus.Registry
  stop(): void
}

/** Counting the queues reads every live job: several scrapers must not make it several times the work. */
const queuesKeptMs = 5_000
/** A scrape has an answer soon, whether or not the database has one. */
const queuesWaitMs = 2_000

/** From a cache hit to a long export, in seconds. */
const durationBuckets = [0.005, 0.025, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900]

/** Counts what this process does, from its events; asks the database for the queues when it is scraped. */
export async function collectMetrics(fp: Observed): Promise<Metrics> {
  const loaded = await import('prom-client')
  const registry = new loaded.Registry()
  const running = new RunningJobs(fp)
  const stops = [...countEvents(loaded, fp, registry, running), () => running.stop()]
  readQueues(loaded, fp, registry)
  return {
    registry,
    stop() {
      for (const stop of stops) stop()
    },
  }
}

function countEvents(
  { Counter, Gauge, Histogram }: Prometheus,
  fp: Observed,
  registry: prometheus.Registry,
  running: RunningJobs,
): (() => void)[] {
  const registers = [registry]
  const counter = <Label extends string>(name: string, help: string, labelNames: Label[]) =>
    new Counter({ name: `fencepost_${name}_total`, help, labelNames, registers })
  const job = ['task', 'queue'] as const
  const enqueued = counter('jobs_enqueued', 'Jobs stored by this process.', [...job])
  const claimed = counter('attempts_claimed', 'Leases that a worker of this process got.', [...job])
  const finished = counter('jobs_finished', 'Jobs that ended as succeeded here.', [...job])
  const failed = counter('attempts_failed', 'Failures; final if the job ended with it.', [...job, 'final'])
  const released = counter('attempts_released', 'Jobs given back at no charge.', [...job, 'reason'])
  const parked = counter('attempts_parked', 'Handlers that wait for a signal or a time.', [...job])
  const stale = counter('attempts_stale', 'Words of attempts that had lost their lease; kept, without effect.', [
    ...job,
    'said',
  ])
  const twice = counter('duplicate_successes', 'Jobs for which two attempts reported success.', [...job])
  const lost = counter('attempts_lost', 'Leases of any worker that this process found run out.', [
    ...job,
    'started',
    'final',
  ])
  const runs = counter('runs_ended', 'Runs of workflows that ended by an advance of this process.', [
    'workflow',
    'state',
  ])
  const errors = counter('errors', 'Troubles in the background: the database away, a listener that threw.', [])
  const duration = new Histogram({
    name: 'fencepost_attempt_duration_seconds',
    help: 'From the claim of a job to the end of the attempt.',
    labelNames: [...job, 'ending'],
    buckets: durationBuckets,
    registers,
  })
  const inHand = new Gauge({
    name: 'fencepost_jobs_running',
    help: 'Jobs that a worker of this process has claimed and that have not ended.',
    registers: [],
    collect() {
      this.set(running.count)
    },
  })
  registry.registerMetric(inHand)

  const labels = (jobId: string, task?: string) => {
    const attempt = running.of(jobId)
    return { task: task ?? attempt?.task ?? '', queue: attempt?.queue ?? '' }
  }
  const took = (jobId: string, ending: string) => {
    const attempt = running.of(jobId)
    if (!attempt) return
    duration.observe({ ...labels(jobId), ending }, (performance.now() - attempt.claimedAtMs) / 1_000)
  }
  return [
    fp.on('enqueued', ({ task, queue }) => enqueued.inc({ task, queue })),
    fp.on('claimed', ({ task, queue }) => claimed.inc({ task, queue })),
    fp.on('finished', ({ jobId, task }) => {
      finished.inc(labels(jobId, task))
      took(jobId, 'succeeded')
    }),
    fp.on('failed', ({ jobId, task, outcome }) => {
      failed.inc({ ...labels(jobId, task), final: String(outcome !== null) })
      took(jobId, 'failed')
    }),
    fp.on('released', ({ jobId, task, reason }) => {
      released.inc({ ...labels(jobId, task), reason })
      took(jobId, 'released')
    }),
    fp.on('parked', ({ jobId, task }) => {
      parked.inc(labels(jobId, task))
      took(jobId, 'parked')
    }),
    fp.on('cancelled', ({ jobId }) => took(jobId, 'cancelled')),
    fp.on('stale', ({ task, queue, said }) => stale.inc({ task, queue, said })),
    fp.on('duplicate_success', ({ jobId }) => twice.inc(labels(jobId))),
    fp.on('lost', ({ task, queue, started, outcome }) =>
      lost.inc({ task, queue, started: String(started), final: String(outcome !== null) }),
    ),
    fp.on('advanced', ({ workflow, state }) => {
      if (state === 'succeeded' || state === 'failed' || state === 'cancelled') runs.inc({ workflow, state })
    }),
    fp.on('error', () => errors.inc()),
  ]
}

function readQueues({ Gauge }: Prometheus, fp: Observed, registry: prometheus.Registry): void {
  const recent = new RecentQueues(() => fp.queues())
  const jobs = new Gauge({
    name: 'fencepost_jobs',
    help: 'Jobs in each place of each queue, in the whole schema.',
    labelNames: ['queue', 'place'],
    registers: [],
    async collect() {
      this.reset() // a queue that has gone must not keep its last figure, nor one that could not be read
      for (const { queue, waiting, ready, delayed, leased, parked } of (await recent.read()) ?? []) {
        for (const [place, count] of Object.entries({ waiting, ready, delayed, leased, parked })) {
          this.set({ queue, place }, count)
        }
      }
    },
  })
  const oldestReady = new Gauge({
    name: 'fencepost_oldest_ready_seconds',
    help: 'Age of the oldest job that is ready; 0 if none is.',
    labelNames: ['queue'],
    registers: [],
    async collect() {
      this.reset()
      for (const { queue, oldestReadyMs } of (await recent.read()) ?? [])
        this.set({ queue }, (oldestReadyMs ?? 0) / 1_000)
    },
  })
  const up = new Gauge({
    name: 'fencepost_database_up',
    help: 'Whether the database answered the last scrape.',
    registers: [],
    async collect() {
      this.set((await recent.read()) ? 1 : 0)
    },
  })
  for (const gauge of [jobs, oldestReady, up]) registry.registerMetric(gauge)
}

/** The queues as they were a moment ago; undefined if the database does not answer. */
class RecentQueues {
  readonly #read: () => Promise<QueueView[]>
  #reading: Promise<QueueView[] | undefined> | undefined
  #readAtMs = Number.NEGATIVE_INFINITY

  constructor(read: () => Promise<QueueView[]>) {
    this.#read = read
  }

  read(): Promise<QueueView[] | undefined> {
    if (!this.#reading || performance.now() - this.#readAtMs > queuesKeptMs) {
      this.#readAtMs = performance.now()
      this.#reading = withinMs(this.#read(), queuesWaitMs)
    }
    return this.#reading
  }
}

async function withinMs<Value>(work: Promise<Value>, ms: number): Promise<Value | undefined> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, ms, undefined)
  })
  try {
    return await Promise.race([work, late])
  } catch {
    return undefined // fencepost_database_up tells it; the error itself is in the worker’s log
  } finally {
    clearTimeout(timer)
  }
}
