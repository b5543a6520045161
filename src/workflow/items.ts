import type { Json } from '../job/json.js'
import { limits } from '../limits.js'
import type { Items } from './definition.js'
import type { ExpressionCheck } from './expression-check.js'
import { type Field, isText } from './field.js'

const onFailureElsewhere: Readonly<Record<string, string>> = {
  ignore: 'continue',
  skip: 'continue',
  stop: 'fail',
  abort: 'fail',
}

const listHint = 'Write with_items: "{{ parameters.regions }}", or a list such as [a, b].'

/** `with_items` and the options that go with it. */
export function compileItems(task: Field, expressions: ExpressionCheck): Items | null {
  const field = task.at('with_items')
  const options = ['batch_size', 'concurrency', 'on_item_failure'].map((key) => task.at(key))
  if (field.value === undefined) {
    for (const option of options.filter(({ isGiven }) => isGiven)) {
      option.addAtKey(
        `${option.label} needs with_items`,
        'It says how a list is worked through, and this task has none.',
      )
    }
    return null
  }
  const [batchSize, concurrency, onFailure] = options as [Field, Field, Field]
  return {
    ...compileLists(field, expressions),
    batchSize: (batchSize.isGiven ? batchSize.integer(1, limits.batchSizeMax) : null) ?? null,
    concurrency: compileConcurrency(concurrency, expressions),
    onFailure: (onFailure.isGiven ? onFailure.oneOf(['fail', 'continue'], onFailureElsewhere) : 'fail') ?? 'fail',
  }
}

function compileLists(field: Field, expressions: ExpressionCheck): Pick<Items, 'of' | 'zipped'> {
  const { value } = field
  if (Array.isArray(value) || isText(value)) return { of: compileList(field, expressions), zipped: false }
  const entries = field.entries('a list, an expression that gives one, or a mapping of names to lists', listHint)
  if (entries?.length === 0)
    field.add('with_items names no list', 'Write a name and its list: { region: "{{ parameters.regions }}" }.')
  const lists = (entries ?? []).map(([name, list]) => [name, compileList(list, expressions)] as const)
  checkLengths(entries ?? [])
  return { of: Object.fromEntries(lists), zipped: true }
}

function compileList(field: Field, expressions: ExpressionCheck): Json {
  if (Array.isArray(field.value)) {
    expressions.checkTemplate(field, 'items')
    return field.value as Json
  }
  if (isText(field.value) && !field.value.includes('{{'))
    return field.refuse('a list, or an expression that gives one', listHint) ?? null
  if (isText(field.value)) return expressions.checkOne(field, 'items') ?? null
  return field.refuse('a list, or an expression that gives one', listHint) ?? null
}

/** Zipped lists have the same length; of those that are written out it is known now. */
function checkLengths(entries: readonly (readonly [string, Field])[]): void {
  const known = entries.filter(([, { value }]) => Array.isArray(value)) as [string, Field & { value: unknown[] }][]
  const [first, ...others] = known
  for (const [name, list] of others) {
    if (!first || list.value.length === first[1].value.length) continue
    const counts = `${name} has ${list.value.length} items, ${first[0]} has ${first[1].value.length}`
    list.add(
      `the lists of with_items differ in length: ${counts}`,
      'They are worked through side by side. Make them equally long.',
    )
  }
}

function compileConcurrency(field: Field, expressions: ExpressionCheck): Items['concurrency'] {
  if (!field.isGiven) return null
  if (isText(field.value) && field.value.includes('{{')) return expressions.checkOne(field, 'items') ?? null
  return field.integer(1, limits.gateLimitMax, 'Or an expression. Without concurrency, all items run at once.') ?? null
}
