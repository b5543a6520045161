import { conversionFunctions } from './functions/conversion-functions.js'
import type { LibraryFunction } from './functions/library-function.js'
import { listFunctions } from './functions/list-functions.js'
import { numberFunctions } from './functions/number-functions.js'
import { objectFunctions } from './functions/object-functions.js'
import { textFunctions } from './functions/text-functions.js'

/**
 * The functions that every expression may call, as f(x, y) or as x.f(y). Those that do not simply take values, has(),
 * default(), map() and the like, are in expression/forms.ts. docs/reference/expressions.md describes all of them.
 */
export const functionsByName: ReadonlyMap<string, LibraryFunction> = new Map(
  [...textFunctions, ...listFunctions, ...objectFunctions, ...numberFunctions, ...conversionFunctions].map((each) => [
    each.name,
    each,
  ]),
)

/** What people look for who know another language, or more of CEL, and what to write instead. */
export const functionsElsewhere: Readonly<Record<string, string>> = {
  len: 'Write size(x).',
  length: 'Write size(x).',
  count: 'Write size(x), or size(x.filter(i, …)).',
  isEmpty: 'Write size(x) == 0.',
  lowerAscii: 'Write lower(text).',
  toLowerCase: 'Write lower(text).',
  upperAscii: 'Write upper(text).',
  toUpperCase: 'Write upper(text).',
  includes: 'Write contains(text, part) for a string, item in list for a list.',
  get: "Write default(x['key'], other).",
  coalesce: 'Write default(x, other).',
  orValue: 'Write default(x, other).',
  concat: 'Write a + b.',
  push: 'Write list + [item].',
  append: 'Write list + [item].',
  find: 'Write first(list.filter(x, …)).',
  any: 'Write list.exists(x, …).',
  some: 'Write list.exists(x, …).',
  every: 'Write list.all(x, …).',
  reduce: 'There are sum(), min(), max() and join(); anything else belongs into a task.',
  items: 'Write entries(object).',
  assign: 'Write merge(a, b).',
  str: 'Write string(x).',
  float: 'Write double(x).',
  json: 'Write toJson(x) or fromJson(text).',
  charAt: 'Write substring(text, i, i + 1).',
  lastIndexOf: 'There is indexOf(x, part).',
  now: 'An expression gives the same whenever it is evaluated; a time has to come from a parameter or a result.',
  timestamp: 'Times are strings here; toEpochMs(time) gives a number to calculate with.',
  duration: 'Durations are numbers of milliseconds here: toEpochMs(a) - toEpochMs(b).',
  type: 'There is no function that tells the type of a value.',
  dyn: 'Every value is dynamic here.',
  uint: 'There is one kind of number: int(x) and double(x).',
  bytes: 'There are no bytes in JSON.',
  bool: "Compare instead: x == 'true'.",
  bind: 'Publish the value as one of `vars` first.',
}
