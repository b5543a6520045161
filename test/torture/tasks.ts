import { setTimeout as pause } from 'node:timers/promises'
import { z } from 'zod'
import { type AnyTask, type JobContext, readWorkflowText, task } from '../../src/index.js'
import { leaseMs } from './faults.js'
import type { Journal } from './journal.js'
import {
  doomedFailuresMax,
  gateLimits,
  hasEffect,
  type Kind,
  kinds,
  numberOf,
  queueOf,
  slowMsMin,
  type Spec,
} from './work.js'

/** As much of a job's specification as its handler needs. */
export interface Input extends Pick<Spec, 'failures' | 'workMs' | 'gates'> {
  /** Its number, if its id does not tell it. */
  readonly n?: number
}

interface ItemInput {
  readonly r: number
  readonly part: string
  readonly item: number
}

/** What handlers tell, and whom they call. */
export interface Surroundings {
  readonly journal: Journal
  readonly providerUrl: string
  /** A handler that takes long has begun, or ended. */
  readonly onSlow: (change: 1 | -1) => void
}

/** Budgets that no disturbance uses up: a job may only end as failed because its handler says no. */
const patience = { losses: 10_000, lease: leaseMs, timeout: '60s' } as const
const retry = (limit: number) => ({ limit, backoff: 'fixed', delay: 30, jitter: 0 }) as const

/** The tasks, as producers know them. */
export function makeTask(kind: Kind, run: (input: Input, job: JobContext) => unknown = () => {}) {
  return task(kind, {
    input: z.custom<Input>(),
    queue: queueOf(kind),
    // Whatever the backlog is: those who stop a process want one with a handler at work.
    priority: kind === 'slow' ? -10 : 0,
    ...patience,
    retry: retry(kind === 'doomed' ? doomedFailuresMax : 10_000),
    run,
  })
}

function itemTask(run: (input: ItemInput, job: JobContext) => unknown = () => {}) {
  return task('item', { input: z.custom<ItemInput>(), ...patience, retry: retry(10_000), run })
}

/** The gates of a job, as options of its enqueue. */
export function gateOptions(keys: readonly string[]) {
  return keys.map((stored) => {
    const [kind, key] = stored.split(':') as [string, string]
    return kind === 'fifo' ? { key, strict: true } : { key, limit: gateLimits[stored] as number }
  })
}

export function workerTasks({ journal, providerUrl, onSlow }: Surroundings): AnyTask[] {
  const commit = (n: number, job: JobContext) =>
    job.commit(async (tx) => {
      await tx.query('insert into effect (n, attempt) values ($1, $2)', [n, job.attempt])
      return job.attempt
    })
  const note = async (input: Input, job: JobContext) => {
    if (input.workMs > 0) await pause(input.workMs)
    const n = numberIn(input, job)
    // Before the commit, which frees its gates: what is told of a holder must not be later than the truth.
    journal.write('left', n, job.attempt)
    return commit(n, job)
  }
  const slow = async (input: Input, job: JobContext) => {
    onSlow(1)
    try {
      return await note(input, job)
    } finally {
      onSlow(-1)
    }
  }
  const failing = async (input: Input, job: JobContext) => {
    if (job.failures < input.failures) throw new Error(`failure ${job.failures + 1} of ${input.failures}`)
    return note(input, job)
  }
  const handlers: Readonly<Record<Kind, (input: Input, job: JobContext) => unknown>> = {
    plain: () => null,
    note,
    slow,
    delayed: note,
    gated: note,
    paired: note,
    victim: note,
    carried: (input, job) => (input.workMs < slowMsMin ? note : slow)(input, job),
    copied: (input, job) => (hasEffect({ kind: 'copied', n: numberIn(input, job) }) ? note(input, job) : null),
    flaky: failing,
    strict: failing,
    doomed: () => {
      throw new Error('it always fails')
    },
    charge: async (input, job) => {
      const n = numberOf(job.id)
      const charge = await job.step('charge', async ({ key, signal }) => {
        const body = JSON.stringify({ n, attempt: job.attempt })
        const answer = await fetch(providerUrl, { method: 'POST', headers: { 'idempotency-key': key }, body, signal })
        return ((await answer.json()) as { charge: number }).charge
      })
      journal.write('step', n, job.attempt, charge)
      return note(input, job)
    },
  }
  return [
    ...kinds.map((kind) =>
      makeTask(kind, (input, job) => told(journal, numberIn(input, job), job, () => handlers[kind](input, job))),
    ),
    itemTask(({ r, part, item }, job) => {
      journal.write('item', r, `${part}/${item}`, job.id, job.attempt)
      return job.commit(async (tx) => {
        await tx.query('insert into item_effect (r, part, job_id) values ($1, $2, $3)', [r, `${part}/${item}`, job.id])
        return item
      })
    }),
  ] as AnyTask[]
}

function numberIn({ n }: Input, { id }: JobContext): number {
  return n ?? numberOf(id)
}

/** A handler's life, told from outside: it started, was told to stop, ended, and how. */
async function told(journal: Journal, n: number, job: JobContext, run: () => unknown): Promise<unknown> {
  journal.write('start', n, job.attempt)
  if (job.task !== 'plain') {
    job.signal.addEventListener('abort', () => {
      const { message } = job.signal.reason as Error
      journal.write('abort', n, job.attempt, /timed out|timeout/.test(message) ? 'timeout' : 'other')
    })
  }
  try {
    const result = await run()
    journal.write('end', n, job.attempt, 'ok')
    return result
  } catch (error) {
    journal.write('end', n, job.attempt, (error as { code?: string }).code ?? 'error')
    throw error
  }
}

/** A list, two branches, and a join of both. */
const fanText = `
name: fan
parameters: { r: { type: integer, required: true }, items: { type: array, required: true } }
tasks:
  - name: each
    action: item
    with_items: "{{ parameters.items }}"
    input: { r: "{{ parameters.r }}", part: each, item: "{{ item }}" }
    next: [{ do: [left, right] }]
  - { name: left, action: item, input: { r: "{{ parameters.r }}", part: left, item: 0 }, next: [{ do: after }] }
  - { name: right, action: item, input: { r: "{{ parameters.r }}", part: right, item: 0 }, next: [{ do: after }] }
  - { name: after, join: all, action: item, input: { r: "{{ parameters.r }}", part: after, item: 0 } }
`

export function fan() {
  const read = readWorkflowText(fanText, 'fan.yaml')
  if (!('definition' in read)) throw new Error(read.text)
  return { definition: read.definition, tasks: [itemTask()], workflows: [] }
}
