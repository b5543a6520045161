import { createReadStream } from 'node:fs'
import { buffer } from 'node:stream/consumers'
import { FencepostError, shown } from '../errors.js'
import { limits } from '../limits.js'

const bytesMax = limits.payloadBytesMax
const pathShownMax = 500

/** The text of a file that somebody names, without a mark at its start. A number would name what is open already. */
export async function readTextFile(path: string): Promise<string> {
  if (typeof path !== 'string') {
    throw new FencepostError('FP_OPTION_INVALID', `the path of a file is expected, not ${shown(path)}`)
  }
  const named = path.slice(0, pathShownMax)
  let bytes: Buffer
  try {
    bytes = await buffer(createReadStream(path, { end: bytesMax })) // one byte more than may be
  } catch (error) {
    throw new FencepostError('FP_MODULE_FAILED', `${named}: ${reasonOf(error)}`, { cause: error })
  }
  if (bytes.length > bytesMax) {
    throw new FencepostError('FP_INPUT_TOO_LARGE', `${named} has more than ${bytesMax} bytes`)
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (error) {
    throw new FencepostError('FP_MODULE_FAILED', `${named}: it is not text in UTF-8`, { cause: error })
  }
}

function reasonOf(error: unknown): string {
  const { code, message } = error as { code?: unknown; message?: unknown }
  if (code === 'ENOENT') return 'there is no such file'
  if (code === 'EISDIR') return 'that is a directory'
  return String(message).slice(0, pathShownMax)
}
