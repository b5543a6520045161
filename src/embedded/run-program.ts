import { execFile, type ExecFileOptions } from 'node:child_process'

export interface ProgramResult {
  /** The exit code; or, when the program could not be started or was killed, an error code such as ENOENT. */
  readonly code: number | string
  readonly stdout: string
  readonly stderr: string
}

/** Whom a program runs as, other than the user of this process. */
interface ProgramUser {
  readonly uid: number
  readonly gid: number
}

/** Runs a program to its end. Failing is a result, not an exception. */
export function runProgram(file: string, args: readonly string[], user?: ProgramUser): Promise<ProgramResult> {
  return new Promise((resolve) => {
    execFile(file, args, { ...programOptions(user), encoding: 'utf8' }, (error, stdout, stderr) => {
      const code = error ? (error.code ?? error.signal ?? 'killed') : 0
      resolve({ code, stdout, stderr: stderr || (error && typeof error.code !== 'number' ? error.message : '') })
    })
  })
}

/**
 * PostgreSQL's programs get a small environment of their own: PGPORT, PGOPTIONS or NOTIFY_SOCKET of the caller must not
 * steer the server, nor need a server that outlives us carry the caller's secrets. LC_ALL=C keeps the messages in
 * English, which we match on. The working directory is one that any user may enter.
 */
export function programOptions(
  user: ProgramUser | undefined,
): Pick<ExecFileOptions, 'cwd' | 'env' | 'uid' | 'gid' | 'windowsHide'> {
  const env: NodeJS.ProcessEnv = { LC_ALL: 'C' }
  for (const name of ['PATH', 'TZ', 'TMPDIR', 'TEMP', 'TMP', 'SystemRoot', 'LD_LIBRARY_PATH']) {
    if (process.env[name] !== undefined) env[name] = process.env[name]
  }
  return { cwd: '/', env, windowsHide: true, ...user }
}
