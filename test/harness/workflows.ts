import { expect, onTestFinished } from 'vitest'
import { z } from 'zod'
import { audit } from '../../src/audit/audit.js'
import { fencepost, task } from '../../src/index.js'
import type { Fencepost } from '../../src/client/fencepost.js'
import type { Json } from '../../src/job/json.js'
import { setup } from './setup.js'
import { workflowOf } from './workflow-of.js'

export { workflowOf }

/** A handler of the test's: it is told its input, and waits until the test lets it go on, if the test holds it. */
class Cues {
  readonly seen: Json[] = []
  readonly #held = new Map<string, () => void>()
  readonly #hold = new Set<string>()
  #onSeen: () => void = () => {}

  /** From now on, handlers whose input is this wait. */
  hold(...inputs: Json[]): void {
    for (const input of inputs) this.#hold.add(JSON.stringify(input))
  }

  release(...inputs: Json[]): void {
    for (const input of inputs) {
      this.#hold.delete(JSON.stringify(input))
      this.#held.get(JSON.stringify(input))?.()
    }
  }

  async pass(input: Json, signal: AbortSignal): Promise<void> {
    this.seen.push(input)
    this.#onSeen()
    const key = JSON.stringify(input)
    if (!this.#hold.has(key)) return
    await new Promise<void>((resolve, reject) => {
      this.#held.set(key, resolve)
      signal.addEventListener('abort', () => reject(new Error('aborted')))
    })
  }

  /** When so many handlers have begun. */
  async saw(count: number): Promise<void> {
    while (this.seen.length < count) {
      await new Promise<void>((resolve) => {
        this.#onSeen = resolve
      })
    }
  }
}

/** A database with workers that know three tasks: `echo` gives its input back, `fail` throws, `flaky` succeeds at last. */
export async function setupRuns({ workers = 1, concurrency = 10 } = {}) {
  const { url, sql, db, connect, advance } = await setup()
  const fp = await fencepost({ database: url, migrate: false })
  onTestFinished(() => fp.close())
  const cues = new Cues()
  const troubles: unknown[] = []
  fp.on('error', ({ error }) => troubles.push(error))
  const tasks = [
    task('echo', {
      input: z.any(),
      run: async (input: Json, job) => {
        await cues.pass(input, job.signal)
        return input
      },
    }),
    task('fail', {
      input: z.any(),
      retry: { limit: 0 },
      run: async (input: Json, job) => {
        await cues.pass(input, job.signal)
        throw Object.assign(new Error('no luck'), { code: 'NoLuck' })
      },
    }),
    task('flaky', {
      input: z.object({ failures: z.number(), code: z.string().optional() }),
      retry: { limit: 0 },
      run: ({ failures, code }, job) => {
        if (job.failures < failures)
          throw Object.assign(new Error(`failure ${job.failures + 1}`), { code: code ?? 'Flaky' })
        return job.failures
      },
    }),
  ]
  const audited = async (id: string) => {
    const run = await ended(fp, id)
    const { findings } = await audit(db)
    expect(findings.filter(({ severity }) => severity === 'violation')).toEqual([])
    return run
  }
  const work = () => fp.work(tasks, { poll: '50ms', concurrency })
  for (let n = 0; n < workers; n++) await work()
  return {
    url,
    fp,
    db,
    sql,
    connect,
    advanceClock: advance,
    cues,
    troubles,
    tasks,
    work,
    start: (text: string, parameters: Record<string, unknown> = {}, options: { id?: string } = {}) =>
      fp.workflows.start(workflowOf(text, tasks), parameters, options),
    /** Starts a run and waits for its end, whatever it is. */
    run: async (text: string, parameters: Record<string, unknown> = {}) => {
      const { id } = await fp.workflows.start(workflowOf(text, tasks), parameters)
      return audited(id)
    },
    ended: audited,
  }
}

export interface EndedRun {
  readonly id: string
  readonly state: string
  readonly output: Json
  readonly vars: Readonly<Record<string, Json>>
  readonly message: string | undefined
  readonly code: string | undefined
  /** Each task run: `task#ordinal state`, by task and ordinal. */
  readonly path: readonly string[]
}

async function ended(fp: Fencepost, id: string): Promise<EndedRun> {
  await fp.result(id, { timeout: '20s' }).catch((error: unknown) => {
    if ((error as { code?: string }).code !== 'FP_JOB_NOT_SUCCEEDED') throw error
  })
  const run = await fp.workflows.run(id)
  return {
    id,
    state: run.state,
    output: run.output,
    vars: run.vars,
    message: run.error?.message,
    code: run.error?.code,
    path: run.taskRuns.map(({ task: name, ordinal, state }) => `${name}#${ordinal} ${state}`).sort(),
  }
}
