import { once } from 'node:events'
import type { Command } from 'commander'
import { type Fencepost, fencepost } from '../client/fencepost.js'
import { FencepostError } from '../errors.js'
import { defaults } from '../limits.js'
import { attachLogger, type Logger } from '../observe/log.js'
import { serveMetrics } from '../observe/metrics-server.js'
import { serveSqsForDev } from './sqs-dev.js'
import { durationMs, durationText } from '../task/duration.js'
import { counted } from './counted.js'
import { tellDev } from './dev-link.js'
import type { GlobalOptions } from './global-options.js'
import type { LogLevel } from './log-levels.js'
import { logOutput } from './log-output.js'
import { loadedFiles } from './module-loader.js'
import { type Server, serverText, withServer } from './server-session.js'
import { taskDirectories } from './task-files.js'
import { type WorkerEnding, workerEnding } from './worker-ending.js'
import { type WorkerFlags, type WorkerSettings, workerSettings } from './worker-settings.js'
import { loadWorkerSource, type WorkerSource } from './worker-source.js'

interface WorkerCommandOptions extends GlobalOptions, WorkerFlags {
  readonly logLevel: LogLevel
  readonly migrate?: boolean
  readonly devSqs?: boolean
}

/** A worker’s life on the command line: load, connect, work, stop, tell. */
export async function runWorker(paths: readonly string[], command: Command): Promise<void> {
  const ending = workerEnding()
  try {
    await run(paths, command, ending)
  } finally {
    ending.dispose()
  }
  if (ending.uncaught) throw uncaughtError(ending.uncaught.error)
}

async function run(paths: readonly string[], command: Command, ending: WorkerEnding): Promise<void> {
  const options = command.optsWithGlobals<WorkerCommandOptions>()
  const source = await loadedSource(paths)
  const settings = workerSettings(source, options)
  const log = logOutput({ json: options.json ?? false, level: options.logLevel })
  if (ending.signal.aborted) return
  await withServer(serverOptions(command, source), async (server) => {
    tellDev({ files: loadedFiles(), directories: taskDirectories(), embedded: server.embedded })
    const { url, schema, embedded } = server
    const fp = await fencepost({ database: url, schema, migrate: embedded || options.migrate === true })
    try {
      if (options.devSqs) await serveSqsForDev(fp, source.config.sqs, log)
      if (!ending.signal.aborted) await work(fp, server, settings, log, ending)
    } finally {
      await fp.close()
    }
  })
}

/** What could be loaded is watched even if the rest is broken: the next save may mend it. */
async function loadedSource(paths: readonly string[]): Promise<WorkerSource> {
  try {
    return await loadWorkerSource(paths)
  } catch (error) {
    tellDev({ files: loadedFiles(), directories: taskDirectories(), embedded: false })
    throw error
  }
}

/** Flags, then the config, then the environment. */
export function serverOptions(command: Command, { config }: Pick<WorkerSource, 'config'>): GlobalOptions {
  const options = command.optsWithGlobals<GlobalOptions>()
  const database = options.database ?? config.database
  const schemaSaid = command.getOptionValueSourceWithGlobals('schema') !== 'default'
  return {
    ...options,
    ...(database !== undefined && { database }),
    schema: schemaSaid ? options.schema : (config.schema ?? options.schema),
  }
}

async function work(
  fp: Fencepost,
  server: Server,
  { tasks, options, metrics: metricsOptions }: WorkerSettings,
  log: Logger,
  ending: WorkerEnding,
): Promise<void> {
  attachLogger(fp, log)
  const metrics = metricsOptions && (await serveMetrics(fp, metricsOptions))
  try {
    const worker = await fp.work(tasks, options)
    const names = tasks.map(({ name }) => name)
    const queues = [...new Set(tasks.map(({ queue }) => queue))]
    const where = `${serverText(server)}${metrics ? `, metrics at ${metrics.url}` : ''}`
    log.info(
      { worker: worker.id, tasks: names, queues, ...(metrics && { metrics: metrics.url }) },
      `ready: ${counted(names.length, 'task')} (${names.join(', ')}) on ${where}`,
    )
    if (!ending.signal.aborted) await once(ending.signal, 'abort')
    if (ending.uncaught) {
      ending.uncaught.error = fp.masked(ending.uncaught.error) // now: afterwards its job has ended, and nobody knows its secrets
      log.error({ err: ending.uncaught.error }, 'an error was not caught: the worker stops')
    }
    const grace = durationText(durationMs(options.grace ?? defaults.shutdownGraceMs, '--grace'))
    log.info(
      { worker: worker.id },
      `stopping: running jobs have ${grace} to end, then they are given back; a second signal ends at once`,
    )
    await worker.stop()
  } finally {
    await metrics?.close()
  }
}

function uncaughtError(error: unknown): FencepostError {
  return new FencepostError('FP_UNCAUGHT', error instanceof Error ? error.message : String(error), { cause: error })
}
