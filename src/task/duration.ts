import { FencepostError } from '../errors.js'
import { limits } from '../limits.js'

const unitMs = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const

/** `'500ms'`, `'30s'`, `'5m'`, `'2h'`, `'3d'`, `'1w'`, or a number of milliseconds. */
export type Duration = number | `${number}${keyof typeof unitMs}`

/** Milliseconds, or an error that names the option. Nothing negative, nothing beyond ten years. */
export function durationMs(value: Duration, option: string): number {
  const ms = typeof value === 'number' ? value : parse(value)
  if (ms === undefined || !Number.isFinite(ms)) {
    throw new FencepostError('FP_DURATION_INVALID', `${option} is ${JSON.stringify(value) ?? String(value)}`)
  }
  if (ms < 0 || ms > limits.durationMsMax) {
    throw new FencepostError('FP_DURATION_INVALID', `${option} is ${value}; it must be between 0 and 3650d`)
  }
  return Math.round(ms)
}

function parse(text: unknown): number | undefined {
  const match = typeof text === 'string' ? /^(-?\d+(?:\.\d+)?)(ms|s|m|h|d|w)$/.exec(text.trim()) : null
  return match ? Number(match[1]) * unitMs[match[2] as keyof typeof unitMs] : undefined
}
