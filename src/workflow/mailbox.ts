import type { Json } from '../job/json.js'
import type { Letter, Progress } from './run.js'

/** Letters whose ids are remembered: who repeats one does so soon. */
const heardMax = 100

/** A signal, or an answer to a question. */
export type Message = Extract<Letter, { kind: 'signal' | 'answer' }>

/** Signals and answers that a run was told before anything waited for them. */
export class Mailbox {
  readonly #progress: Pick<Progress, 'signals' | 'answers' | 'heard' | 'ordinals'>

  constructor(progress: Pick<Progress, 'signals' | 'answers' | 'heard' | 'ordinals'>) {
    this.#progress = progress
  }

  /** Whether it is new: one that is told twice, because a reply was lost, is heard once. */
  hear({ payload: { id } }: Message): boolean {
    const { heard } = this.#progress
    if (heard.includes(id)) return false
    heard.splice(0, Math.max(0, heard.length - heardMax))
    heard.push(id)
    return true
  }

  /** Nothing waits for it yet. An answer is kept for the first question only: a second click must not be one to the next. */
  keep({ kind, task, ordinal, payload: { said } }: Message): void {
    if (kind === 'signal') this.#progress.signals.push({ name: task, payload: said })
    else if (this.#progress.ordinals[task] === undefined && ordinal === 1) this.#progress.answers[task] = said
  }

  /** The oldest signal of this name. */
  takeSignal(name: string): { readonly said: Json } | undefined {
    const { signals } = this.#progress
    const at = signals.findIndex((each) => each.name === name)
    if (at < 0) return undefined
    const [taken] = signals.splice(at, 1)
    return { said: taken?.payload ?? null }
  }

  takeAnswer(task: string): { readonly said: Json } | undefined {
    const { answers } = this.#progress
    if (!(task in answers)) return undefined
    const said = answers[task] ?? null
    delete answers[task]
    return { said }
  }
}
