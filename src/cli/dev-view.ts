import type { Move } from './dev-moves.js'

/** How `fencepost dev` shows what happens: a live screen on a terminal, plain lines elsewhere. */
export interface DevView {
  moved(move: Move): void
  failed(during: string, error: unknown): void
  /** Shows until the signal. */
  show(signal: AbortSignal): Promise<void>
}

export function troubleText(during: string, error: unknown): string {
  return `trouble while ${during}: ${error instanceof Error ? error.message : String(error)}`
}
