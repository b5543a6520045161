import type { Place } from './place.js'

interface Countable {
  readonly signature: string
  readonly argumentsMin: number
  readonly argumentsMax: number
}

/** `behindDot`: written as x.f(y). */
export function checkCount(wanted: Countable, count: number, behindDot: boolean, place: Place): void {
  const { signature, argumentsMin: min, argumentsMax: max } = wanted
  if (count >= min && count <= max) return
  const number = max === Infinity ? `${counted(min)} or more` : max === min ? counted(min) : `${min} to ${counted(max)}`
  const hint = behindDot ? 'What stands before the dot is the first argument.' : undefined
  throw place.error(`${signature} takes ${number}, not ${count}`, hint)
}

function counted(count: number): string {
  if (count === 0) return 'no arguments'
  return count === 1 ? '1 argument' : `${count} arguments`
}
