import { CommanderError } from 'commander'
import { FencepostError } from '../errors.js'
import { printable } from './printable.js'

const exitFailed = 1
const exitUsage = 2

/** Says on stderr what went wrong and what to do next; answers the exit code. */
export function reportError(error: unknown, json: boolean): number {
  if (error instanceof CommanderError && error.exitCode === 0) return 0 // --help and --version end this way
  if (error instanceof CommanderError && error.code === 'commander.help') return exitUsage // no command: help was shown
  const known = error instanceof CommanderError ? usageError(error) : error
  if (known instanceof FencepostError) report(known, json)
  else reportUnexpected(known, json)
  return known instanceof FencepostError && known.code === 'FP_USAGE' ? exitUsage : exitFailed
}

function report({ code, message, hint }: FencepostError, json: boolean): void {
  if (json) console.error(JSON.stringify({ error: { code, message, hint } }))
  else console.error(`fencepost: ${oneLine(message)} (${code})\n${oneLine(hint)}`)
}

/** A bug of ours: here, and only here, the stack helps. */
function reportUnexpected(error: unknown, json: boolean): void {
  const message = error instanceof Error ? error.message : String(error)
  const hint = 'This is a bug in Fencepost. Please report it together with what follows.'
  const stack = error instanceof Error ? (error.stack ?? null) : null
  if (json) console.error(JSON.stringify({ error: { code: null, message, hint, stack } }))
  else console.error(`fencepost: unexpected error: ${oneLine(message)}\n${hint}\n${stack ?? ''}`)
}

/** Commander writes `error: what is wrong`, and on a second line `(Did you mean that?)`. */
function usageError(error: CommanderError): FencepostError {
  const [problem = '', suggestion] = error.message.replace(/^error: /, '').split('\n')
  const asked = suggestion?.replace(/^\(|\)$/g, '')
  return new FencepostError(
    'FP_USAGE',
    problem.replace(/\.$/, ''),
    asked ? { hint: `${asked} Add --help to see what there is.` } : {},
  )
}

function oneLine(text: string): string {
  return printable(text.trim().replace(/\s*\n\s*/g, '; '))
}
