import type { Problem } from './problem.js'

/** Of a line longer than this, the part around the problem is shown. */
const excerptLengthMax = 100
/** Nobody reads more; the rest often follows from the first. */
const shownMax = 100

/**
 * The problems as people read them:
 *
 *   release.yaml:12:13  unknown task "valdate"
 *     12 |         do: valdate
 *        |             ^^^^^^^
 *     Did you mean validate?
 *
 * Without a file, `source` is undefined: the path takes the place of line and column.
 */
export function problemsText(problems: readonly Problem[], source: string | undefined, fileName: string): string {
  const lines = source?.split(/\r?\n/)
  const shown = problems.slice(0, shownMax).map((problem) => problemText(problem, lines, fileName))
  if (problems.length > shownMax) shown.push(`… and ${problems.length - shownMax} more`)
  return shown.join('\n\n')
}

function problemText(problem: Problem, lines: readonly string[] | undefined, fileName: string): string {
  const { path, line, column, length, message, hint, expression } = problem
  const parts: string[] = []
  if (lines && line !== undefined && column !== undefined) {
    parts.push(`${fileName}:${line}:${column}  ${message}`)
    const text = lines[line - 1] ?? ''
    if (text.trim() !== '') parts.push(excerpt(`${line} | `, text, column - 1, length ?? 1))
  } else {
    parts.push([fileName, path, message].filter((part) => part !== '').join('  '))
    if (expression) parts.push(excerpt('', expression.source, expression.offset, expression.length))
  }
  if (hint !== undefined) parts.push(`  ${hint}`)
  return parts.join('\n')
}

/** One line of text with a caret under what is meant. */
function excerpt(margin: string, text: string, offset: number, length: number): string {
  const lineStart = text.lastIndexOf('\n', offset - 1) + 1
  const lineEnd = text.indexOf('\n', lineStart)
  const line = text.slice(lineStart, lineEnd === -1 ? undefined : lineEnd)
  const at = Math.min(offset - lineStart, line.length)
  const start = line.length <= excerptLengthMax ? 0 : Math.max(0, at - Math.floor(excerptLengthMax / 2))
  const cut = line.slice(start, start + excerptLengthMax)
  const before = start > 0 ? '…' : ''
  const after = start + excerptLengthMax < line.length ? '…' : ''
  // A tab stays one, so that the caret stands right however wide it is.
  const indent = before.replaceAll('…', ' ') + cut.slice(0, at - start).replaceAll(/[^\t]/g, ' ')
  const carets = '^'.repeat(Math.max(1, Math.min(length, cut.length - (at - start))))
  const bar = margin.replaceAll(/[^|]/g, ' ')
  return `  ${margin}${before}${visible(cut)}${after}\n  ${bar}${indent}${carets}`
}

/** An escape sequence in a file of someone else's must not reach the terminal. */
function visible(text: string): string {
  return text.replaceAll(/[^\P{Cc}\t]|[\p{Bidi_Control}\u2028\u2029]/gu, '�')
}
