import { type ChildProcess, fork } from 'node:child_process'
import { join } from 'node:path'
import { packageRoot } from '../package-root.js'
import { type DevNews, devLinkVariable } from './dev-link.js'

const program = join(packageRoot, 'bin', 'fencepost.js')

export const devGrace = '3s'
/** The grace, and time to give back and to close: a worker that takes longer hangs. */
const endWithinMs = 10_000

/** A `fencepost worker` of its own process: changed code needs a process that has never seen the old one. */
export class DevWorker {
  /** The exit code, or the signal that ended it. */
  readonly ended: Promise<number | NodeJS.Signals | null>
  readonly #child: ChildProcess
  /** Whatever ends this process, the worker ends with it. (After a SIGKILL it notices the closed channel.) */
  readonly #kill = () => void this.#child.kill('SIGKILL')

  constructor(args: readonly string[], onNews: (news: DevNews) => void) {
    // In a process group of its own: Ctrl-C is for us, and we tell the worker, once.
    this.#child = fork(program, ['worker', ...args], {
      env: { ...process.env, [devLinkVariable]: '1' },
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      detached: true,
    })
    process.on('exit', this.#kill)
    this.#child.on('message', (news) => onNews(news as DevNews))
    this.ended = new Promise((resolve, reject) => {
      this.#child.once('error', reject)
      this.#child.once('exit', (code, signal) => {
        process.off('exit', this.#kill)
        resolve(code ?? signal)
      })
    })
  }

  /** In good order, or by force if that takes too long. */
  async stop(): Promise<void> {
    this.#child.kill('SIGTERM')
    const timer = setTimeout(this.#kill, endWithinMs)
    await this.ended
    clearTimeout(timer)
  }
}
