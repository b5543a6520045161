import { FencepostError } from '../errors.js'
import { limits } from '../limits.js'

/** The payload as it was given: the argument itself, or standard input for `-`. */
export async function payloadFrom(argument: string | undefined): Promise<unknown> {
  if (argument === undefined) return {}
  const fromStdin = argument === '-'
  const text = fromStdin ? await readStdin() : argument
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new FencepostError('FP_INPUT_NOT_JSON', `the payload: ${(error as Error).message}`, {
      cause: error,
      hint: fromStdin
        ? 'Standard input must hold one JSON value.'
        : `Quote the payload for the shell, as in: fencepost enqueue send-mail '{"to":"ada@example.org"}'`,
    })
  }
}

/** Reading stops at the largest payload that any limit allows, before an endless input fills the memory. */
async function readStdin(): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > limits.payloadBytesMax) {
      throw new FencepostError('FP_INPUT_TOO_LARGE', `standard input has more than ${limits.payloadBytesMax} bytes`)
    }
    chunks.push(chunk)
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks))
  } catch (error) {
    throw new FencepostError('FP_INPUT_NOT_JSON', 'standard input is not UTF-8', { cause: error })
  }
}
