import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { hasCode } from './failure-code.js'

/**
 * Names one process for good, as `<pid>-<start>`; the text is fit for a file name. A pid alone is not enough: the system
 * gives the pid of a dead process to a new one, in a container that restarts nearly always the same one.
 *
 * Where there is no /proc the start is `unknown`, and a pid counts as the same process for as long as it lives.
 */
export type ProcessIdentity = string

const unknownStart = 'unknown'

export function ownIdentity(): ProcessIdentity {
  return `${process.pid}-${startOf(process.pid) ?? unknownStart}`
}

/** Text that is not an identity, such as a file cut short by a power failure, names no living process. */
export function isAlive(identity: ProcessIdentity): boolean {
  const [, pidText, start] = /^(\d+)-(.+)$/.exec(identity) ?? []
  const pid = Number(pidText)
  if (!isRunning(pid)) return false
  const startNow = startOf(pid)
  return startNow === undefined || start === unknownStart || startNow === start
}

export function isRunning(pid: number): boolean {
  // A zombie has its pid until its parent collects it, which in a container without an init may be never.
  return isPidTaken(pid) && !/^[ZX]/.test(statOf(pid)?.[0] ?? '')
}

/** Whether any process, dead but uncollected ones included, has this pid. It is all that PostgreSQL looks at. */
export function isPidTaken(pid: number): boolean {
  if (!Number.isSafeInteger(pid) || pid <= 0) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // EPERM: it is there, and belongs to somebody else.
    return hasCode(error, 'EPERM')
  }
}

/** The command line of a process, arguments joined by blanks; undefined where it cannot be learnt. */
export function commandLineOf(pid: number): string | undefined {
  try {
    if (process.platform === 'linux') return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
    if (process.platform === 'win32') return undefined
    return execFileSync('ps', ['-ww', '-o', 'command=', '-p', String(pid)], { encoding: 'utf8' })
  } catch {
    return undefined
  }
}

/** Ticks since boot, which repeat after a reboot: so the boot is part of it. */
function startOf(pid: number): string | undefined {
  const ticks = statOf(pid)?.[19]
  return ticks === undefined ? undefined : `${ticks}-${bootId()}`
}

/** The fields of /proc/<pid>/stat from the state on. The program's name before them may hold blanks and parentheses. */
function statOf(pid: number): string[] | undefined {
  const stat = readProc(`/proc/${pid}/stat`)
  return stat?.slice(stat.lastIndexOf(')') + 2).split(' ')
}

function bootId(): string {
  return readProc('/proc/sys/kernel/random/boot_id')?.slice(0, 8) ?? 'boot'
}

function readProc(path: string): string | undefined {
  if (process.platform !== 'linux') return undefined
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}
