import type { Move, Row } from './move.js'

/** How far a run came, and which answers it came across: what was never answered was not tested. */
export class Tally {
  steps = 0
  rounds = 0
  readonly #answers = new Set<string>()

  count(move: Move, answer: readonly Row[]): void {
    this.steps++
    const words = answer.map((row) => (isOfAnother(move, row) ? 'leased another' : wordOf(row)))
    for (const word of new Set(words.length > 0 ? words : ['nothing'])) {
      this.#answers.add(`${move.kind}: ${word}`)
    }
  }

  get answers(): string[] {
    return [...this.#answers].toSorted()
  }
}

/** A lease of a job that was there before those that came with the claim. */
function isOfAnother(move: Move, row: Row): boolean {
  return move.kind === 'enqueueClaimed' && move.jobs.every((job) => job.id !== row['jobId'])
}

/** The one word that says most. */
export function wordOf(row: Row): string {
  if (row['nonce'] !== undefined) return 'leased'
  return String(row['answer'] ?? row['error'] ?? row['place'])
}
