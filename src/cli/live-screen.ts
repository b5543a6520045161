const enter = '\u001b[?1049h\u001b[?25l' // the terminal's other screen, no cursor
const leave = '\u001b[?25h\u001b[?1049l'
const home = '\u001b[H'
const clearLineEnd = '\u001b[K'
const clearBelow = '\u001b[J'

/** A screen of the terminal that is drawn again in place. What was on the terminal before comes back at the end. */
export class LiveScreen {
  readonly #out: NodeJS.WriteStream
  readonly #draw: (size: { columns: number; rows: number }) => readonly string[]
  readonly #restore = () => this.#out.write(leave)
  readonly #onResize = () => this.redraw()

  constructor(out: NodeJS.WriteStream, draw: (size: { columns: number; rows: number }) => readonly string[]) {
    this.#out = out
    this.#draw = draw
    out.write(enter)
    out.on('resize', this.#onResize)
    // Whatever ends the process, the terminal must not stay without its cursor.
    process.on('exit', this.#restore)
  }

  get size(): { columns: number; rows: number } {
    return { columns: this.#out.columns || 80, rows: this.#out.rows || 24 }
  }

  redraw(): void {
    const lines = this.#draw(this.size).map((line) => line + clearLineEnd)
    this.#out.write(home + lines.join('\r\n') + clearBelow)
  }

  close(): void {
    process.off('exit', this.#restore)
    this.#out.off('resize', this.#onResize)
    this.#out.write(leave)
  }
}
