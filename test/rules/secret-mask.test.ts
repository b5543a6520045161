import { describe, expect, it } from 'vitest'
import { SecretMask } from '../../src/job/secret-mask.js'

const mask = () => new SecretMask(['hunter2', 'hunter2-longer', 'a"b\\c d', 12345, 'xy', 7])

describe('the mask of secrets', () => {
  it.each([
    ['the secret alone', 'hunter2', '•••'],
    ['in other text, wherever it is', 'a hunter2 and hunter2.', 'a ••• and •••.'],
    ['one that begins with another', '[hunter2-longer]', '[•••]'],
    ['as JSON writes it', JSON.stringify({ a: 'a"b\\c d' }), '{"a":"•••"}'],
    ['as a URL writes it', `?q=${encodeURIComponent('a"b\\c d')}`, '?q=•••'],
    ['a number', 'id 12345', 'id •••'],
    ['a short one alone', 'xy', '•••'],
    ['a short one only where it stands alone', 'xyz 77', 'xyz 77'],
    ['nothing else', 'Hunter 2', 'Hunter 2'],
  ])('hides in a text %s', (_, text, masked) => {
    expect(mask().text(text)).toBe(masked)
  })

  it('hides three characters in other text, and not two', () => {
    expect(new SecretMask(['abc', 'de']).text('xabcx xdex')).toBe('x•••x xdex')
  })

  it('hides in JSON: texts, names and whole numbers', () => {
    expect(mask().json({ hunter2: [true, null, 12345, 123456, 7, { deep: 'xy', is: 'my hunter2' }] })).toEqual({
      '•••': [true, null, '•••', 123456, '•••', { deep: '•••', is: 'my •••' }],
    })
  })

  it('takes the secrets out of lists and objects; what tells nothing is none', () => {
    const inner = new SecretMask([{ a: ['first', { b: 'second' }] }, '', null, true, false])
    expect(inner.text('first second true false null a b')).toBe('••• ••• true false null a b')
    expect(inner.json(['', null, true, false])).toEqual(['', null, true, false])
  })

  it('leaves everything as it is if there is no secret', () => {
    const none = new SecretMask([null, ''])
    const thrown = new Error('x')
    const value = { a: 1 }
    expect(none.thrown(thrown)).toBe(thrown)
    expect(none.json(value)).toBe(value)
  })

  it('copes with a secret that is half a character', () => {
    expect(new SecretMask(['abc\uD800']).text('abc\uD800!')).toBe('•••!')
  })
})

describe('what was thrown, under the mask', () => {
  it('stays an error of its class, with message, stack, cause and what it carries', () => {
    class Refused extends Error {
      override name = 'Refused'
      readonly request = { url: 'https://hunter2@host', port: 443, tried: 12345, big: 12345n }
    }
    const error = new Refused('no hunter2', { cause: new TypeError('deep hunter2') })
    const copy = mask().thrown(error) as Refused
    expect(copy).toBeInstanceOf(Refused)
    expect(copy).not.toBe(error)
    expect(copy.message).toBe('no •••')
    expect(copy.name).toBe('Refused')
    expect(copy.stack).toContain('no •••')
    expect(copy.stack).not.toContain('hunter2')
    expect(copy.cause).toBeInstanceOf(TypeError)
    expect((copy.cause as Error).message).toBe('deep •••')
    expect(copy.request).toEqual({ url: 'https://•••@host', port: 443, tried: '•••', big: '•••' })
    expect(Object.keys(copy)).toEqual(Object.keys(error))
    copy.message = 'may be written'
    expect(copy.message).toBe('may be written')
    expect(Reflect.deleteProperty(copy, 'message')).toBe(true)
    expect(error.message).toBe('no hunter2')
  })

  it('has the message and the stack of an error whose class gives them', () => {
    class Lazy extends Error {
      override get message() {
        return 'lazy hunter2'
      }
    }
    expect((mask().thrown(new Lazy()) as Error).message).toBe('lazy •••')
  })

  it('is as a log would write it', () => {
    const given = {
      text: 'hunter2',
      hunter2: 1,
      date: new Date(0),
      list: ['hunter2', 1],
      map: new Map([['k', 'hunter2']]),
      set: new Set(['hunter2']),
      nothing: null,
      undef: undefined,
      flag: true,
      big: 5n,
      bytes: Buffer.from('hunter2'),
      call: () => 1,
      symbol: Symbol('hunter2'),
    }
    expect(mask().thrown(given)).toEqual({
      text: '•••',
      '•••': 1,
      date: '1970-01-01T00:00:00.000Z',
      list: ['•••', 1],
      map: [['k', '•••']],
      set: ['•••'],
      nothing: null,
      undef: undefined,
      flag: true,
      big: 5n,
      bytes: '…',
      call: '…',
      symbol: '…',
    })
    expect(mask().thrown('hunter2')).toBe('•••')
  })

  it('leaves out what is in itself, but not what is in two places', () => {
    const shared = { a: 1 }
    const cycle: Record<string, unknown> = { shared, again: shared }
    cycle['self'] = cycle
    expect(mask().thrown(cycle)).toEqual({ shared: { a: 1 }, again: { a: 1 }, self: '…' })
  })

  it('leaves out what throws when it is looked at', () => {
    const broken = {
      get a() {
        throw new Error('getter')
      },
    }
    expect(mask().thrown([broken, 1])).toEqual(['…', 1])
  })

  it('leaves out what is too deep, or too much', () => {
    const nested = (depth: number): unknown => (depth === 0 ? 'end' : { in: nested(depth - 1) })
    expect(mask().thrown(nested(9))).toEqual(nested(9))
    expect(JSON.stringify(mask().thrown(nested(10)))).toBe(JSON.stringify(nested(9)).replace('end', '…'))
    const many = mask().thrown(Array.from({ length: 6_000 }, () => ({}))) as unknown[]
    expect(many.filter((each) => each !== '…')).toHaveLength(4_999) // and the list itself
  })
})
