const cells = 24
const everyMs = 100

/** How far something is, on one line of the terminal that is gone when it is done. Nothing if nobody looks. */
export class ProgressBar {
  readonly #title: string
  readonly #all: number
  readonly #out: NodeJS.WriteStream
  readonly #timer: NodeJS.Timeout | undefined
  #done = 0

  constructor(title: string, all: number, out: NodeJS.WriteStream = process.stderr) {
    this.#title = title
    this.#all = all
    this.#out = out
    if (out.isTTY) this.#timer = setInterval(() => this.#draw(), everyMs).unref()
  }

  add(count: number): void {
    this.#done += count
  }

  clear(): void {
    clearInterval(this.#timer)
    if (this.#timer) this.#out.write('\r\u001b[K')
  }

  #draw(): void {
    const filled = Math.min(cells, Math.floor((cells * this.#done) / this.#all))
    const bar = `${'█'.repeat(filled)}${'░'.repeat(cells - filled)}`
    const text = `${bar} ${this.#title}: ${this.#done.toLocaleString('en-US')} of ${this.#all.toLocaleString('en-US')}`
    this.#out.write(`\r${text.slice(0, (this.#out.columns || 80) - 1)}\u001b[K`)
  }
}
