import { once } from 'node:events'
import type { Command } from 'commander'
import { fencepost } from '../client/fencepost.js'
import { attachLogger } from '../observe/log.js'
import { accessKeysFrom, type SqsOptions } from '../sqs/sqs-options.js'
import type { Ledger } from '../store/sqs-servers.js'
import type { GlobalOptions } from './global-options.js'
import type { LogLevel } from './log-levels.js'
import { logOutput } from './log-output.js'
import { serverText, withServer } from './server-session.js'
import { stopSignal } from './stop-signal.js'
import { serverOptions } from './worker-run.js'
import { loadConfig } from './worker-source.js'

interface SqsCommandOptions extends GlobalOptions {
  readonly port?: number
  readonly host?: string
  readonly unsigned?: boolean
  readonly sendDedup?: Ledger
  readonly poll?: string
  readonly listen: boolean
  readonly migrate?: boolean
  readonly logLevel: LogLevel
}

/** A server’s life on the command line: load, connect, serve, stop. */
export async function runSqs(path: string | undefined, command: Command): Promise<void> {
  const options = command.optsWithGlobals<SqsCommandOptions>()
  const config = await loadConfig(path)
  const log = logOutput({ json: options.json ?? false, level: options.logLevel })
  const stop = stopSignal()
  try {
    await withServer(serverOptions(command, { config }), async (server) => {
      const { url, schema, embedded } = server
      const fp = await fencepost({ database: url, schema, migrate: embedded || options.migrate === true })
      try {
        attachLogger(fp, log)
        const sqs = await fp.serveSqs(sqsOptions(config.sqs ?? {}, options))
        log.info({ sqs: sqs.url }, `ready: SQS at ${sqs.url} on ${serverText(server)}`)
        if (!stop.signal.aborted) await once(stop.signal, 'abort')
        log.info({ sqs: sqs.url }, 'stopping: requests in flight end, those who wait are answered')
      } finally {
        await fp.close()
      }
    })
  } finally {
    stop.dispose()
  }
}

/** The config, the environment, and the flags where they say otherwise. */
function sqsOptions(config: SqsOptions, flags: SqsCommandOptions): SqsOptions {
  const { port, host, unsigned, sendDedup, poll } = flags
  const fromEnvironment = process.env['FENCEPOST_SQS_KEYS']
  const keys = {
    ...config.keys,
    ...(fromEnvironment && accessKeysFrom(fromEnvironment, 'FENCEPOST_SQS_KEYS')),
  }
  return {
    ...config,
    keys,
    ...(port !== undefined && { port }),
    ...(host !== undefined && { host }),
    ...(unsigned !== undefined && { unsigned }),
    ...(sendDedup !== undefined && { sendDedup }),
    ...(poll !== undefined && { poll: poll as NonNullable<SqsOptions['poll']> }),
    ...(!flags.listen && { listen: false }),
  }
}
