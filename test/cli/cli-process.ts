import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { expect, onTestFinished } from 'vitest'
import { packageRoot } from '../../src/package-root.js'

const bin = join(packageRoot, 'bin', 'fencepost.js')

export interface CliOptions {
  /** Becomes DATABASE_URL. */
  readonly url?: string
  readonly input?: string | Buffer
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
  /** Another program that runs it, such as one that makes a terminal. */
  readonly through?: (node: string, args: readonly string[]) => [program: string, ...args: string[]]
}

export interface CliResult {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** The command line as a process of its own, with an environment of its own. */
export class CliProcess {
  readonly ended: Promise<CliResult>
  readonly #child
  #stdout = ''
  #stderr = ''
  #onOutput: () => void = () => {}

  constructor(args: readonly string[], options: CliOptions = {}) {
    const [program, ...rest] = options.through?.(process.execPath, [bin, ...args]) ?? [process.execPath, bin, ...args]
    const env = { PATH: process.env['PATH'], HOME: process.env['HOME'], TERM: 'xterm', ...options.env }
    const child = spawn(program, rest, {
      cwd: options.cwd ?? packageRoot,
      env: options.url === undefined ? env : { ...env, DATABASE_URL: options.url },
    })
    this.#child = child
    onTestFinished(() => void child.kill('SIGKILL'))
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      this.#stdout += text
      this.#onOutput()
    })
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr += text
    })
    child.stdin.on('error', () => {}) // a command that refuses its input does not read it to the end
    if (options.input !== undefined) child.stdin.end(options.input)
    this.ended = new Promise((resolve, reject) => {
      child.once('error', reject)
      child.once('close', (code) => {
        this.#onOutput()
        resolve({ code, stdout: this.#stdout, stderr: this.#stderr })
      })
    })
  }

  get stdout(): string {
    return this.#stdout
  }

  /** Waits until all of these have been written to stdout. */
  async sees(...patterns: readonly RegExp[]): Promise<void> {
    let over = false
    void this.ended.then(() => (over = true))
    for (;;) {
      const missing = patterns.filter((pattern) => !pattern.test(this.#stdout))
      if (missing.length === 0) return
      if (over) throw new Error(`ended without ${missing.join(' and ')}:\n${this.#stdout}\n${this.#stderr}`)
      await new Promise<void>((resolve) => {
        this.#onOutput = resolve
        void this.ended.then(() => resolve())
      })
    }
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name)
  }

  type(text: string): void {
    this.#child.stdin.write(text)
  }

  /** Stops reading, as `head` does. */
  hangUp(): void {
    this.#child.stdout.destroy()
  }
}

/** Runs a command to its end. */
export function cli(args: readonly string[], options: CliOptions = {}): Promise<CliResult> {
  return new CliProcess(args, { input: '', ...options }).ended
}

/** Runs a command that must succeed, and reads its answer. */
export async function cliJson<Answer>(args: readonly string[], options: CliOptions = {}): Promise<Answer> {
  const { code, stdout, stderr } = await cli([...args, '--json'], options)
  if (code !== 0) throw new Error(`fencepost ${args.join(' ')} ended with ${code}: ${stderr}`)
  return JSON.parse(stdout) as Answer
}

/** What an error looks like: one line with the code, one with the hint, nothing on stdout, no stack. */
export function refused(code: string, message: string, exit = 1) {
  const pattern = message.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
  const stderr = new RegExp(`^fencepost: .*${pattern}.* \\(${code}\\)\\n.+\\n$`)
  return { code: exit, stdout: '', stderr: expect.stringMatching(stderr) as string }
}
