import type { StandardSchemaV1 } from '@standard-schema/spec'
import { FencepostError } from '../errors.js'

/** The value as the schema gives it back, or an error that lists every problem. At once, if the schema answers at once. */
export function validated<Output>(
  schema: StandardSchemaV1<unknown, Output>,
  value: unknown,
  what: string,
): Output | Promise<Output> {
  const checked = schema['~standard'].validate(value)
  return 'then' in checked ? Promise.resolve(checked).then((later) => judged(later, what)) : judged(checked, what)
}

function judged<Output>(checked: StandardSchemaV1.Result<Output>, what: string): Output {
  if (!checked.issues) return checked.value
  const problems = checked.issues.slice(0, 10).map(({ path, message }) => {
    const place = path?.map((segment) => String(typeof segment === 'object' ? segment.key : segment)).join('.')
    return place ? `${place}: ${message}` : message
  })
  const more = checked.issues.length - problems.length
  throw new FencepostError('FP_INPUT_INVALID', `${what}: ${problems.join('; ')}${more > 0 ? `; and ${more} more` : ''}`)
}
