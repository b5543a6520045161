import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { packageRoot } from '../../src/package-root.js'
import { compiledProgram } from '../harness/compiled.js'
import type { MemberAnswer, MemberOptions } from './member-process.js'

const program = compiledProgram('embedded/member-process')

/** A real process of its own that is a member of the embedded server. */
export class Member {
  readonly #process: ChildProcess
  readonly #lines: AsyncIterator<string>

  private constructor(child: ChildProcess, lines: AsyncIterator<string>) {
    this.#process = child
    this.#lines = lines
  }

  /** Returns when the process is loaded, so that several can be told to join at the same instant. */
  static async spawn(options: MemberOptions, user: { uid?: number; gid?: number } = {}): Promise<Member> {
    const child = spawn(process.execPath, [program, JSON.stringify(options)], {
      cwd: packageRoot,
      stdio: ['pipe', 'pipe', 'inherit'],
      ...user,
    })
    const member = new Member(child, createInterface({ input: child.stdout })[Symbol.asyncIterator]())
    await member.#line()
    return member
  }

  async join(): Promise<{ url: string; port: number }> {
    const { url, port, failure } = await this.#ask('join')
    if (url === undefined || port === undefined) throw new Error(`${failure?.code}: ${failure?.message}`)
    return { url, port }
  }

  async leave(): Promise<void> {
    const { failure } = await this.#ask('leave')
    if (failure) throw new Error(`${failure.code}: ${failure.message}`)
  }

  async kill(): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return
    this.#process.kill('SIGKILL')
    await once(this.#process, 'exit')
  }

  async #ask(command: string): Promise<MemberAnswer> {
    this.#process.stdin?.write(`${command}\n`)
    return JSON.parse(await this.#line())
  }

  async #line(): Promise<string> {
    const { value, done } = await this.#lines.next()
    if (done) throw new Error('The member process ended')
    return value
  }
}
