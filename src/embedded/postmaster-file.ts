import { chown, readFile, rename, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { hasCode } from './failure-code.js'
import { commandLineOf } from './process-identity.js'

/** What a running server tells about itself in `postmaster.pid`. */
export interface PostmasterFile {
  readonly pid: number
  readonly port: number
  /** `starting`, `ready`, `stopping`, …; empty while the server has only just taken the file. */
  readonly status: string
}

const name = 'postmaster.pid'

/** No process has this pid on any system: Linux ends at 2^22. */
const pidOfNobody = 2_147_483_647

export async function readPostmasterFile(data: string): Promise<PostmasterFile | undefined> {
  let text: string
  try {
    text = await readFile(join(data, name), 'utf8')
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined
    throw error
  }
  // pid, data directory, start time, port, socket directory, listen address, shared memory key, status
  const lines = text.split('\n')
  return { pid: Number(lines[0]), port: Number(lines[3] ?? 0), status: lines[7]?.trim() ?? '' }
}

/**
 * Takes the pid of a dead server out of its file, because that pid now belongs to another program and PostgreSQL would
 * refuse to start beside it. The file itself stays: by the shared memory key in it PostgreSQL notices backends that
 * outlived their postmaster and still write to the data, even if it would choose another key today.
 */
export async function disownPostmasterFile(data: string, deadPid: number): Promise<void> {
  const path = join(data, name)
  const [pid, ...rest] = (await readFile(path, 'utf8')).split('\n')
  // A server launched by a process that was killed meanwhile may just have taken the file.
  if (Number(pid) !== deadPid) return
  const { uid, gid, mode } = await stat(path)
  // Beside the data, not in it: as root we do not write through names that the server's user controls.
  const next = `${data}.${name}`
  await writeFile(next, [pidOfNobody, ...rest].join('\n'), { mode })
  if (process.getuid?.() === 0) await chown(next, uid, gid)
  await rename(next, path)
}

/** Whether that process is, by its command line, the server of this data directory. */
export function servesData(pid: number, data: string): boolean {
  return `${commandLineOf(pid)} `.includes(`postgres -D ${data} `)
}
