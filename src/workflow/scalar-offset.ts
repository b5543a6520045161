import { Scalar } from 'yaml'

/**
 * Where in the file a character of a scalar’s text stands. `text` is the file, `offset` counts in the value: quotes,
 * escapes, folded lines and the indentation of blocks lie between the two.
 */
export function offsetInFile(text: string, scalar: Scalar, offset: number): number {
  const [start, end] = scalar.range ?? [0, 0]
  switch (scalar.type) {
    case Scalar.BLOCK_LITERAL:
    case Scalar.BLOCK_FOLDED:
      return inBlock(text, String(scalar.value), start, end, offset)
    case Scalar.QUOTE_DOUBLE:
      return inFlow(text, start + 1, end - 1, offset, escapeInDouble)
    case Scalar.QUOTE_SINGLE:
      return inFlow(text, start + 1, end - 1, offset, escapeInSingle)
    default:
      return inFlow(text, start, end, offset, () => undefined)
  }
}

/** What stands for `made` characters of the value and takes `taken` of the file. */
interface Escape {
  readonly taken: number
  readonly made: number
}

function inFlow(
  text: string,
  start: number,
  end: number,
  offset: number,
  escapeAt: (text: string, at: number) => Escape | undefined,
): number {
  let at = start
  let made = 0
  while (made < offset && at < end) {
    const piece = foldAt(text, at) ?? escapeAt(text, at) ?? { taken: 1, made: 1 }
    if (made + piece.made > offset) break
    at += piece.taken
    made += piece.made
  }
  return Math.min(at, end)
}

/** A line break with the blanks around it is one space; each empty line more is one line break instead. */
function foldAt(text: string, at: number): Escape | undefined {
  const fold = /[ \t]*\r?\n(?:[ \t]*\r?\n)*[ \t]*/y
  fold.lastIndex = at
  const found = fold.exec(text)?.[0]
  if (found === undefined) return undefined
  const breaks = found.split('\n').length - 1
  return { taken: found.length, made: Math.max(1, breaks - 1) }
}

function escapeInSingle(text: string, at: number): Escape | undefined {
  return text.startsWith("''", at) ? { taken: 2, made: 1 } : undefined
}

const digitsAfter: Readonly<Record<string, number>> = { x: 2, u: 4, U: 8 }

function escapeInDouble(text: string, at: number): Escape | undefined {
  if (text[at] !== '\\') return undefined
  const joined = /\\\r?\n[ \t]*/y
  joined.lastIndex = at
  const join = joined.exec(text)?.[0]
  if (join !== undefined) return { taken: join.length, made: 0 }
  const digits = digitsAfter[text[at + 1] ?? ''] ?? 0
  const code = Number.parseInt(text.slice(at + 2, at + 2 + digits), 16)
  return { taken: 2 + digits, made: code > 0xffff ? 2 : 1 }
}

/** Goes through value and file side by side; what the file has more is indentation, or a line break that was folded. */
function inBlock(text: string, value: string, start: number, end: number, offset: number): number {
  const content = text.indexOf('\n', start) + 1
  const indent = indentOf(text.slice(content, end), value)
  let at = skipIndent(text, content, indent)
  for (let i = 0; i < offset && at < end; i++) {
    while (isBreak(text[at]) && !/\s/.test(value[i] ?? '') && at < end) at = skipIndent(text, at + 1, indent)
    if (text[at] === '\r') at++
    at = isBreak(text[at]) ? skipIndent(text, at + 1, indent) : at + 1
  }
  while (isBreak(text[at]) && !/\s/.test(value[offset] ?? ' ') && at < end) at = skipIndent(text, at + 1, indent)
  return Math.min(at, end)
}

/** How far the lines of a block are indented: that of the first line with text, less the blanks which are part of it. */
function indentOf(block: string, value: string): number {
  const blanks = /^(?:[ \t]*\r?\n)*( *)/.exec(block)?.[1]?.length ?? 0
  const kept = /^\n*( *)/.exec(value)?.[1]?.length ?? 0
  return blanks - kept
}

function skipIndent(text: string, at: number, indent: number): number {
  let skipped = at
  while (skipped < at + indent && text[skipped] === ' ') skipped++
  return skipped
}

function isBreak(character: string | undefined): boolean {
  return character === '\n' || character === '\r'
}
