import { describe, expect, it } from 'vitest'
import { FencepostError } from '../../src/errors.js'
import type { Json } from '../../src/job/json.js'
import type { Parameter } from '../../src/workflow/definition.js'
import { checkedValues, parametersOrThrow } from '../../src/workflow/parameters.js'

const free: Parameter = { type: null, required: false, secret: false, description: null }
const declared: Readonly<Record<string, Parameter>> = {
  version: { ...free, type: 'string', required: true, description: 'Such as 1.2.3' },
  count: { ...free, type: 'integer', default: 3 },
  regions: { ...free, type: 'array' },
  token: { ...free, type: 'string', secret: true },
}

function messages(given: unknown): string[] {
  const checked = checkedValues(declared, given)
  return 'problems' in checked
    ? checked.problems.map(({ message, hint }) => `${message}${hint ? ` | ${hint}` : ''}`)
    : []
}

describe('the values that a run is started with', () => {
  it('get defaults, and null for what is optional and not given', () => {
    expect(checkedValues(declared, { version: '1' })).toEqual({
      values: { version: '1', count: 3, regions: null, token: null },
    })
  })

  it('may be null where they are optional, which then is no value', () => {
    expect(checkedValues(declared, { version: '1', count: null, regions: null })).toMatchObject({
      values: { count: 3, regions: null },
    })
  })

  it('are none for a workflow without parameters', () => {
    expect(checkedValues({}, undefined)).toEqual({ values: {} })
    expect(checkedValues({}, {})).toEqual({ values: {} })
  })

  it('are stored as JSON', () => {
    expect(checkedValues({ at: free }, { at: new Date(0) })).toEqual({ values: { at: '1970-01-01T00:00:00.000Z' } })
    expect(() => checkedValues({ at: free }, { at: 5n })).toThrow('the parameters.at is a bigint')
    expect(() => checkedValues({ at: free }, { at: 'x'.repeat(100) }, 'parameter', 50)).toThrow('more than 50 bytes')
  })

  it('have names that no prototype gives them', () => {
    expect(checkedValues({ toString: free }, {})).toEqual({ values: { toString: null } })
    expect(messages(JSON.parse('{"version":"1","__proto__":1}'))).toEqual([expect.stringContaining('"__proto__"')])
  })
})

describe.each<[NonNullable<Parameter['type']>, Json[], Json[], string]>([
  ['string', ['', 'x'], [1, true, [], {}], 'text'],
  ['number', [0, -1.5, 1e300], ['1', true, [], {}], 'a number'],
  ['integer', [0, -5, 2 ** 53 - 1], [1.5, 2 ** 53, '1', [], {}], 'a whole number'],
  ['boolean', [true, false], ['true', 0, [], {}], 'true or false'],
  ['array', [[], [1]], ['a', 1, {}], 'a list'],
  ['object', [{}, { a: 1 }], ['a', 1, []], 'an object'],
])('a parameter of type %s', (type, right, wrong, expected) => {
  const parameters = { p: { ...free, type } }

  it.each(right.map((p) => ({ p })))('takes $p', ({ p }) => {
    expect(checkedValues(parameters, { p })).toEqual({ values: { p } })
  })

  it.each(wrong.map((p) => ({ p })))('refuses $p', ({ p }) => {
    const checked = checkedValues(parameters, { p })
    expect(checked).toMatchObject({
      problems: [
        { name: 'p', message: expect.stringContaining(`the parameter p must be ${expected}, not `) as string },
      ],
    })
  })
})

describe('what is wrong', () => {
  it('is told all at once, in the order of the declaration', () => {
    expect(messages({ versoin: '1', count: 'three', regions: 'eu', extra: 1 })).toEqual([
      'the parameter version is required (Such as 1.2.3) | Give it, text.',
      'the parameter count must be a whole number, not "three"',
      'the parameter regions must be a list, not "eu"',
      'there is no parameter "versoin" | Did you mean version? The parameters are version, count, regions and token.',
      'there is no parameter "extra" | The parameters are version, count, regions and token.',
    ])
  })

  it('is told without the value of a secret', () => {
    expect(messages({ version: '1', token: 12345 })).toEqual(['the parameter token must be text'])
  })

  it.each<[unknown, string]>([
    ['version=1', 'the parameters must be an object with their names, not "version=1"'],
    [['1'], 'the parameters must be an object with their names, not a list'],
  ])('is that %j has no names', (given, expected) => {
    expect(messages(given)).toEqual([`${expected} | Give each by its name: { version: … }`])
  })

  it('is told of the fields of a form in their words', () => {
    expect(checkedValues({ why: { ...free, required: true } }, { wy: 1 }, 'field')).toEqual({
      problems: [
        { name: 'why', message: 'the field why is required', hint: 'Give it.' },
        { name: 'wy', message: 'there is no field "wy"', hint: 'Did you mean why? The fields are why.' },
      ],
    })
  })

  it('is thrown for those who cannot go on', () => {
    const release = { name: 'release', parameters: declared }
    expect(parametersOrThrow(release, { version: '1' })).toMatchObject({ version: '1' })
    const start = () => parametersOrThrow(release, { count: 'x' })
    expect(start).toThrow(FencepostError)
    expect(start).toThrow(
      expect.objectContaining({
        code: 'FP_PARAMETERS_INVALID',
        message:
          'The parameters do not fit the workflow: workflow release: the parameter version is required (Such as 1.2.3); the parameter count must be a whole number, not "x"',
        hint: 'Give it, text.',
      }) as Error,
    )
  })
})
