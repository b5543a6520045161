import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createdTags, type Tags, tagsWith, tagsWithout } from '../../../src/sqs/rules/tags.js'
import { refusedWith, takesOrRefuses } from './refusal.js'

const many = (count: number): Tags => Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, 'v']))

describe('the tags of a queue', () => {
  it.each<Tags>([{}, { a: '' }, { 'Käse: 1/2=_.+-@': ' ü日本 ' }, { ['k'.repeat(128)]: 'v'.repeat(256) }, many(50)])(
    'may be %.80j',
    (tags) => {
      expect(createdTags('mail', tags)).toEqual(tags)
    },
  )

  it('may be none when the queue is created', () => {
    expect(createdTags('mail')).toEqual({})
  })

  it.each<[Tags, string]>([
    [{ '': 'v' }, 'Tag keys must be between 1 and 128 characters in length.'],
    [{ ['k'.repeat(129)]: 'v' }, 'Tag keys must be between 1 and 128 characters in length.'],
    [{ k: 'v'.repeat(257) }, 'Tag values must be between 0 and 256 characters in length.'],
    [{ 'k#': 'v' }, 'The tag key k# can only include letters, numbers, spaces, and _ . : / = + - @.'],
    [{ k: '<v>' }, 'The value of the tag k can only include letters'],
    [{ 'aws:x': 'v' }, 'Keys with the prefix aws: are reserved.'],
    [{ 'AWS:x': 'v' }, 'Keys with the prefix aws: are reserved.'],
    [many(51), 'Too many tags added for queue mail.'],
  ])('may not be %.80j', (tags, text) => {
    for (const run of [() => createdTags('mail', tags), () => tagsWith('mail', {}, tags)]) {
      expect(refusedWith(run)).toMatch(/^InvalidParameterValueException: /)
      expect(refusedWith(run)).toContain(text)
    }
  })
})

describe('TagQueue', () => {
  it('adds tags and replaces values', () => {
    expect(tagsWith('mail', { a: '1', b: '2' }, { b: '3', c: '4' })).toEqual({ a: '1', b: '3', c: '4' })
  })

  it('counts those that the queue has already', () => {
    expect(refusedWith(() => tagsWith('mail', many(49), { new: 'v' }))).toBeUndefined()
    expect(refusedWith(() => tagsWith('mail', many(50), { k0: 'other' }))).toBeUndefined()
    expect(refusedWith(() => tagsWith('mail', many(50), { new: 'v' }))).toContain('Too many tags added for queue mail.')
  })

  it.each([undefined, {}])('needs tags: %j', (tags) => {
    expect(refusedWith(() => tagsWith('mail', {}, tags))).toBe(
      'MissingParameterException: The request must contain the parameter Tags.',
    )
  })
})

describe('UntagQueue', () => {
  it('removes what is there', () => {
    expect(tagsWithout({ a: '1', b: '2' }, ['a', 'x'])).toEqual({ b: '2' })
  })

  it.each<[string[] | undefined, string]>([
    [undefined, 'MissingParameterException: The request must contain the parameter TagKeys.'],
    [[], 'MissingParameterException: The request must contain the parameter TagKeys.'],
    [['a', ''], 'Tag keys must be between 1 and 128 characters in length.'],
    [['k'.repeat(129)], 'Tag keys must be between 1 and 128 characters in length.'],
  ])('of %.40j is refused', (keys, text) => {
    expect(refusedWith(() => tagsWithout({ a: '1' }, keys))).toContain(text)
  })
})

describe('any tags', () => {
  it('are taken or refused, and `__proto__` is a key as any other', () => {
    const wild = fc.oneof(fc.string({ unit: 'binary' }), fc.string(), fc.constant('__proto__'))
    fc.assert(
      fc.property(fc.dictionary(wild, wild), fc.array(wild), (tags, keys) =>
        [() => createdTags('q', tags), () => tagsWith('q', many(45), tags), () => tagsWithout(tags, keys)].every(
          takesOrRefuses,
        ),
      ),
    )
    const odd = JSON.parse('{"__proto__":"v"}') as Tags
    expect(Object.entries(tagsWith('q', {}, odd))).toEqual([['__proto__', 'v']])
    expect(Object.entries(tagsWithout(odd, ['x']))).toEqual([['__proto__', 'v']])
  })
})
