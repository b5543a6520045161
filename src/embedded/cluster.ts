import { spawn } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { FencepostError } from '../errors.js'
import { answers, clusterUrl, ensureDatabase } from './cluster-connection.js'
import { readPassword } from './cluster-password.js'
import { makeData } from './data-maker.js'
import { isPresent } from './file-presence.js'
import { freePort } from './free-port.js'
import { disownPostmasterFile, type PostmasterFile, readPostmasterFile, servesData } from './postmaster-file.js'
import { isPidTaken, isRunning } from './process-identity.js'
import { programOptions, runProgram } from './run-program.js'
import { ServerLog } from './server-log.js'
import { giveTo, serverUser } from './server-user.js'

export interface ClusterPrograms {
  readonly initdb: string
  readonly pgCtl: string
  readonly postgres: string
}

export interface ClusterOptions {
  readonly programs: ClusterPrograms
  /** Holds `data/`, `password`, `port` and `postgres.log`. The server's user must be able to enter it. */
  readonly directory: string
  /** Server settings, given to the server when it starts. `fsync: 'off'` also spares initdb its syncs. */
  readonly settings?: Readonly<Record<string, string>>
  readonly choosePort?: (preferred: number | undefined) => Promise<number>
}

export interface RunningCluster {
  readonly port: number
  readonly url: string
  readonly pid: number
}

/** Crash recovery of a gigabyte of WAL, the most there is by default, takes a slow disk about this long. */
const startMsMax = 120_000
const stopSecondsMax = 60
const pollMs = 20
const launchesMax = 10

/**
 * One PostgreSQL cluster and its server, which lives on without the process that started it. Processes that may call
 * these methods at the same instant need a lock around them.
 */
export class Cluster {
  readonly #directory: string
  readonly #data: string
  readonly #programs: ClusterPrograms
  readonly #settings: Readonly<Record<string, string>>
  readonly #choosePort: (preferred: number | undefined) => Promise<number>
  readonly #log: ServerLog

  constructor(options: ClusterOptions) {
    this.#directory = resolve(options.directory)
    this.#data = join(this.#directory, 'data')
    this.#programs = options.programs
    this.#settings = options.settings ?? {}
    this.#choosePort = options.choosePort ?? freePort
    this.#log = new ServerLog(join(this.#directory, 'postgres.log'))
  }

