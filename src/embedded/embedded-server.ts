import { join } from 'node:path'
import { FencepostError } from '../errors.js'
import { Cluster } from './cluster.js'
import { DirectoryLock } from './directory-lock.js'
import { isPresent } from './file-presence.js'
import { Members } from './members.js'
import { findNativePackage, type NativePackage } from './native-package.js'
import { prepareNativePrograms } from './native-programs.js'
import { settleServerHome } from './server-home.js'
import { serverUser } from './server-user.js'

export interface EmbeddedServer {
  readonly url: string
  readonly port: number
  /** The last one out stops the server, unless it joined with `keepRunning`. */
  leave(): Promise<void>
}

export interface EmbeddedServerOptions {
  /** The project's `.fencepost` directory; created if missing. */
  readonly directory: string
  readonly keepRunning?: boolean
}

/** What a test may replace. */
export interface EmbeddedServerParts {
  readonly findPackage?: () => Promise<NativePackage>
  readonly settings?: Readonly<Record<string, string>>
  readonly systemDirectory?: string
  /** Lets a test stand still inside the lock. */
  readonly pauseBefore?: (step: 'enter' | 'stop') => Promise<void>
}

/**
 * Joins the one PostgreSQL of a project directory: adopts the server that runs there, or starts it. Joining and leaving
 * are decided under one lock, so that nobody stops a server that somebody else has just joined. A process that ends
 * without leaving is found dead by the next one that comes or goes.
 */
export async function joinEmbeddedServer(
  options: EmbeddedServerOptions,
  parts: EmbeddedServerParts = {},
): Promise<EmbeddedServer> {
  try {
    const native = await (parts.findPackage ?? findNativePackage)()
    const { home, copies } = await settleServerHome(options.directory, parts.systemDirectory ?? '/var/lib/fencepost')
    const lock = new DirectoryLock(join(home, 'lock'))
    const members = new Members(join(home, 'members'))

    return await lock.hold(async () => {
      const programs = await prepareNativePrograms(native, copies, await serverUser(join(home, 'data')))
      const cluster = new Cluster({ programs, directory: home, settings: parts.settings ?? {} })
      await cluster.initialise()
      const { port, url } = await cluster.start()
      await parts.pauseBefore?.('enter')
      const member = await members.enter()
      const stopIfLast = async () => {
        await members.leave(member)
        if (options.keepRunning || (await members.countAlive()) > 0) return
        await parts.pauseBefore?.('stop')
        await cluster.stop('fast')
      }
      let left: Promise<void> | undefined
      const leave = () => (left ??= whilePresent(home, () => lock.hold(stopIfLast)))
      return { port, url, leave }
    })
  } catch (error) {
    throw asFencepostError(error, options.directory)
  }
}

/** Whoever deletes the directory also stops the server: PostgreSQL ends itself when its files are gone. */
async function whilePresent(home: string, work: () => Promise<void>): Promise<void> {
  if (await isPresent(home)) await work()
}

function asFencepostError(error: unknown, directory: string): FencepostError {
  if (error instanceof FencepostError) return error
  return new FencepostError('FP_EMBEDDED_FAILED', error instanceof Error ? error.message : String(error), {
    cause: error,
    hint: `This user must be able to write in ${directory}. Setting DATABASE_URL avoids the embedded server.`,
  })
}
