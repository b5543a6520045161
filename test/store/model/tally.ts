import type { Move, Row } from './move.js'

/** How far a run came, and which answers it came across: what was never answered was not tested. */
export class Tally {
  steps = 0
  rounds = 0
  readonly #answers = new Set<string>()

  count(move: Move, answer: readonly Row[]): void {
    this.steps++
    for (const word of new Set(answer.length > 0 ? answer.map(wordOf) : ['nothing'])) {
      this.#answers.add(`${move.kind}: ${word}`)
    }
  }

  get answers(): string[] {
    return [...this.#answers].toSorted()
  }
}

/** The one word that says most. */
export function wordOf(row: Row): string {
  if (row['nonce'] !== undefined) return 'leased'
  return String(row['answer'] ?? row['error'] ?? row['place'])
}
