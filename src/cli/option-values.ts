import type { Duration } from '../task/duration.js'

/**
 * Text from the command line as the checks of the client want it. What is no number stays text, so that the check
 * names it in its error.
 */
export function wholeNumber(text: string): number {
  return (/^[+-]?\d+$/.test(text) ? Number(text) : text) as number
}

/** `30s`, or a bare number of milliseconds. */
export function duration(text: string): Duration {
  return (/^\d+$/.test(text) ? Number(text) : text) as Duration
}

/** For an option that may be repeated. */
export function collected(value: string, before: readonly string[] | undefined): string[] {
  return [...(before ?? []), value]
}
