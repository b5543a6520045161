/**
 * V8 searches well for short strings only: 'a…ab a…a' of 100,000 characters in a million a’s takes it half a minute.
 * For longer ones this is the search of Knuth, Morris and Pratt, which never looks at a character twice.
 */
const shortMax = 200

/** What a search costs, besides reading the text once. */
export function searchSteps(text: string, part: string): number {
  return part.length <= shortMax ? 0 : (text.length + part.length) / 2
}

export function indexOfText(text: string, part: string): number {
  return part.length <= shortMax ? text.indexOf(part) : new LongSearch(part).next(text, 0)
}

/** The text cut at each occurrence of the part. `found` is told of each of them. */
export function cutAt(text: string, part: string, found: () => void): string[] {
  const search = part.length <= shortMax ? undefined : new LongSearch(part)
  const pieces: string[] = []
  let from = 0
  for (;;) {
    const at = search ? search.next(text, from) : text.indexOf(part, from)
    if (at < 0) break
    found()
    pieces.push(text.slice(from, at))
    from = at + part.length
  }
  pieces.push(text.slice(from))
  return pieces
}

class LongSearch {
  readonly #part: string
  /** For each length of a beginning of the part: the longest shorter beginning that it ends with. */
  readonly #fallback: Int32Array

  constructor(part: string) {
    this.#part = part
    this.#fallback = new Int32Array(part.length + 1)
    let matched = 0
    for (let i = 1; i < part.length; i++) {
      while (matched > 0 && part.charCodeAt(i) !== part.charCodeAt(matched)) matched = this.#fallback[matched] as number
      if (part.charCodeAt(i) === part.charCodeAt(matched)) matched++
      this.#fallback[i + 1] = matched
    }
  }

  next(text: string, from: number): number {
    const part = this.#part
    let matched = 0
    for (let i = from; i < text.length; i++) {
      while (matched > 0 && text.charCodeAt(i) !== part.charCodeAt(matched)) matched = this.#fallback[matched] as number
      if (text.charCodeAt(i) === part.charCodeAt(matched)) matched++
      if (matched === part.length) return i + 1 - matched
    }
    return -1
  }
}
