import type { Move, Row } from './move.js'

/** How far a run came, and how often each move gave each answer: what was never answered was not tested. */
export class Tally {
  steps = 0
  rounds = 0
  readonly #answers = new Map<string, number>()

  count(move: Move, answer: readonly Row[]): void {
    this.steps++
    for (const word of new Set(answer.length > 0 ? answer.map(wordOf) : ['nothing'])) {
      const key = `${move.kind}: ${word}`
      this.#answers.set(key, (this.#answers.get(key) ?? 0) + 1)
    }
  }

  get answers(): string[] {
    return [...this.#answers.keys()].toSorted()
  }

  toString(): string {
    return this.answers.map((answer) => `${answer} ${this.#answers.get(answer)}`).join('; ')
  }
}

/** The one word that says most. */
export function wordOf(row: Row): string {
  if (row['nonce'] !== undefined) return 'leased'
  return String(row['answer'] ?? row['error'] ?? row['place'])
}
