import { randomBytes } from 'node:crypto'
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isAlive, ownIdentity } from './process-identity.js'

/**
 * Who uses the server: an empty file per member, named `<process identity>.<random>`, so that one process may be a
 * member twice. A process that ended without leaving is recognised by its identity. Call these under the lock.
 */
export class Members {
  readonly #directory: string

  constructor(directory: string) {
    this.#directory = directory
  }

  async enter(): Promise<string> {
    // Processes that never leave, only end, must not pile up.
    await this.countAlive()
    const member = `${ownIdentity()}.${randomBytes(6).toString('hex')}`
    await writeFile(join(this.#directory, member), '')
    return member
  }

  async leave(member: string): Promise<void> {
    await rm(join(this.#directory, member), { force: true })
  }

  /** Forgets the dead on the way. */
  async countAlive(): Promise<number> {
    await mkdir(this.#directory, { recursive: true })
    let alive = 0
    for (const member of await readdir(this.#directory)) {
      if (isAlive(member.slice(0, member.lastIndexOf('.')))) alive++
      else await this.leave(member)
    }
    return alive
  }
}
