import { randomBytes } from 'node:crypto'
import { chown, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { FencepostError } from '../errors.js'
import { isPresent } from './file-presence.js'
import { ownIdentity } from './process-identity.js'
import type { ServerUser } from './server-user.js'

/** A file, because arguments are visible to everybody on the machine. It is the server user's, so that initdb can read it. */
export async function makePassword(directory: string, user: ServerUser | undefined): Promise<string> {
  const path = join(directory, 'password')
  if (await isPresent(path)) return path
  const next = `${path}.${ownIdentity()}`
  await rm(next, { force: true })
  await writeFile(next, `${randomBytes(24).toString('hex')}\n`, { mode: 0o600, flag: 'wx' })
  if (user) await chown(next, user.uid, user.gid)
  await rename(next, path)
  return path
}

export async function readPassword(directory: string): Promise<string> {
  const path = join(directory, 'password')
  try {
    return (await readFile(path, 'utf8')).trim()
  } catch (error) {
    throw new FencepostError('FP_EMBEDDED_FAILED', `its password cannot be read from ${path}`, {
      cause: error,
      hint: 'The database was made by another user, or the file was deleted.',
    })
  }
}
