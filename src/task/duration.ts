import { FencepostError, shown } from '../errors.js'
import { limits } from '../limits.js'

const unitMs = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const

/** `'500ms'`, `'30s'`, `'5m'`, `'2h'`, `'3d'`, `'1w'`, or a number of milliseconds. */
export type Duration = number | `${number}${keyof typeof unitMs}`

/** Whole milliseconds, or an error that names the option. Nothing negative, nothing beyond ten years. */
export function durationMs(value: Duration, option: string, min = 0, max: number = limits.durationMsMax): number {
  const ms = Math.round(typeof value === 'number' ? value : parse(value))
  if (Number.isNaN(ms)) throw new FencepostError('FP_DURATION_INVALID', `${option} is ${shown(value)}`)
  if (ms < min || ms > max) {
    const range = `${durationText(min)} to ${durationText(max)}`
    throw new FencepostError('FP_DURATION_INVALID', `${option} is ${shown(value)}; it must be from ${range}`)
  }
  return ms
}

function parse(text: unknown): number {
  const match = typeof text === 'string' ? /^(-?\d+(?:\.\d+)?)(ms|s|m|h|d|w)$/.exec(text.trim()) : null
  return match ? Number(match[1]) * unitMs[match[2] as keyof typeof unitMs] : Number.NaN
}

/** In the largest unit that leaves no remainder, days at most. */
export function durationText(ms: number): string {
  const unit = (['d', 'h', 'm', 's'] as const).find((name) => ms >= unitMs[name] && ms % unitMs[name] === 0) ?? 'ms'
  return `${ms / unitMs[unit]}${unit}`
}
