/** A system under test, in a process of its own: what it is asked, and what that took. */
import { type ChildProcess, fork } from 'node:child_process'
import { join } from 'node:path'

export const peers = join(import.meta.dirname, 'peers')
/** Some of the peers need a newer Node than the product; so that all have the same, all run on this one. */
export const node24 = join(peers, 'node_modules', '.bin', 'node')

/** What runs a system: the Node of all, with its usual settings, if nothing is said. */
export interface Node {
  readonly path?: string
  readonly flags?: readonly string[]
}

export interface Told {
  readonly seconds: number
  readonly cpuSeconds: number
}

/** What a worker tells of itself at its end; moments are in milliseconds, and comparable between processes. */
export interface WorkerTold extends Told {
  readonly done: number
  readonly begunAt: number
  readonly endedAt: number
  readonly rssMb: number
  readonly overshoot: number
}

export class System {
  readonly name: string
  readonly versions: Readonly<Record<string, string>>
  readonly settings: string
  readonly #child: ChildProcess

  private constructor(
    name: string,
    child: ChildProcess,
    about: { versions: Record<string, string>; settings: string },
  ) {
    this.name = name
    this.#child = child
    this.versions = about.versions
    this.settings = about.settings
  }

  static async start(
    name: string,
    given: { readonly system: string } & Record<string, unknown>,
    { path = node24, flags = [] }: Node = {},
  ): Promise<System> {
    const child = fork(join(peers, 'systems', 'program.js'), [JSON.stringify(given)], {
      execPath: path,
      execArgv: [...flags],
    })
    return new System(name, child, await answer(child))
  }

  do<Found = unknown>(act: string, options: Record<string, unknown> = {}): Promise<Told & Found> {
    if (!this.isAlive) return Promise.reject(new Error(`${this.name} has ended`))
    this.#child.send({ act, ...options })
    return answer(this.#child)
  }

  get isAlive(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null && !this.#child.killed
  }

  /** Whatever it is doing. */
  kill(): void {
    this.#child.kill('SIGKILL')
  }

  end(): Promise<unknown> {
    if (!this.isAlive) return Promise.resolve()
    return new Promise((resolve) => {
      this.#child.once('exit', resolve)
      this.#child.disconnect()
    })
  }
}

export function answer<Message>(child: ChildProcess): Promise<Message> {
  return new Promise((resolve, reject) => {
    const onExit = (code: number | null, signal: string | null) => {
      child.off('message', onMessage)
      reject(new Error(`it ended with ${code ?? signal} before it told anything`))
    }
    const onMessage = (message: Message & { error?: string }) => {
      child.off('exit', onExit)
      if (message.error === undefined) resolve(message)
      else reject(new Error(message.error))
    }
    child.once('exit', onExit)
    child.once('message', onMessage)
  })
}
