import type { Json } from '../../job/json.js'
import { textSteps } from '../expression/evaluation.js'
import { cutAt, indexOfText, searchSteps } from '../expression/text-search.js'
import { rendered } from '../expression/values.js'
import { type Call, define, list, optional, pattern, text, whole } from './library-function.js'

// Positions and lengths count characters (code points), as everywhere in CEL: '👍' has the size 1.

export const textFunctions = [
  define('lower', [text('text')], (call, given) => {
    call.spend(given.length / 2) // outside of ASCII, each letter is looked up
    return given.toLowerCase()
  }),
  define('upper', [text('text')], (call, given) => {
    call.spend(given.length / 2)
    return given.toUpperCase()
  }),
  define('trim', [text('text')], (_, given) => given.trim()),
  define('startsWith', [text('text'), text('start')], (_, given, start) => given.startsWith(start)),
  define('endsWith', [text('text'), text('end')], (_, given, end) => given.endsWith(end)),
  define('contains', [text('text'), text('part')], (call, given, part) => characterIndex(call, given, part) >= 0),
  define('matches', [text('text'), pattern('pattern')], (call, given, wanted) =>
    wanted.foundIn(given, (steps) => call.spend(steps)),
  ),
  define('split', [text('text'), text('separator')], (call, given, separator) => {
    call.spend(separator === '' ? given.length : searchSteps(given, separator))
    return separator === '' ? Array.from(given) : cutAt(given, separator, () => call.spend(stepsOfPiece))
  }),
  define('lines', [text('text')], (call, given) => {
    call.spend(given.length)
    const lines = given.split(/\r\n|\n|\r/)
    if (lines.at(-1) === '') lines.pop() // the end of the last line, not a line
    return lines
  }),
  define('join', [list('list'), optional(text('separator'))], join),
  define('replace', [text('text'), text('from'), text('to')], replace),
  define('substring', [text('text'), whole('from'), optional(whole('to'))], substring),
  define(
    'padStart',
    [text('text'), whole('length'), optional(text('fill'))],
    (call, given, length, fill) => padding(call, given, length, fill ?? ' ') + given,
  ),
  define(
    'padEnd',
    [text('text'), whole('length'), optional(text('fill'))],
    (call, given, length, fill) => given + padding(call, given, length, fill ?? ' '),
  ),
]

/** What it costs to cut off a piece of text. */
const stepsOfPiece = 3

/** Where the character with this number begins, as JavaScript counts; the end if there are not so many. */
function unitIndex(given: string, characters: number): number {
  let unit = 0
  for (let left = characters; left > 0 && unit < given.length; left--) unit += isPair(given, unit) ? 2 : 1
  return unit
}

export function characterCount(given: string): number {
  if (!hasPairs(given)) return given.length
  let count = 0
  for (let unit = 0; unit < given.length; unit += isPair(given, unit) ? 2 : 1) count++
  return count
}

/** Whether there are characters that JavaScript counts as two. */
function hasPairs(given: string): boolean {
  return /[\uD800-\uDBFF]/.test(given)
}

function isPair(given: string, unit: number): boolean {
  return (given.charCodeAt(unit) & 0xfc00) === 0xd800 && (given.charCodeAt(unit + 1) & 0xfc00) === 0xdc00
}

/** Like slice() of JavaScript: a negative position counts from the end, one beyond the end is the end. */
function substring(_: Call, given: string, from: number, to?: number): string {
  if (!hasPairs(given)) return given.slice(from, to)
  const count = characterCount(given)
  const unit = (position: number) => unitIndex(given, position < 0 ? count + position : position)
  return given.slice(unit(from), to === undefined ? undefined : Math.max(unit(from), unit(to)))
}

export function characterIndex(call: Call, given: string, part: string): number {
  call.spend(searchSteps(given, part))
  const unit = indexOfText(given, part)
  return unit <= 0 ? unit : characterCount(given.slice(0, unit))
}

function join(call: Call, items: readonly Json[], separator = ''): string {
  call.spend(textSteps(items.length * separator.length))
  return items.map((item) => rendered(item, call.evaluation, call.place)).join(separator)
}

function replace(call: Call, given: string, from: string, to: string): string {
  if (from === '') throw call.errorAt(1, 'cannot look for an empty string')
  call.spend(searchSteps(given, from))
  const pieces = cutAt(given, from, () => call.spend(stepsOfPiece + textSteps(to.length)))
  return pieces.join(to)
}

function padding(call: Call, given: string, length: number, fill: string): string {
  const missing = length - characterCount(given)
  if (missing <= 0 || fill === '') return ''
  call.spend(textSteps(missing * 2) + textSteps(fill.length))
  const fillCount = characterCount(fill)
  return fill.repeat(Math.floor(missing / fillCount)) + fill.slice(0, unitIndex(fill, missing % fillCount))
}
