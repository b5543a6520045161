import { type Document, isScalar, visit, type YAMLError } from 'yaml'

interface SyntaxProblem {
  readonly start: number
  readonly end: number
  readonly message: string
  readonly hint: string
}

/** What leaves the rest of the file readable is reported where the values are read. */
export function isSyntaxError(error: YAMLError): boolean {
  return error.code !== 'NON_STRING_KEY'
}

/** The parser’s errors in the words of someone who writes a workflow. */
export function syntaxProblem(error: YAMLError, text: string, document: Document.Parsed): SyntaxProblem {
  const [start, end] = error.pos
  const at = (message: string, hint: string): SyntaxProblem => ({ start, end, message, hint })
  const expression = expressionWithoutQuotes(text, start)
  if (expression !== undefined) {
    const hint = `YAML reads { as the start of a mapping. Put quotes around the whole value.`
    return { start: expression, end: expression + 2, message: 'an expression must be in quotes', hint }
  }
  switch (error.code) {
    case 'TAB_AS_INDENT':
      return at('a tab stands where only spaces may', 'YAML is indented with spaces. Replace the tab.')
    case 'MULTIPLE_DOCS':
      return at('a second document begins here', 'A file holds one workflow. Move the other into a file of its own.')
    case 'BAD_SCALAR_START':
      return at(`a text cannot begin with ${text[start]} unless it is in quotes`, 'Put the text in quotes.')
    case 'BAD_DQ_ESCAPE':
      return at(
        `${text.slice(start, start + 2)} is no escape that YAML knows`,
        'In double quotes a backslash begins an escape. Use single quotes, or double the backslash.',
      )
    case 'TAG_RESOLVE_FAILED':
      return at(
        `there is no tag ${text.slice(start, end)} here`,
        'Leave it out, or put the text in quotes if it is meant to begin with !.',
      )
    case 'BLOCK_AS_IMPLICIT_KEY':
    case 'MULTILINE_IMPLICIT_KEY':
      return /[^\n]*: [^\n]*: /.test(lineAround(text, start))
        ? at('a second ": " in one line', 'Put text that contains ": " in quotes, or begin a new line.')
        : at('this value and the lines after it do not fit together', indentHint)
    case 'MISSING_CHAR': {
      const quoted = openQuote(document, end, text)
      if (quoted !== undefined) {
        return {
          start: quoted,
          end: quoted + 1,
          message: 'the quotes that open here are never closed',
          hint: 'Add the closing quote.',
        }
      }
      const first = start + (/\s*/.exec(text.slice(start))?.[0].length ?? 0)
      return {
        start: first,
        end: first + 1,
        message: 'this line does not belong to the list above it',
        hint: indentHint,
      }
    }
    case 'BAD_INDENT':
      return /must be sufficiently indented and end with a (.)/.test(error.message)
        ? at(
            `the ${error.message.slice(-1)} that closes ${collectionIn(error.message)} is missing`,
            'Add it before this line.',
          )
        : at('this line is not indented like its neighbours', indentHint)
    case 'UNEXPECTED_TOKEN':
      if (/["']/.test(text[start - 1] ?? '')) {
        return at(
          'text goes on after the closing quote',
          "A quote ends a quoted text. Use the other kind of quotes around it, or double a single quote inside: 'it''s'.",
        )
      }
      return at('this is not expected here', indentHint)
    default:
      return at(`YAML cannot be read here: ${error.message}`, 'Mend this place first; then the rest is checked.')
  }
}

const indentHint = 'Keys of one mapping, and the dashes of one list, stand exactly below one another.'

function lineAround(text: string, at: number): string {
  const end = text.indexOf('\n', at)
  return text.slice(text.lastIndexOf('\n', at - 1) + 1, end === -1 ? undefined : end)
}

/** The offset of a `{{` on this line that YAML does not take for text. */
function expressionWithoutQuotes(text: string, at: number): number | undefined {
  const found = /^(\s*(?:- +)*[\w-]+: +|\s*(?:- +)+)\{\{/.exec(lineAround(text, at))
  return found?.[1] === undefined ? undefined : text.lastIndexOf('\n', at - 1) + 1 + found[1].length
}

/** The start of the quoted text that reaches up to the error. */
function openQuote(document: Document.Parsed, at: number, text: string): number | undefined {
  let found: number | undefined
  visit(document, {
    Scalar(_, scalar) {
      const start = isScalar(scalar) ? scalar.range?.[0] : undefined
      if (start !== undefined && start < at && /QUOTE/.test(scalar.type ?? '')) found = start
    },
  })
  return found !== undefined && /["']/.test(text[found] ?? '') ? found : undefined
}

function collectionIn(message: string): string {
  return message.startsWith('Flow seq') ? 'the list' : 'the mapping'
}
