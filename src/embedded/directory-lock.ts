import { randomBytes } from 'node:crypto'
import { link, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { FencepostError } from '../errors.js'
import { hasCode } from './failure-code.js'
import { isAlive, ownIdentity } from './process-identity.js'

const pollMs = 20
const waitMsMax = 180_000
const generationsKept = 16
const released = 'released'

/**
 * A lock between processes that survives the death of its holder, in a directory of numbered files:
 *
 *     17  released            highest number = the present generation
 *     18  4711-98765-ab12     its holder, alive: everybody else waits
 *     19                      made by whoever first sees 18 released or its holder dead
 *
 * A stale lock is never deleted or broken, it is succeeded. Were it deleted, two processes could both see the dead
 * holder, and the slower one would delete the fresh lock of the faster. Here both try to create 19, and link(2) lets one.
 */
export class DirectoryLock {
  readonly #directory: string
  readonly #pauseBefore: (step: 'wait' | 'claim', generation: number) => Promise<void>

  /** `pauseBefore` lets a test stand still between seeing a stale lock and succeeding it. */
  constructor(
    directory: string,
    options: { pauseBefore?: (step: 'wait' | 'claim', generation: number) => Promise<void> } = {},
  ) {
    this.#directory = directory
    this.#pauseBefore = options.pauseBefore ?? (() => Promise.resolve())
  }

  async hold<T>(work: () => Promise<T>): Promise<T> {
    await mkdir(this.#directory, { recursive: true })
    const claim = join(this.#directory, `claim-${ownIdentity()}.${randomBytes(6).toString('hex')}`)
    await writeFile(claim, ownIdentity())
    try {
      const generation = await this.#acquire(claim)
      try {
        return await work()
      } finally {
        await this.#release(generation, claim)
      }
    } finally {
      await rm(claim, { force: true })
    }
  }

  async #acquire(claim: string): Promise<number> {
    const deadline = Date.now() + waitMsMax
    for (;;) {
      const top = await this.#top()
      const holder = await this.#holder(top)
      if (holder !== undefined && isAlive(holder)) {
        if (Date.now() > deadline) throw this.#heldTooLong(holder)
        await this.#pauseBefore('wait', top)
        await pause(pollMs)
        continue
      }

      await this.#pauseBefore('claim', top + 1)
      // The claim is complete before it is linked: nobody ever reads a holder that is half written.
      if (!(await linked(claim, this.#path(top + 1)))) continue

      // Late: while this process paused, top + 1 may have come, gone and been swept by a much later generation.
      if ((await this.#top()) > top + 1) {
        await rm(this.#path(top + 1), { force: true })
        continue
      }
      await this.#sweep(top + 1)
      return top + 1
    }
  }

  async #release(generation: number, claim: string): Promise<void> {
    // The claim is a second name of the generation's file, so it must be a new file before it is written again.
    await rm(claim, { force: true })
    try {
      await writeFile(claim, released)
      await rename(claim, this.#path(generation))
    } catch (error) {
      // The whole directory was deleted under us: there is nothing left to release.
      if (!hasCode(error, 'ENOENT')) throw error
    }
  }

  async #top(): Promise<number> {
    const names = await readdir(this.#directory)
    return Math.max(0, ...names.filter((name) => /^\d+$/.test(name)).map(Number))
  }

  async #holder(generation: number): Promise<string | undefined> {
    try {
      return await readFile(this.#path(generation), 'utf8')
    } catch (error) {
      if (hasCode(error, 'ENOENT')) return undefined
      throw error
    }
  }

  /** Some old generations stay, so that a directory listing that runs during a sweep still sees a recent one. */
  async #sweep(present: number): Promise<void> {
    for (const name of await readdir(this.#directory)) {
      const claimant = /^claim-(.+)\.[0-9a-f]+$/.exec(name)?.[1]
      const old = /^\d+$/.test(name) && Number(name) <= present - generationsKept
      const abandoned = claimant !== undefined && !isAlive(claimant)
      if (old || abandoned) await rm(join(this.#directory, name), { force: true })
    }
  }

  #heldTooLong(holder: string): FencepostError {
    const pid = holder.split('-', 1)[0]
    return new FencepostError(
      'FP_EMBEDDED_FAILED',
      `process ${pid} has been starting or stopping the server for more than ${waitMsMax / 1000} s`,
      { hint: `Look at process ${pid}, or end it and try again. The lock is in ${this.#directory}` },
    )
  }

  #path(generation: number): string {
    return join(this.#directory, String(generation))
  }
}

async function linked(existing: string, path: string): Promise<boolean> {
  try {
    await link(existing, path)
    return true
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return false
    throw error
  }
}
