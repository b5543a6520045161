import { setTimeout as pause } from 'node:timers/promises'
import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { AnyTask, Enqueued, Fencepost } from '../client/fencepost.js'
import type { JobOptions } from '../client/new-job.js'
import { newJobId } from '../job/job-id.js'
import { task } from '../task/task.js'

/** A queue of its own: the demo never takes a job of a real task that has the same name. */
export const demoQueue = 'demo'

const sendMail = task('send-mail', {
  queue: demoQueue,
  input: fields({ to: 'string' }),
  async run({ to }, job) {
    await pause(700, undefined, { signal: job.signal })
    return { sent: to }
  },
})

const chargeCard = task('charge-card', {
  queue: demoQueue,
  input: fields({ order: 'string', cents: 'number' }),
  retry: { limit: 3, backoff: 'fixed', delay: '1500ms', jitter: 0 },
  async run({ order, cents }, job) {
    await pause(500, undefined, { signal: job.signal })
    if (job.failures === 0) throw new Error('the bank did not answer')
    return { order, charged: cents }
  },
})

const nightlyReport = task('nightly-report', {
  queue: demoQueue,
  input: fields({ night: 'number' }),
  async run({ night }, job) {
    await pause(900, undefined, { signal: job.signal })
    return { night, pages: 12 }
  },
})

const exportArchive = task('export-archive', {
  queue: demoQueue,
  input: fields({ customer: 'string' }),
  async run({ customer }, job) {
    await pause(20_000, undefined, { signal: job.signal })
    return { exported: customer }
  },
})

const callWebhook = task('call-webhook', {
  queue: demoQueue,
  input: fields({ url: 'string' }),
  retry: { limit: 2, backoff: 'fixed', delay: '1s', jitter: 0 },
  async run({ url }, job) {
    await pause(300, undefined, { signal: job.signal })
    throw new Error(`${url} answered 500`)
  },
})

export const demoTasks: readonly AnyTask[] = [
  sendMail,
  chargeCard,
  nightlyReport,
  exportArchive,
  callWebhook,
] as AnyTask[]

interface DemoStep {
  readonly delay?: '5s'
  readonly cancelAfterMs?: number
  readonly enqueue: (fp: Fencepost, round: number, options: JobOptions) => Promise<Enqueued<unknown>>
}

/** One round of the workload; between them the jobs see every place and most endings. */
const steps: readonly DemoStep[] = [
  { enqueue: (fp, round, options) => fp.enqueue(sendMail, { to: `ada+${round}@example.org` }, options) },
  { enqueue: (fp, round, options) => fp.enqueue(chargeCard, { order: `o-${round}`, cents: 500 }, options) },
  { enqueue: (fp, round, options) => fp.enqueue(callWebhook, { url: 'https://example.org/hook' }, options) },
  { delay: '5s', enqueue: (fp, round, options) => fp.enqueue(nightlyReport, { night: round }, options) },
  {
    cancelAfterMs: 2_000,
    enqueue: (fp, round, options) => fp.enqueue(exportArchive, { customer: `c-${round}` }, options),
  },
  { enqueue: (fp, round, options) => fp.enqueue(sendMail, { to: `grace+${round}@example.org` }, options) },
]

const stepMs = 900

export interface DemoListener {
  /** Just before a job is enqueued under this id. */
  willEnqueue(id: string, delayed: boolean): void
  failed(during: string, error: unknown): void
}

/** Enqueues the workload, round after round, until the signal. */
export async function runDemo(fp: Fencepost, listener: DemoListener, signal: AbortSignal): Promise<void> {
  const cancels = new Set<Promise<void>>()
  for (let n = 0; !signal.aborted; n++) {
    const { delay, cancelAfterMs, enqueue } = steps[n % steps.length] as DemoStep
    const id = newJobId()
    listener.willEnqueue(id, delay !== undefined)
    try {
      await enqueue(fp, Math.floor(n / steps.length) + 1, { id, ...(delay && { delay }) })
    } catch (error) {
      listener.failed('enqueueing', error)
    }
    if (cancelAfterMs !== undefined) cancels.add(cancelLater(fp, id, cancelAfterMs, listener, signal))
    await pauseUnless(signal, stepMs)
  }
  await Promise.all(cancels)
}

async function cancelLater(
  fp: Fencepost,
  id: string,
  ms: number,
  listener: DemoListener,
  signal: AbortSignal,
): Promise<void> {
  await pauseUnless(signal, ms)
  if (signal.aborted) return
  await fp.cancel(id, { reason: 'the customer changed their mind' }).catch((error: unknown) => {
    listener.failed('cancelling', error)
  })
}

async function pauseUnless(signal: AbortSignal, ms: number): Promise<void> {
  await pause(ms, undefined, { signal }).catch(() => {}) // aborted: no pause
}

type FieldTypes = Readonly<Record<string, 'string' | 'number'>>
type Fields<Types extends FieldTypes> = { [Name in keyof Types]: Types[Name] extends 'string' ? string : number }

/** A schema by hand: the demo must not make a validation library a dependency of everyone. */
function fields<const Types extends FieldTypes>(types: Types): StandardSchemaV1<Fields<Types>> {
  return {
    '~standard': {
      version: 1,
      vendor: 'fencepost-demo',
      validate(value) {
        const given = (value ?? {}) as Record<string, unknown>
        const wrong = Object.entries(types).filter(([name, type]) => typeof given[name] !== type)
        return wrong.length === 0
          ? { value: given as Fields<Types> }
          : { issues: wrong.map(([name, type]) => ({ path: [name], message: `expected a ${type}` })) }
      },
    },
  }
}
