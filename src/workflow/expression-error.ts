/** Columns of the line that is shown; a longer one is cut around the place. */
const columnsMax = 100
const columnsBefore = 60

/**
 * What is wrong with an expression, and where. It names keys and kinds of values, never values: those may be secret.
 */
export class ExpressionError extends Error {
  /** The whole string that holds the expression. */
  readonly source: string
  /** Where in `source`, in UTF-16 units as JavaScript counts. */
  readonly offset: number
  readonly length: number
  readonly problem: string
  readonly hint: string | undefined
  /** The way to `source` in the value that was compiled as a template. */
  readonly path: readonly (string | number)[]

  constructor(
    problem: string,
    place: { readonly source: string; readonly offset: number; readonly length: number },
    more: { hint?: string | undefined; path?: readonly (string | number)[]; cause?: unknown } = {},
  ) {
    super(problem, more.cause === undefined ? undefined : { cause: more.cause })
    this.name = 'ExpressionError'
    this.source = place.source
    this.offset = place.offset
    this.length = place.length
    this.problem = problem
    this.hint = more.hint
    this.path = more.path ?? []
  }

  /** The problem, the line and a caret under the place. */
  get text(): string {
    const before = this.source.slice(0, this.offset)
    const lineStart = Math.max(before.lastIndexOf('\n'), before.lastIndexOf('\r')) + 1
    const rest = /^[^\r\n]*/.exec(this.source.slice(this.offset))?.[0] ?? ''
    const left = this.source.slice(Math.max(lineStart, this.offset - columnsBefore), this.offset)
    const cutLeft = this.offset - lineStart > columnsBefore ? '…' : ''
    const shownRest = rest.slice(0, columnsMax - left.length)
    const cutRight = shownRest.length < rest.length ? '…' : ''
    const line = oneLine(cutLeft + left + shownRest + cutRight)
    const indent = columns(oneLine(cutLeft + left))
    const carets = Math.max(1, columns(oneLine(shownRest.slice(0, this.length))))
    return `${this.problem}\n  ${line}\n  ${' '.repeat(indent)}${'^'.repeat(carets)}`
  }

  at(path: readonly (string | number)[]): ExpressionError {
    return new ExpressionError(this.problem, this, { hint: this.hint, path, cause: this.cause })
  }
}

/** Nothing that could move the cursor of a terminal, and nothing that is half a character. */
function oneLine(text: string): string {
  return text
    .toWellFormed()
    .replaceAll('\t', ' ')
    .replace(/[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu, '\uFFFD')
}

const wide = /^[\p{Emoji_Presentation}\u1100-\u115F\u2E80-\uA4CF\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF00-\uFF60]$/u
const narrow = /^[\p{Mn}\p{Me}\u200B-\u200D]$/u

/** How many columns of a terminal it takes. */
function columns(text: string): number {
  let count = 0
  for (const character of text) {
    if (wide.test(character)) count += 2
    else if (!narrow.test(character)) count += 1
  }
  return count
}
