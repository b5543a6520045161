import { mkdir, readdir, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { FencepostError } from '../errors.js'
import { makePassword } from './cluster-password.js'
import { isPresent } from './file-presence.js'
import { isAlive, ownIdentity } from './process-identity.js'
import { runProgram } from './run-program.js'
import { giveTo, serverUser } from './server-user.js'

/** Makes a data directory unless it is there: aside, then renamed, so that it is whole or absent. */
export async function makeData(data: string, initdb: string, options: { sync: boolean }): Promise<void> {
  if (await isPresent(join(data, 'PG_VERSION'))) return
  await mkdir(dirname(data), { recursive: true })
  await sweepUnfinished(data)
  const user = await serverUser(data)
  const passwordFile = await makePassword(dirname(data), user)
  const unfinished = `${data}.${ownIdentity()}`
  await mkdir(unfinished, { mode: 0o700 })
  await giveTo(user, unfinished)

  const version = await runProgram(initdb, ['--version'], user)
  const major = Number(/ (\d+)/.exec(version.stdout)?.[1])
  const args = [`--pgdata=${unfinished}`, '--username=fencepost', `--pwfile=${passwordFile}`]
  args.push('--auth=scram-sha-256', '--encoding=UTF8', '--locale=C')
  // The same order of text on every machine, and still upper and lower case beyond ASCII.
  if (major >= 17) args.push('--locale-provider=builtin', '--builtin-locale=C.UTF-8')
  if (!options.sync) args.push('--no-sync')
  const made = await runProgram(initdb, args, user)
  if (made.code !== 0) {
    await rm(unfinished, { recursive: true, force: true })
    throw new FencepostError('FP_EMBEDDED_FAILED', `initdb ended with ${made.code}\n${made.stderr.trim()}`)
  }
  await rename(unfinished, data)
}

/** What processes that were killed while making the data have left. */
async function sweepUnfinished(data: string): Promise<void> {
  for (const name of await readdir(dirname(data))) {
    if (!name.startsWith(`${basename(data)}.`) && !name.startsWith('password.')) continue
    if (isAlive(name.slice(name.indexOf('.') + 1))) continue
    // An initdb whose caller was killed may still be writing there: then a later run sweeps it.
    await rm(join(dirname(data), name), { recursive: true, force: true }).catch(() => {})
  }
}
