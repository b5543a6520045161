import { type ChildProcess, fork } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { onTestFinished } from 'vitest'
import { compiledProgram } from '../../harness/compiled.js'
import type { Cue, Told, WorkerProcessOptions } from './worker-process.js'

const program = compiledProgram('worker/processes/worker-process')
const waitMsMax = 90_000

export interface Exit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

/** A worker in a process of its own, as the test sees it. */
export class WorkerProcess {
  /** Everything it said, in order. */
  readonly told: Told[] = []
  readonly exited: Promise<Exit>
  readonly #process: ChildProcess
  readonly #ear = new EventEmitter()
  #exit: Exit | undefined

  private constructor(child: ChildProcess) {
    this.#process = child
    child.on('message', (told: Told) => {
      this.told.push(told)
      this.#ear.emit('heard')
    })
    // Its last words come before `close`, not before `exit`.
    this.exited = once(child, 'close').then(([code, signal]) => {
      this.#exit = { code, signal }
      this.#ear.emit('heard')
      return this.#exit
    })
  }

  /** Returns when it works. */
  static async spawn(options: WorkerProcessOptions): Promise<WorkerProcess> {
    const child = fork(program, [JSON.stringify(options)], {
      execArgv: [],
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
    const worker = new WorkerProcess(child)
    // Works on one that is stopped, too.
    onTestFinished(() => worker.kill())
    await worker.hears('ready')
    return worker
  }

  get pid(): number {
    return this.#process.pid as number
  }

  signal(signal: NodeJS.Signals): void {
    this.#process.kill(signal)
  }

  async kill(): Promise<void> {
    this.signal('SIGKILL')
    await this.exited
  }

  /** SIGTERM, and its last word. */
  async terminate(): Promise<{ exit: Exit; report: unknown }> {
    this.signal('SIGTERM')
    const exit = await this.exited
    return { exit, report: this.said('stopped')[0]?.report }
  }

  /** Lets the handler of a job go on that waits to be let. */
  open(...jobIds: string[]): void {
    for (const jobId of jobIds) this.#process.send({ open: jobId } satisfies Cue)
  }

  /** What it has said so far, of these jobs if any are given. */
  said(what: string, ...jobIds: string[]): Told[] {
    return this.told.filter(
      ({ said, jobId }) => said === what && (jobIds.length === 0 || jobIds.includes(jobId as string)),
    )
  }

  /** Returns when it has said this of each of these jobs, or at all if none are given. */
  async hears(what: string, ...jobIds: string[]): Promise<void> {
    const missing = () => (jobIds.length === 0 ? [''] : jobIds).filter((id) => !this.said(what, ...(id ? [id] : []))[0])
    const signal = AbortSignal.timeout(waitMsMax)
    while (missing().length > 0) {
      if (this.#exit || signal.aborted) {
        const state = this.#exit ? `ended with ${this.#exit.code ?? this.#exit.signal}` : `waits for ${waitMsMax} ms`
        throw new Error(
          `worker ${this.pid} has not said "${what}" of ${missing().join(', ') || 'itself'}, and ${state}`,
        )
      }
      await once(this.#ear, 'heard', { signal }).catch(() => {})
    }
  }
}
