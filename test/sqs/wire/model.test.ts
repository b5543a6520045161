import * as sdk from '@aws-sdk/client-sqs'
import { describe, expect, it } from 'vitest'
import { actionNames, actions } from '../../../src/sqs/wire/model.js'
import type { Members, Shape } from '../../../src/sqs/wire/shape.js'

/** A schema of the SDK: a number for a scalar or a list of strings, a tuple for the rest, or a function of either. */
type SdkSchema = number | (() => SdkSchema) | readonly unknown[]

const scalars: Readonly<Record<number, string>> = { 0: 'string', 1: 'number', 2: 'boolean', 21: 'blob' }

describe('the table of actions', () => {
  it('names the actions that the SDK has', () => {
    const commands = Object.keys(sdk).flatMap((name) => /^(\w+)Command$/.exec(name)?.[1] ?? [])
    expect([...actionNames].sort()).toEqual(commands.sort())
    expect(actionNames).toHaveLength(23)
  })

  it.each(actionNames)('has %s as the SDK has it, with the names of both protocols', (action) => {
    const operation = (sdk as unknown as Record<string, readonly unknown[]>)[`${action}$`]
    expect(ours(actions[action].input)).toEqual(theirs(operation?.[4] as SdkSchema))
    expect(ours(actions[action].output)).toEqual(theirs(operation?.[5] as SdkSchema))
  })
})

function ours(members: Members): unknown {
  return Object.fromEntries(
    Object.entries(members).map(([name, member]) => [
      name,
      { required: member.required, query: member.query ?? name, shape: oursOf(member.shape) },
    ]),
  )
}

function oursOf(shape: Shape): unknown {
  switch (shape.kind) {
    case 'list':
      return { list: oursOf(shape.item) }
    case 'map':
      return { map: oursOf(shape.value), key: shape.key, valueName: 'Value' }
    case 'structure':
      return ours(shape.members)
    default:
      // The SDK has one kind of number.
      return shape.kind === 'integer' || shape.kind === 'long' ? 'number' : shape.kind
  }
}

function theirs(schema: SdkSchema): unknown {
  const resolved = typeof schema === 'function' ? schema() : schema
  if (resolved === ('unit' as unknown)) return {}
  if (typeof resolved === 'number') return resolved >= 64 ? { list: scalars[resolved - 64] } : scalars[resolved]
  if (typeof resolved === 'function') return theirs(resolved)
  const [kind, , , , first, second, requiredCount = 0] = resolved
  if (kind === 1) return { list: theirs(typed(first).schema) }
  if (kind === 2) {
    return { map: theirs(typed(second).schema), key: typed(first).xmlName, valueName: typed(second).xmlName }
  }
  const names = first as readonly string[]
  return Object.fromEntries(
    names.map((name, i) => {
      const member = typed((second as readonly unknown[])[i])
      return [
        name,
        { required: i < (requiredCount as number), query: member.xmlName ?? name, shape: theirs(member.schema) },
      ]
    }),
  )
}

/** A member is a schema, or a schema with traits beside it. */
function typed(member: unknown): { readonly schema: SdkSchema; readonly xmlName: string | undefined } {
  if (Array.isArray(member) && member.length === 2) {
    const [schema, traits] = member as [SdkSchema, { readonly xmlName?: string } | 0]
    return { schema, xmlName: traits === 0 ? undefined : traits.xmlName }
  }
  return { schema: member as SdkSchema, xmlName: undefined }
}
