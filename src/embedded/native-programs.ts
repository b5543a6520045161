import { randomBytes } from 'node:crypto'
import { chmod, cp, mkdir, readdir, readFile, rename, rm, stat, symlink } from 'node:fs/promises'
import { basename, dirname, join, relative, sep } from 'node:path'
import { FencepostError } from '../errors.js'
import type { ClusterPrograms } from './cluster.js'
import { hasCode } from './failure-code.js'
import { isPresent } from './file-presence.js'
import type { NativePackage } from './native-package.js'
import { isAlive, ownIdentity } from './process-identity.js'
import { runProgram } from './run-program.js'
import type { ServerUser } from './server-user.js'

/**
 * Makes the package's programs fit to run as the server's user, and proves it by running them. npm may have skipped the
 * package's install script, which makes the library links; where the package can be neither mended nor reached (a
 * read-only node_modules, root's home directory) a copy is made in `copies` and used from then on.
 */
export async function prepareNativePrograms(
  native: NativePackage,
  copies: string,
  user: ServerUser | undefined,
): Promise<ClusterPrograms> {
  for (const program of Object.values(native.programs)) {
    if (!(await isPresent(program))) throw unavailable(native, `${program} is missing. Install the package again`)
  }
  // Not only the trial counts: it may pass with a library of the system in place of the one whose link is missing.
  if ((await mend(native)) && (await trial(native, user)) === undefined) return native.programs
  const copy = await copyOf(native, copies)
  const trouble = await trial(copy, user)
  if (trouble === undefined) return copy.programs
  // Made from a broken package, it would stay broken after the package was installed again.
  await rm(copy.root, { recursive: true, force: true })
  throw unavailable(native, trouble)
}

/** False: something is missing and we are not allowed to add it. */
async function mend(native: NativePackage): Promise<boolean> {
  try {
    await makeLinks(native.root)
    for (const program of Object.values(native.programs)) {
      const { mode } = await stat(program)
      if ((mode & 0o555) !== 0o555) await chmod(program, mode | 0o555)
    }
    return true
  } catch (error) {
    if (hasCode(error, 'EACCES', 'EPERM', 'EROFS')) return false
    throw error
  }
}

/** What the package's install script does: makes the links that a package archive cannot hold. */
async function makeLinks(root: string): Promise<void> {
  for (const { source, target } of await listedLinks(root)) {
    const path = join(root, target)
    if (!(await isPresent(path))) await linkUnlessPresent(relative(dirname(target), source), path)
  }
}

async function listedLinks(root: string): Promise<readonly { source: string; target: string }[]> {
  const list = join(root, 'native', 'pg-symlinks.json')
  return (await isPresent(list)) ? JSON.parse(await readFile(list, 'utf8')) : []
}

/** Several processes may be mending the same package. */
async function linkUnlessPresent(target: string, path: string): Promise<void> {
  try {
    await symlink(target, path)
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error
  }
}

/** What keeps the programs from running as this user; undefined: nothing. */
async function trial(native: NativePackage, user: ServerUser | undefined): Promise<string | undefined> {
  for (const program of Object.values(native.programs)) {
    const { code, stderr } = await runProgram(program, ['--version'], user)
    // The file is there and yet "not found": its loader is missing, as glibc's is on Alpine. A copy would not help.
    if (code === 'ENOENT' && (await isPresent(program))) {
      throw unavailable(native, `${basename(program)} is built for another C library (musl?)`)
    }
    if (code !== 0) return `${basename(program)} --version ended with ${code}: ${stderr.trim()}`
  }
  return undefined
}

/** Copied aside and renamed, so that a copy is whole or absent; of two processes at the same time one wins. */
async function copyOf(native: NativePackage, copies: string): Promise<NativePackage> {
  const root = join(copies, `${native.platform}-${native.version}`)
  const rebase = (path: string) => join(root, relative(native.root, path))
  const { initdb, pgCtl, postgres } = native.programs
  const programs = { initdb: rebase(initdb), pgCtl: rebase(pgCtl), postgres: rebase(postgres) }
  const copy = { ...native, root, programs }
  if (await isPresent(root)) return copy

  await mkdir(copies, { recursive: true })
  await sweepUnfinished(copies)
  const unfinished = `${root}.part.${ownIdentity()}.${randomBytes(6).toString('hex')}`
  await cp(join(native.root, 'native'), join(unfinished, 'native'), {
    recursive: true,
    verbatimSymlinks: true,
    filter: (path) => !path.endsWith('.a'),
  })
  await openToAll(unfinished)
  await makeLinks(unfinished)
  try {
    await rename(unfinished, root)
  } catch (error) {
    if (!(await isPresent(root))) throw error
    await rm(unfinished, { recursive: true, force: true })
  }
  return copy
}

/** The server's user must be able to read them, whatever the umask of the installer was. */
async function openToAll(directory: string): Promise<void> {
  await chmod(directory, 0o755)
  for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    const runnable = entry.isDirectory() || path.includes(`${sep}bin${sep}`)
    if (!entry.isSymbolicLink()) await chmod(path, runnable ? 0o755 : 0o644)
  }
}

async function sweepUnfinished(copies: string): Promise<void> {
  for (const name of await readdir(copies)) {
    const maker = /\.part\.(.+)\.[0-9a-f]+$/.exec(name)?.[1]
    if (maker !== undefined && !isAlive(maker)) await rm(join(copies, name), { recursive: true, force: true })
  }
}

function unavailable({ platform, version }: NativePackage, detail: string): FencepostError {
  return new FencepostError('FP_EMBEDDED_UNAVAILABLE', `PostgreSQL ${version} for ${platform}: ${detail}`)
}
