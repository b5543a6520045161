import { type Document, visit, type YAMLError } from 'yaml'
import { limits } from '../limits.js'

interface SyntaxProblem {
  readonly start: number
  readonly end: number
  readonly message: string
  readonly hint: string
  /** It says little by itself: after another error it is not worth saying. */
  readonly isSequel?: boolean
}

interface Range {
  readonly start: number
  readonly end: number
}

interface Explanation {
  /** Found in the code and the message of the parser. */
  readonly found: RegExp
  readonly message: string | ((written: string) => string)
  readonly hint: string
  readonly where?: (at: number, text: string, document: Document.Parsed) => Range
  readonly isSequel?: true
}

const indentHint = 'Keys of one mapping, and the dashes of one list, stand exactly below one another.'
const colonHint = 'A key is followed by a colon and a space: name: build'

/** The parser’s errors in the words of someone who writes a workflow; the first that is found holds. */
const explanations: readonly Explanation[] = [
  {
    found: /^TAB_AS_INDENT/,
    message: 'a tab stands where only spaces may',
    hint: 'YAML is indented with spaces. Replace the tab.',
  },
  {
    found: /^RESOURCE_EXHAUSTION/,
    message: 'the file is nested too deeply here',
    hint: `A definition may be nested ${limits.payloadDepthMax} levels deep.`,
  },
  {
    found: /^MULTIPLE_DOCS/,
    message: 'a second document begins here',
    hint: 'A file holds one workflow. Move the other into a file of its own.',
  },
  {
    found: /^BAD_SCALAR_START/,
    message: (written) => `a text cannot begin with ${written[0]} unless it is in quotes`,
    hint: 'Put the text in quotes.',
  },
  {
    found: /^BAD_DQ_ESCAPE/,
    message: (written) => `${written.slice(0, 2)} is no escape that YAML knows`,
    hint: 'In double quotes a backslash begins an escape. Use single quotes, or double the backslash.',
    where: (at) => ({ start: at, end: at + 2 }),
  },
  {
    found: /^TAG_RESOLVE_FAILED/,
    message: (written) => `there is no tag ${/^\S*/.exec(written)?.[0]} here`,
    hint: 'Leave it out, or put the text in quotes if it is meant to begin with !.',
  },
  {
    found: /Missing closing .quote/,
    message: 'the quotes that open here are never closed',
    hint: 'Add the closing quote.',
    where: openQuote,
  },
  {
    found: /Missing , |flow-\w+-start at node end/,
    message: 'a comma is missing here',
    hint: 'Values in [ ] and { } are separated by commas.',
    where: wordAt,
  },
  {
    found: /^BLOCK_IN_FLOW/,
    message: 'a comma is missing in here, or quotes around a text with ": "',
    hint: 'Values in [ ] and { } are separated by commas.',
  },
  {
    found: /block-seq-ind on same line/,
    message: 'a list cannot begin on the line of its key',
    hint: 'Put the dashes below the key, or write the list as [a, b].',
  },
  {
    found: /^(BLOCK_AS|MULTILINE)_IMPLICIT_KEY without a colon/,
    message: 'a colon and a space are missing after a key',
    hint: colonHint,
    where: firstOfLine,
  },
  { found: /Missing space after :/, message: 'a space is missing after the colon', hint: colonHint },
  {
    found: /need to be followed by map values/,
    message: 'a colon and a space are missing after a key',
    hint: colonHint,
    where: wordAt,
  },
  {
    found: /(sequence|seq).* end with a \]/,
    message: 'the ] that closes the list is missing',
    hint: 'Add it before this line.',
  },
  {
    found: /map.* end with a \}/,
    message: 'the } that closes the mapping is missing',
    hint: 'Add it before this line.',
  },
  {
    found: /without - indicator/,
    message: 'this line does not belong to the list above it',
    hint: indentHint,
    where: firstOfLine,
  },
  {
    found: /^BAD_INDENT/,
    message: 'this line is not indented like its neighbours',
    hint: indentHint,
    where: firstOfLine,
  },
  {
    found: /Comments must be separated/,
    message: 'a space is missing before the #',
    hint: 'Put a space before a comment, or quotes around a text with #.',
  },
  {
    found: /^(BLOCK_AS|MULTILINE)_IMPLICIT_KEY on one line/,
    message: 'a second ": " in one line',
    hint: 'Put text that contains ": " in quotes, or begin a new line.',
  },
  {
    found: /^(BLOCK_AS|MULTILINE)_IMPLICIT_KEY/,
    message: 'this line is indented further than the one above it, and so taken for more of its text',
    hint: indentHint,
    where: firstOfNextLine,
    isSequel: true,
  },
  {
    found: /^UNEXPECTED_TOKEN after a quote Unexpected scalar/,
    message: 'text goes on after the closing quote',
    hint: "A quote ends a quoted text. Use the other kind of quotes around it, or double a single quote inside: 'it''s'.",
  },
  { found: /^UNEXPECTED_TOKEN/, message: 'this is not expected here', hint: indentHint, isSequel: true },
]

