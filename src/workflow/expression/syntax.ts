import { type ASTNode, Environment, ParseError } from '@marcbachmann/cel-js'
import { limits } from '../../limits.js'
import type { ExpressionError } from '../expression-error.js'
import { Place } from './place.js'
import type { Hole } from './scanner.js'

export type Node = ASTNode

/**
 * Only the grammar of cel-js is used, not its evaluation: that lets `x.missing || true` be true, drops keys named
 * `constructor`, gives Infinity for 1.0 / 0.0, tells an int from a double where JSON knows one kind of number, and
 * cannot be stopped. See docs/internals/dependencies.md.
 */
const grammar = new Environment({
  unlistedVariablesAreDyn: true,
  limits: {
    maxAstNodes: limits.expressionNodesMax,
    maxDepth: limits.expressionDepthMax,
    maxListElements: limits.expressionNodesMax,
    maxMapEntries: limits.expressionNodesMax,
    maxCallArguments: limits.expressionNodesMax,
  },
})

export function parse(hole: Hole): Node {
  const { text, place } = hole
  if (text.length > limits.expressionLengthMax) {
    throw place.error(`an expression may have ${limits.expressionLengthMax.toLocaleString('en-US')} characters`)
  }
  if (text.trim() === '') throw place.error('there is no expression between {{ and }}')
  try {
    return grammar.parse(text).ast
  } catch (error) {
    if (error instanceof ParseError) throw explained(error, hole)
    throw tooDeep(place) // the parser goes down without counting for !!!!…
  }
}

/** The place of a stretch of the expression in the whole string. */
export function placeIn(hole: Hole, start: number, end: number): Place {
  return new Place(hole.place.source, hole.textOffset + start, Math.max(1, end - start))
}

export function tooDeep(place: Place): ExpressionError {
  return place.error(`the expression is nested deeper than ${limits.expressionDepthMax} levels`)
}

/** What the parser’s own messages call by the names of its tokens. */
const tokens: Readonly<Record<string, string>> = {
  RPAREN: ')',
  RBRACKET: ']',
  RBRACE: '}',
  COLON: ':',
  IDENTIFIER: 'a name',
}

/** What people write who come from another language. */
const otherLanguages: Readonly<Record<string, string>> = {
  '=': 'To compare, write ==.',
  '&': 'Write && for “and”.',
  '|': 'Write || for “or”. Functions are called: upper(x) or x.upper().',
  and: 'Write && for “and”.',
  or: 'Write || for “or”.',
  not: 'Write ! for “not”.',
  is: 'To compare, write ==.',
  if: 'A choice is written condition ? value : other.',
  else: 'A choice is written condition ? value : other.',
  for: 'Write list.map(x, …), list.filter(x, …), list.all(x, …) or list.exists(x, …).',
  '??': 'Write default(x, other).',
  '?': 'Write default(x.y, other) for a field that may be missing, or condition ? value : other.',
  '`': 'Strings stand in single or double quotes.',
  '“': 'Strings stand in straight quotes: \' or ".',
  '”': 'Strings stand in straight quotes: \' or ".',
  '‘': 'Strings stand in straight quotes: \' or ".',
  '’': 'Strings stand in straight quotes: \' or ".',
  $: 'Names are written without $.',
}

function explained(error: ParseError, hole: Hole): ExpressionError {
  const { text } = hole
  const reported = Math.min(error.range?.start ?? 0, text.length)
  const start = text.startsWith('??', reported - 1) ? reported - 1 : reported
  const word = /^(?:\?\?|\w+|[^\s])/u.exec(text.slice(start))?.[0] ?? ''
  const end = Math.max(error.range?.end ?? start, start + word.length)
  const ended = text.slice(start).trim() === ''
  const place = ended ? placeIn(hole, text.trimEnd().length, 0) : placeIn(hole, start, end)
  const hint = otherLanguages[word]
  switch (error.code) {
    case 'limit_exceeded':
      if (error.summary.includes('maxDepth')) return tooDeep(place)
      return place.error(`the expression has more than ${limits.expressionNodesMax.toLocaleString('en-US')} parts`)
    case 'unexpected_token':
    case 'unexpected_character':
      return place.error(ended ? 'the expression ends too early' : `${shownWord(word)} cannot stand here`, hint)
    case 'expected_token': {
      const expected = tokens[/^Expected (\w+)/.exec(error.summary)?.[1] ?? ''] ?? 'something else'
      const found = ended ? 'the expression ends' : `there is ${shownWord(word)}`
      return place.error(`${expected} is missing here: ${found}`, hint ?? nameHint(expected, word))
    }
    case 'reserved_identifier':
      return place.error(`${word} is a reserved word`, hint)
    case 'invalid_macro_argument':
      return place.error(
        'the variable must be a plain name',
        'Write it like list.map(x, x.price): x stands for each item in turn.',
      )
    default:
      return place.error(lowered(error.summary))
  }
}

function nameHint(expected: string, word: string): string | undefined {
  return expected === 'a name' ? `A key that is no plain name is written in brackets: x['${word}'].` : undefined
}

function shownWord(word: string): string {
  return /^\w+$/.test(word) ? `“${word}”` : word
}

function lowered(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1)
}
