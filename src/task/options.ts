import { FencepostError, shown } from '../errors.js'
import { limits } from '../limits.js'
import { nearestName } from './nearest-name.js'

/** A name that people read and that is stored: of a task, a queue, a worker, a signal. */
export function checkedName(value: unknown, option: string, lengthMax: number = limits.nameLengthMax): string {
  if (typeof value !== 'string' || value.trim() === '') {
    throw new FencepostError('FP_OPTION_INVALID', `${option} must be a non-empty string, not ${shown(value)}`)
  }
  if (value.length > lengthMax) {
    throw new FencepostError('FP_OPTION_INVALID', `${option} is longer than ${lengthMax} characters`)
  }
  if (hasControlCharacter(value) || !value.isWellFormed()) {
    throw new FencepostError('FP_OPTION_INVALID', `${option} contains a control character or a lone surrogate`)
  }
  return value
}

export function checkedInteger(value: unknown, option: string, min: number, max: number): number {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < min || value > max) {
    const range = `a whole number from ${min} to ${max}`
    throw new FencepostError('FP_OPTION_INVALID', `${option} must be ${range}, not ${shown(value)}`)
  }
  return value
}

export function checkIsOptions(options: unknown, what: string): asserts options is object {
  if (typeof options === 'object' && options !== null) return
  throw new FencepostError('FP_OPTION_INVALID', `the options of ${what} must be an object, not ${shown(options)}`)
}

/** `listen`: here, nowhere, or at the direct URL of the server. */
export function checkListen(value: unknown, option: string): void {
  if (typeof value === 'boolean' || (typeof value === 'string' && /^postgres(ql)?:\/\//.test(value))) return
  throw new FencepostError(
    'FP_OPTION_INVALID',
    `${option} must be true, false or a postgres:// URL, not ${shown(value)}`,
  )
}

/** A misspelt option would otherwise be ignored without a word. */
export function checkOptionNames(options: unknown, known: readonly string[], what: string): void {
  checkIsOptions(options, what)
  const unknown = Object.keys(options).find((option) => !known.includes(option))
  if (unknown === undefined) return
  const nearest = nearestName(unknown, known)
  throw new FencepostError('FP_OPTION_INVALID', `${what} has no option ${shown(unknown)}`, {
    hint: `${nearest === undefined ? '' : `Did you mean ${nearest}? `}The options are ${known.join(', ')}.`,
  })
}

function hasControlCharacter(text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code < 32 || code === 127) return true
  }
  return false
}
