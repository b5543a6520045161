import { readFile } from 'node:fs/promises'
import { FencepostError } from '../errors.js'

/** The text of a file that somebody names, without a mark at its start. */
export async function readTextFile(path: string): Promise<string> {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(await readFile(path))
  } catch (error) {
    throw new FencepostError('FP_MODULE_FAILED', `${path}: ${reasonOf(error)}`, { cause: error })
  }
}

function reasonOf(error: unknown): string {
  const { code, message } = error as { code?: unknown; message?: unknown }
  if (code === 'ENOENT') return 'there is no such file'
  if (code === 'EISDIR') return 'that is a directory'
  return code === 'ERR_ENCODING_INVALID_ENCODED_DATA' ? 'it is not text in UTF-8' : String(message)
}