  /** Does nothing if it has been done. */
  async initialise(): Promise<void> {
    await makeData(this.#data, this.#programs.initdb, { sync: this.#settings['fsync'] !== 'off' })
  }

  /** Starts the server, or adopts the one that runs already; returns when it accepts connections. */
  async start(): Promise<RunningCluster> {
    const deadline = Date.now() + startMsMax
    let launches = 0
    for (;;) {
      const postmaster = await this.#postmaster()
      if (postmaster?.status === 'stopping') await this.stop('fast')
      else if (postmaster && postmaster.status !== 'ready' && Date.now() < deadline) await pause(pollMs)
      else if (postmaster) return await this.#adopt(postmaster, deadline)
      else {
        const failure = await this.#launch(deadline)
        // PostgreSQL asks a person whether somebody is about to write it. Our callers hold a lock, so nobody is.
        if (failure?.includes('"postmaster.pid" is empty')) await disownPostmasterFile(this.#data, 0)
        if (failure !== undefined && !(await mayPass(failure, ++launches, deadline))) {
          throw new FencepostError('FP_EMBEDDED_FAILED', `${failure}\nThe whole log is ${this.#log.path}`)
        }
      }
    }
  }

  /** `fast` ends the sessions that are open, `smart` waits for them, `immediate` leaves recovery to the next start. */
  async stop(mode: 'smart' | 'fast' | 'immediate' = 'fast'): Promise<void> {
    // Asked first, because pg_ctl signals whatever process now has the pid in the file.
    if (!(await this.#postmaster())) return
    const args = ['stop', '-D', this.#data, '-m', mode, '-w', '-t', String(stopSecondsMax)]
    const stopped = await runProgram(this.#programs.pgCtl, args, await serverUser(this.#data))
    if (stopped.code !== 0 && (await this.#postmaster())) {
      throw new FencepostError('FP_EMBEDDED_FAILED', `it cannot be stopped\n${stopped.stderr.trim()}`)
    }
  }

  async running(): Promise<RunningCluster | undefined> {
    const postmaster = await this.#postmaster()
    return postmaster && this.#describe(postmaster, await readPassword(this.#directory))
  }

  /** The living server of this data, in whatever state. A file left by a dead one, or by a reused pid, is not one. */
  async #postmaster(): Promise<PostmasterFile | undefined> {
    const file = await readPostmasterFile(this.#data)
    if (!file || !isRunning(file.pid)) return undefined
    if (servesData(file.pid, this.#data)) return file
    // The directory was moved under the server, or the system does not tell command lines: then the password decides.
    const password = await readPassword(this.#directory)
    return (await answers({ port: file.port, password })) ? file : undefined
  }

  async #adopt(postmaster: PostmasterFile, deadline: number): Promise<RunningCluster> {
    const password = await readPassword(this.#directory)
    try {
      await ensureDatabase({ port: postmaster.port, password }, deadline)
    } catch (error) {
      const detail = `it runs, but does not let us in: ${error instanceof Error ? error.message : String(error)}`
      throw new FencepostError('FP_EMBEDDED_FAILED', `${detail}\n${await this.#log.tail()}`, { cause: error })
    }
    return this.#describe(postmaster, password)
  }

  /** Returns when the server is ready, or else what it said before it ended. */
  async #launch(deadline: number): Promise<string | undefined> {
    const left = await readPostmasterFile(this.#data)
    // A pid that is gone is left to PostgreSQL, which knows best how to tell whether all of the old server is.
    if (left && isPidTaken(left.pid)) await disownPostmasterFile(this.#data, left.pid)
    const user = await serverUser(this.#data)
    await giveTo(user, this.#data)
    const port = await this.#nextPort()
    const log = await this.#log.open()
    // What root makes on behalf of the data's owner must not shut that owner out later.
    if (user) await log.chown(user.uid, user.gid)
    const logStart = await this.#log.size()
    try {
      let ended: string | undefined
      const server = spawn(this.#programs.postgres, this.#arguments(port), {
        ...programOptions(user),
        // A session of its own: Ctrl-C in our terminal is not for the server.
        detached: true,
        stdio: ['ignore', log.fd, log.fd],
      })
      server.once('error', (error) => (ended = error.message))
      server.once('exit', (code, signal) => (ended = `it ended with ${code ?? signal}`))
      server.unref()
      while (ended === undefined) {
        const now = await readPostmasterFile(this.#data)
        if (now?.pid === server.pid && now?.status === 'ready') return undefined
        // The server itself goes on, and whoever comes next adopts it.
        if (Date.now() > deadline) ended = `it is not ready after ${startMsMax / 1000} s`
        else await pause(pollMs)
      }
      return `${ended}\n${await this.#log.tail(logStart)}`
    } finally {
      await log.close()
    }
  }

  #arguments(port: number): string[] {
    const settings = { listen_addresses: '127.0.0.1', unix_socket_directories: '', ...this.#settings, port }
    return ['-D', this.#data, ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])]
  }

  /** The last port again if it is free: clients of a server that crashed then find it where it was. */
  async #nextPort(): Promise<number> {
    const path = join(this.#directory, 'port')
    const last = (await isPresent(path)) ? Number(await readFile(path, 'utf8')) : 0
    const port = await this.#choosePort(last > 0 && last < 65_536 ? last : undefined)
    await writeFile(path, `${port}\n`)
    return port
  }

  #describe({ port, pid }: PostmasterFile, password: string): RunningCluster {
    return { port, pid, url: clusterUrl({ port, password }) }
  }
}

/** Failures that pass: the port was taken meanwhile, another server was faster, backends of the old one still work. */
async function mayPass(failure: string, launches: number, deadline: number): Promise<boolean> {
  if (/could not (bind|create any TCP)|lock file "postmaster.pid" (already exists|is empty)/.test(failure)) {
    return launches < launchesMax
  }
  if (!/shared memory block .* is still in use/.test(failure) || Date.now() > deadline) return false
  await pause(10 * pollMs)
  return true
}
