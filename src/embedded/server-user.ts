import { lchown, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { FencepostError } from '../errors.js'
import { runProgram } from './run-program.js'

export interface ServerUser {
  readonly uid: number
  readonly gid: number
}

const userName = 'postgres'

/**
 * Whom the server runs as: PostgreSQL refuses to run as root. An ordinary user runs it as himself (undefined: no
 * change). Root runs it as the owner of the data, so that `sudo` in somebody's project leaves his data his; and new data
 * as the user postgres, who is created when missing.
 */
export async function serverUser(data: string): Promise<ServerUser | undefined> {
  if (process.getuid?.() !== 0) return undefined
  const owner = await ownerOf(data)
  if (owner && owner.uid !== 0) return owner
  return (await lookUp()) ?? (await create())
}

/** Gives a directory and all within to the server's user, if it is not his already. */
export async function giveTo(user: ServerUser | undefined, directory: string): Promise<void> {
  if (!user || (await ownerOf(directory))?.uid === user.uid) return
  for (const entry of await readdir(directory, { recursive: true })) {
    await lchown(join(directory, entry), user.uid, user.gid)
  }
  // Last: a run that was killed half-way is recognised by it and repeated.
  await lchown(directory, user.uid, user.gid)
}

async function ownerOf(path: string): Promise<ServerUser | undefined> {
  try {
    const { uid, gid } = await stat(path)
    return { uid, gid }
  } catch {
    return undefined
  }
}

async function lookUp(): Promise<ServerUser | undefined> {
  const [uid, gid] = await Promise.all([runProgram('id', ['-u', userName]), runProgram('id', ['-g', userName])])
  if (uid.code !== 0 || gid.code !== 0) return undefined
  return { uid: Number(uid.stdout), gid: Number(gid.stdout) }
}

async function create(): Promise<ServerUser> {
  // shadow-utils first, then BusyBox.
  const recipes = [
    ['useradd', '--system', '--user-group', '--no-create-home', '--shell', '/usr/sbin/nologin', userName],
    ['adduser', '-S', '-D', '-H', userName],
  ] as const
  let trouble = ''
  // Another project may be creating the same user: useradd then fails on its lock file, so look again and repeat.
  for (let attempt = 0; attempt < 10; attempt++) {
    for (const [program, ...args] of recipes) {
      const result = await runProgram(program, args)
      const user = await lookUp()
      if (user) return user
      if (result.code !== 'ENOENT') trouble = result.stderr.trim()
    }
    await pause(100)
  }
  throw new FencepostError(
    'FP_EMBEDDED_UNAVAILABLE',
    `PostgreSQL does not run as root, and a user ${userName} could not be created. ${trouble}`,
    { hint: `Run as an ordinary user, create a user ${userName}, or set DATABASE_URL to a PostgreSQL 15 or newer.` },
  )
}