/** What leaves the rest of the file readable is reported where the values are read. */
export function isSyntaxError(error: YAMLError): boolean {
  return error.code !== 'NON_STRING_KEY'
}

export function syntaxProblem(error: YAMLError, text: string, document: Document.Parsed): SyntaxProblem {
  const [start, end] = error.pos
  const expression = expressionWithoutQuotes(text, start)
  if (expression !== undefined) {
    const hint = 'YAML reads { as the start of a mapping. Put quotes around the whole value.'
    return { start: expression, end: expression + 2, message: 'an expression must be in quotes', hint }
  }
  const told = `${error.code}${circumstances(text, start)} ${error.message}`
  const explanation = explanations.find(({ found }) => found.test(told))
  if (!explanation) {
    const hint = 'Mend this place first; then the rest is checked.'
    return { start, end, message: `YAML cannot be read here: ${error.message}`, hint }
  }
  const { message, hint, where, isSequel } = explanation
  return {
    ...(where?.(start, text, document) ?? { start, end }),
    message: typeof message === 'string' ? message : message(text.slice(start, start + 80)),
    hint,
    isSequel: isSequel ?? false,
  }
}

/** What the parser does not say. */
function circumstances(text: string, at: number): string {
  if (/["']\s*$/.test(text.slice(lineStart(text, at), at))) return ' after a quote'
  const line = lineAround(text, at)
  if (/: .*: /.test(line)) return ' on one line'
  return /:(\s|$)/.test(line) ? '' : ' without a colon'
}

function lineStart(text: string, at: number): number {
  return text.lastIndexOf('\n', at - 1) + 1
}

function lineAround(text: string, at: number): string {
  const end = text.indexOf('\n', at)
  return text.slice(lineStart(text, at), end === -1 ? undefined : end)
}

function firstOfLine(at: number, text: string): Range {
  return wordAt(lineStart(text, at), text)
}

function firstOfNextLine(at: number, text: string): Range {
  const end = text.indexOf('\n', at)
  return end === -1 ? firstOfLine(at, text) : wordAt(end + 1, text)
}

/** The next word, on this line or below. */
function wordAt(at: number, text: string): Range {
  const [, blanks = '', word = ''] = /^(\s*)(\S*)/.exec(text.slice(at)) ?? []
  return { start: at + blanks.length, end: at + blanks.length + word.length }
}

/** The offset of a `{{` on this line that YAML does not take for text. */
function expressionWithoutQuotes(text: string, at: number): number | undefined {
  const found = /^(\s*(?:- +)*[\w-]+: +|\s*(?:- +)+)\{\{/.exec(lineAround(text, at))
  return found?.[1] === undefined ? undefined : lineStart(text, at) + found[1].length
}

/** The start of the quoted text that reaches up to the error. */
function openQuote(at: number, _: string, document: Document.Parsed): Range {
  let start = at
  visit(document, {
    Scalar(_key, scalar) {
      const [from = at, to = at] = scalar.range ?? []
      if (from < at && to >= at && scalar.type?.startsWith('QUOTE')) start = from
    },
  })
  return { start, end: start + 1 }
}
