import { isAlias, isScalar, type Node } from 'yaml'
import type { Path, Places, Span } from './problem.js'
import { offsetInFile } from './scalar-offset.js'

/** A value, the node that it was read from, and those of its members. */
export interface Place {
  readonly value: unknown
  readonly node: Node
  readonly members: ReadonlyMap<string | number, Member>
}

export interface Member {
  readonly key: Node | undefined
  readonly place: Place
}

/** Finds the places of values that were read from a file. */
export class FilePlaces implements Places {
  readonly #text: string
  readonly #lines: Lines
  readonly #root: Place

  constructor(text: string, lines: Lines, root: Place) {
    this.#text = text
    this.#lines = lines
    this.#root = root
  }

  /** Of what is not there, the place of what should hold it. */
  value(path: Path): Span | undefined {
    const found = this.#find(path)
    if (!found) return this.value(path.slice(0, -1))
    const { node } = found.place
    const isEmpty = isScalar(node) && node.range && node.range[0] === node.range[1]
    return this.#lines.spanOf(isEmpty && found.key ? found.key : node)
  }

  key(path: Path): Span | undefined {
    const key = this.#find(path)?.key
    return key ? this.#lines.spanOf(key) : this.value(path)
  }

  within(path: Path, offset: number, length: number): Span | undefined {
    const node = this.#find(path)?.place.node
    if (!isScalar(node) || !node.range) return undefined
    const start = offsetInFile(this.#text, node, offset)
    return this.#lines.span(start, offsetInFile(this.#text, node, offset + length))
  }

  #find(path: Path): Member | undefined {
    let member: Member | undefined = { key: undefined, place: this.#root }
    for (const key of path) member = member?.place.members.get(key)
    return member
  }
}

/** From offsets to lines and columns. */
export class Lines {
  readonly #text: string
  readonly #starts: readonly number[]

  constructor(text: string) {
    this.#text = text
    this.#starts = [0, ...[...text.matchAll(/\n/g)].map(({ index }) => index + 1)]
  }

  spanOf(node: Node): Span {
    const [start, end] = node.range ?? [0, 0]
    // Of a mapping or a list the start says enough.
    return this.span(start, isScalar(node) || isAlias(node) ? end : start)
  }

  /** Cut at the end of the line where it starts. */
  span(start: number, end: number): Span {
    let low = 0
    let high = this.#starts.length
    while (high - low > 1) {
      const middle = (low + high) >> 1
      if ((this.#starts[middle] as number) <= start) low = middle
      else high = middle
    }
    const lineStart = this.#starts[low] as number
    const nextLine = this.#starts[low + 1]
    const lineEnd = nextLine === undefined ? this.#text.length : nextLine - 1
    return { line: low + 1, column: start - lineStart + 1, length: Math.max(1, Math.min(end, lineEnd) - start) }
  }
}
