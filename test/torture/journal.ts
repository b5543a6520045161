import { openSync, readFileSync, writeSync } from 'node:fs'

/** `[what, when, …]`, one line each. When is in milliseconds of the machine's monotonic clock, the same for all processes. */
export type Entry = readonly [what: string, atMs: number, ...rest: (string | number | null)[]]

/** What one process did, outside of the engine's tables: appended line by line, each at once, so that a kill loses none. */
export class Journal {
  readonly #file: number

  constructor(path: string) {
    this.#file = openSync(path, 'a')
  }

  write(what: string, ...rest: (string | number | null)[]): void {
    writeSync(this.#file, `${JSON.stringify([what, nowMs(), ...rest])}\n`)
  }
}

export function nowMs(): number {
  return Number(process.hrtime.bigint() / 1_000n) / 1_000
}

/** A line that was cut off by a kill is not one. */
export function readJournal(path: string): Entry[] {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch {
    return []
  }
  const lines = text.split('\n')
  lines.pop()
  return lines.map((line) => JSON.parse(line) as Entry)
}
