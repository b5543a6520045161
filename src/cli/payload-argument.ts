import { FencepostError } from '../errors.js'
import { limits } from '../limits.js'
import { readTextFile } from '../workflow/text-file.js'

/** The payload as it was given: the argument itself, or standard input for `-`. */
export async function payloadFrom(argument: string | undefined): Promise<unknown> {
  if (argument === undefined) return {}
  if (argument === '-') return parsed(await readStdin(), 'the payload', stdinHint)
  const example = `fencepost enqueue send-mail '{"to":"ada@example.org"}'`
  return parsed(argument, 'the payload', `Quote the payload for the shell, as in: ${example}`)
}

/**
 * One JSON value that may hold secrets: the argument itself, standard input for `-`, or a file for `@path`. `what` names
 * it in errors, which do not quote from it.
 */
export async function jsonFrom(argument: string, what: string, example: string): Promise<unknown> {
  if (argument === '-') return parsed(await readStdin(), what, stdinHint, withoutQuote)
  if (!argument.startsWith('@'))
    return parsed(argument, what, `Quote it for the shell, as in: ${example}`, withoutQuote)
  const path = argument.slice(1)
  return parsed(await readTextFile(path), `${what} in ${path}`, 'The file must hold one JSON value.', withoutQuote)
}

const stdinHint = 'Standard input must hold one JSON value.'

function parsed(text: string, what: string, hint: string, told = (message: string) => message): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new FencepostError('FP_INPUT_NOT_JSON', `${what}: ${told((error as Error).message)}`, { cause: error, hint })
  }
}

/** `Unexpected token 'x', "xyz" is not valid JSON` */
function withoutQuote(message: string): string {
  return message.replace(/, (\.\.\.)?"[^]*$/, '')
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
