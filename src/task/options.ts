import { FencepostError } from '../errors.js'
import { limits } from '../limits.js'

/** A name that people read and that is stored: of a task, a queue, a worker, a signal. */
export function checkedName(value: unknown, option: string): string {
  if (typeof value !== 'string' || value.trim() === '') {
    throw new FencepostError('FP_OPTION_INVALID', `${option} must be a non-empty string`)
  }
  if (value.length > limits.nameLengthMax) {
    throw new FencepostError('FP_OPTION_INVALID', `${option} is longer than ${limits.nameLengthMax} characters`)
  }
  if (hasControlCharacter(value) || !value.isWellFormed()) {
    throw new FencepostError('FP_OPTION_INVALID', `${option} contains a control character or a lone surrogate`)
  }
  return value
}

export function checkedInteger(value: unknown, option: string, min: number, max: number): number {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < min || value > max) {
    throw new FencepostError('FP_OPTION_INVALID', `${option} must be a whole number from ${min} to ${max}, not ${value}`)
  }
  return value
}

function hasControlCharacter(text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code < 32 || code === 127) return true
  }
  return false
}
