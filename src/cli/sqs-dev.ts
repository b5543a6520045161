import type { Fencepost } from '../client/fencepost.js'
import { FencepostError } from '../errors.js'
import type { Logger } from '../observe/log.js'
import type { SqsOptions } from '../sqs/sqs-options.js'

/** In development SQS is spoken to this machine, without keys; if something else has the port, then not. */
export async function serveSqsForDev(
  fp: Fencepost,
  config: SqsOptions | undefined,
  log: Pick<Logger, 'info' | 'warn'>,
): Promise<void> {
  const { keys: _signed, ...options } = config ?? {}
  try {
    const { url } = await fp.serveSqs({ ...options, host: '127.0.0.1', unsigned: true })
    log.info({ sqs: url }, `SQS at ${url}, for this machine, unsigned`)
  } catch (error) {
    if (!(error instanceof FencepostError) || error.code !== 'FP_PORT_IN_USE') throw error
    log.warn({}, `SQS is not served: ${error.message}`)
  }
}
