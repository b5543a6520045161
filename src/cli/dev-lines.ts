import { once } from 'node:events'
import { type Move, moveText } from './dev-moves.js'
import { type DevView, troubleText } from './dev-view.js'
import { printable } from './printable.js'

/** One line per move, for logs and pipes; with `--json` one object per line. */
export class DevLines implements DevView {
  readonly #json: boolean

  constructor(options: { json: boolean }) {
    this.#json = options.json
  }

  moved(move: Move): void {
    console.log(this.#json ? JSON.stringify(move) : lineOf(move))
  }

  failed(during: string, error: unknown): void {
    console.error(printable(troubleText(during, error)))
  }

  async show(signal: AbortSignal): Promise<void> {
    if (!signal.aborted) await once(signal, 'abort')
  }
}

function lineOf(move: Move): string {
  const { at, jobId, task, note } = move
  const line = `${at.toISOString().slice(11, 23)}  ${jobId}  ${printable(task).padEnd(14)}  ${moveText(move).padEnd(28)}`
  return `${line}  ${printable(note)}`.trimEnd()
}
