import { createHash, randomBytes } from 'node:crypto'
import { chmod, chown, mkdir, readFile, realpath, rename, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { isPresent } from './file-presence.js'
import { runProgram } from './run-program.js'
import { serverUser } from './server-user.js'

export interface ServerHome {
  /** The cluster, its lock and its members. */
  readonly home: string
  /** Where copies of the programs go, if they are needed. */
  readonly copies: string
}

const pointerName = 'server-home'

/**
 * Settles where the server of a project keeps its data: in the project's directory. Only if we are root and the server's
 * user cannot work there (a project in /root, say) is it a directory of the system. That choice is written down and
 * stands: a later `chmod` of the project must not make it look for its data elsewhere.
 */
export async function settleServerHome(directory: string, systemDirectory: string): Promise<ServerHome> {
  await makeDirectory(resolve(directory))
  const project = await realpath(directory)
  await writeOnce(join(project, '.gitignore'), '*\n')

  const local = { home: join(project, 'server'), copies: join(project, 'programs') }
  const pointer = await readPointer(project)
  const away = { home: pointer ?? join(systemDirectory, digest(project)), copies: join(systemDirectory, 'programs') }
  const stays = (await isPresent(join(local.home, 'data'))) || (!pointer && (await serverCanWorkIn(project)))
  const chosen = stays ? local : away
  if (!stays) {
    await makeDirectory(systemDirectory)
    if (!pointer) await replace(join(project, pointerName), `${chosen.home}\n`)
  }
  await makeDirectory(chosen.home)
  await writeOnce(join(project, 'README.md'), readme(chosen.home, stays))
  return chosen
}

/** Tried rather than computed from mode bits: access lists and network file systems have their own mind. */
async function serverCanWorkIn(project: string): Promise<boolean> {
  const user = await serverUser(join(project, 'server', 'data'))
  if (!user) return true
  const trial = join(project, `trial-${randomBytes(6).toString('hex')}`)
  try {
    await mkdir(trial, { mode: 0o700 })
    await chown(trial, user.uid, user.gid)
    return (await runProgram('sh', ['-c', 'cd "$1" && : > file', 'sh', trial], user)).code === 0
  } catch {
    return false
  } finally {
    await rm(trial, { recursive: true, force: true })
  }
}

/** A directory that we make as root must let the server's user through, whatever the umask. */
async function makeDirectory(path: string): Promise<void> {
  const made = await mkdir(path, { recursive: true })
  if (made !== undefined && process.getuid?.() === 0) await chmod(path, 0o755)
}

async function readPointer(project: string): Promise<string | undefined> {
  const path = join(project, pointerName)
  return (await isPresent(path)) ? (await readFile(path, 'utf8')).trim() : undefined
}

async function writeOnce(path: string, text: string): Promise<void> {
  if (!(await isPresent(path))) await replace(path, text)
}

async function replace(path: string, text: string): Promise<void> {
  const next = `${path}.${randomBytes(6).toString('hex')}`
  await writeFile(next, text)
  await rename(next, path)
}

function digest(project: string): string {
  return createHash('sha256').update(project).digest('hex').slice(0, 16)
}

function readme(home: string, stays: boolean): string {
  const why = 'not in here, because the user it runs as cannot work in this directory. '
  return `# Fencepost's embedded PostgreSQL

The database of this project is in

    ${home}

${stays ? '' : why}It is kept between runs; its log is \`postgres.log\` there.
To start afresh, end all processes that use it and delete ${stays ? 'this directory' : 'both directories'}.
`
}
