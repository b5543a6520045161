import type { Json } from '../../job/json.js'
import { textSteps } from '../expression/evaluation.js'
import { rendered } from '../expression/values.js'
import { type Call, define, list, optional, pattern, text, whole } from './library-function.js'

// Positions and lengths count characters (code points), as everywhere in CEL: '👍' has the size 1.

export const textFunctions = [
  define('lower', [text('text')], (_, given) => given.toLowerCase()),
  define('upper', [text('text')], (_, given) => given.toUpperCase()),
  define('trim', [text('text')], (_, given) => given.trim()),
  define('startsWith', [text('text'), text('start')], (_, given, start) => given.startsWith(start)),
  define('endsWith', [text('text'), text('end')], (_, given, end) => given.endsWith(end)),
  define('contains', [text('text'), text('part')], (_, given, part) => given.includes(part)),
  define('matches', [text('text'), pattern('pattern')], (call, given, wanted) =>
    wanted.foundIn(given, (steps) => call.spend(steps)),
  ),
  define('split', [text('text'), text('separator')], (call, given, separator) => {
    call.spend(given.length) // up to one item for each character
    return separator === '' ? Array.from(given) : given.split(separator)
  }),
  define('lines', [text('text')], (call, given) => {
    call.spend(given.length)
    const lines = given.split(/\r\n|\n|\r/)
    if (lines.at(-1) === '') lines.pop() // the end of the last line, not a line
    return lines
  }),
  define('join', [list('list'), optional(text('separator'))], join),
  define('replace', [text('text'), text('from'), text('to')], replace),
  define('substring', [text('text'), whole('from'), optional(whole('to'))], (_, given, from, to) =>
    hasPairs(given) ? Array.from(given).slice(from, to).join('') : given.slice(from, to),
  ),
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

export function characterCount(given: string): number {
  let count = given.length
  if (hasPairs(given)) count = Array.from(given).length
  return count
}

export function characterIndex(given: string, part: string): number {
  const unit = given.indexOf(part)
  return unit <= 0 ? unit : characterCount(given.slice(0, unit))
}

/** Whether there are characters that JavaScript counts as two. */
function hasPairs(given: string): boolean {
  return /[\uD800-\uDBFF]/.test(given)
}

function join(call: Call, items: readonly Json[], separator = ''): string {
  call.spend(textSteps(items.length * separator.length))
  return items.map((item) => rendered(item, call.evaluation, call.place)).join(separator)
}

function replace(call: Call, given: string, from: string, to: string): string {
  if (from === '') throw call.errorAt(1, 'cannot look for an empty string')
  const parts = given.split(from)
  call.spend(parts.length + textSteps((parts.length - 1) * to.length))
  return parts.join(to)
}

function padding(call: Call, given: string, length: number, fill: string): string {
  const missing = length - characterCount(given)
  if (missing <= 0 || fill === '') return ''
  call.spend(missing)
  const characters = Array.from(fill)
  const times = Math.ceil(missing / characters.length)
  return Array.from(fill.repeat(times)).slice(0, missing).join('')
}
