import { type Document, parseDocument } from 'yaml'
import { limits } from '../limits.js'
import { FilePlaces, Lines } from './file-places.js'
import { type Places, type Problem, ProblemLog } from './problem.js'
import { Conversion, tooLargeHint } from './yaml-conversion.js'
import { isSyntaxError, syntaxProblem } from './yaml-syntax.js'

/** The data, plain JSON, with the place of every value. If the text is no YAML at all, the problems are all there is. */
export interface YamlFile {
  readonly content?: { readonly data: unknown; readonly places: Places }
  readonly problems: readonly Problem[]
}

/**
 * Reads YAML 1.2, with `<<` for merging, into JSON and the place of every value. What can be guessed with confidence, such
 * as an expression whose quotes were forgotten, is reported and read as meant, so that the rest can be checked, too.
 */
export function readYaml(text: string): YamlFile {
  const lines = new Lines(text)
  const log = new ProblemLog(undefined, undefined)
  const { problems } = log
  const bytes = Buffer.byteLength(text)
  if (bytes > limits.definitionBytesMax) {
    log.addAtSpan(
      [],
      lines.span(0, 0),
      `the file has ${bytes} bytes, the limit is ${limits.definitionBytesMax}`,
      tooLargeHint,
    )
    return { problems }
  }
  const options = { prettyErrors: false, stringKeys: true, uniqueKeys: false, resolveKnownTags: false }
  const document = parseDocument(text, options)
  if (!isReadable(document, text, lines, log)) return { problems }
  if (!document.contents) {
    log.addAtSpan([], lines.span(0, 0), 'there is nothing in this file', 'A workflow has a name and tasks.')
    return { problems }
  }
  const conversion = new Conversion(text, lines, log)
  const place = conversion.convert(document.contents, [])
  if (conversion.isTooLarge) return { problems }
  return { content: { data: place.value, places: new FilePlaces(text, lines, place) }, problems }
}

/** One mistake often makes several errors: of those on one line the first is noted, and none that says nothing itself. */
function isReadable(document: Document.Parsed, text: string, lines: Lines, log: ProblemLog): boolean {
  const errors = [...document.errors, ...document.warnings].filter(isSyntaxError)
  const found = errors.map((error) => syntaxProblem(error, text, document))
  const telling = found.filter(({ isSequel }) => !isSequel)
  const noted = new Set<number>()
  for (const { start, end, message, hint } of telling.length > 0 ? telling : found.slice(0, 1)) {
    const span = lines.span(start, end)
    if (!noted.has(span.line)) log.addAtSpan([], span, message, hint)
    noted.add(span.line)
  }
  return errors.length === 0
}
