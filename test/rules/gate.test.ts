import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { gatesOf } from '../../src/task/gate.js'
import { checkedGateKey, pausedThing } from '../../src/task/gate-key.js'
import { task } from '../../src/task/task.js'

const input = z.object({ tenant: z.string() })
const define = (options: object) => task('t', { input, run: () => {}, ...options })

const invalid = (message: string) =>
  expect.objectContaining({ code: 'FP_OPTION_INVALID', message: expect.stringContaining(message) as string })

describe('a task is refused whose', () => {
  it.each<[what: string, options: object, message: string]>([
    ['limit is 0', { gate: { key: 'k', limit: 0 } }, 'limit of'],
    ['limit is negative', { gate: { key: 'k', limit: -3 } }, 'not -3'],
    ['limit is no number', { gate: { key: 'k', limit: Number.NaN } }, 'not NaN'],
    ['limit is no whole number', { gate: { key: 'k', limit: 1.5 } }, 'not 1.5'],
    ['key is empty', { gate: { key: '' } }, 'non-empty string'],
    ['key has 10 kB', { gate: { key: 'k'.repeat(10_240) } }, 'longer than 500'],
    ['gate has no key', { gate: {} }, 'not undefined'],
    ['gate is a text', { gate: 'k' }, 'must be an object'],
    ['gate has an unknown option', { gate: { key: 'k', max: 1 } }, 'no option "max"'],
    ['strict gate has limit 2', { gate: { key: 'k', strict: true, limit: 2 } }, 'is strict, and has'],
    ['strict gate discards', { gate: { key: 'k', strict: true, onFull: 'discard' } }, 'is strict, and has'],
    [
      'strict gate has an overrun',
      { gate: { key: 'k', strict: true, overrun: { after: '1m', then: 'admit' } } },
      'is strict, and has',
    ],
    ['strict is no boolean', { gate: { key: 'k', strict: 'yes' } }, 'must be true or false'],
    ['second gate is bad', { gate: [{ key: 'a' }, { key: 'b', limit: 0 }] }, '[1]'],
    [
      'gates are strict twice',
      {
        gate: [
          { key: 'a', strict: true },
          { key: 'b', strict: true },
        ],
      },
      'more than one strict',
    ],
    ['gates are nine', { gate: Array.from({ length: 9 }, (_, i) => ({ key: `${i}` })) }, 'more than 8 gates'],
    ['onFull is unknown', { gate: { key: 'k', onFull: 'block' } }, 'must be wait, discard, replace'],
    ['overrun does something else', { gate: { key: 'k', overrun: { after: '1m', then: 'kill' } } }, 'must be admit'],
    ['group has no limit', { group: { id: 'g' } }, 'neither a limit nor perProcess'],
    ['group names no tier', { group: { id: 'g', limit: {} } }, 'names no tier'],
    ['tier has limit 0', { group: { id: 'g', limit: { free: 0 } } }, 'for tier free'],
    ['limit per process is negative', { group: { id: 'g', perProcess: -1 } }, 'perProcess of'],
    ['group has an empty id', { group: { id: '', limit: 1 } }, 'id of'],
  ])('%s', (_what, options, message) => {
    expect(() => define(options)).toThrow(invalid(message))
  })
})

it('an overrun that is no duration is refused', () => {
  const options = { gate: { key: 'k', overrun: { after: 'soon', then: 'admit' } } }
  expect(() => define(options)).toThrow(expect.objectContaining({ code: 'FP_DURATION_INVALID' }))
})

describe('the gates of a job', () => {
  const job = (options: object, own: object = {}) => gatesOf(define(options), { tenant: 'a' }, own)

  it('are in the order of their keys, by bytes, strict ones first and the group last', () => {
    const gates = job({
      gate: [{ key: 'é' }, { key: 'z', limit: 2 }, { key: 'o', strict: true }, { key: '\u{1F600}' }, { key: '\uFFFD' }],
      group: { id: 'g', limit: 3, perProcess: 1 },
    })
    expect(gates.map(({ key }) => key)).toEqual([
      'fifo:o',
      'gate:z',
      'gate:é',
      'gate:\uFFFD',
      'gate:\u{1F600}',
      'group:g',
    ])
    expect(gates.at(-1)).toEqual({ key: 'group:g', limit: 3, local: 1, onFull: 'wait' })
  })

  it('are its own instead of its task’s, if it names any', () => {
    const options = { gate: { key: 'k' } }
    expect(job(options, { gate: { key: ({ tenant }: { tenant: string }) => tenant, limit: 4 } })).toEqual([
      { key: 'gate:a', limit: 4, onFull: 'wait' },
    ])
    expect(job(options, { gate: [] })).toEqual([])
  })

  it('may have one key as a plain and as a strict one: these are two gates', () => {
    expect(job({ gate: [{ key: 'k' }, { key: 'k', strict: true }] }).map(({ key }) => key)).toEqual([
      'fifo:k',
      'gate:k',
    ])
    expect(() => job({ gate: [{ key: 'a' }, { key: ({ tenant }: { tenant: string }) => tenant }] })).toThrow(
      invalid('two gates with one key'),
    )
  })

  it('of a tier that is not named has the default, if there is one', () => {
    const group = (limit: object, tier?: unknown) => job({ group: { id: 'g', limit, ...(tier ? { tier } : {}) } })
    expect(group({ free: 1, default: 2 }, 'free')).toMatchObject([{ limit: 1 }])
    expect(group({ free: 1, default: 2 }, 'gold')).toMatchObject([{ limit: 2 }])
    expect(group({ free: 1, default: 2 })).toMatchObject([{ limit: 2 }])
    expect(group({ free: 1, default: 2 }, () => undefined)).toMatchObject([{ limit: 2 }])
    expect(() => group({ free: 1 }, 'gold')).toThrow(invalid('names no tier "gold", and no default'))
    expect(() => group({ free: 1 }, 'toString')).toThrow(invalid('names no tier "toString"'))
  })
})

it('a key as people write it begins with its kind', () => {
  for (const key of ['gate:a', 'fifo:a:b', `group:${'k'.repeat(500)}`]) expect(checkedGateKey(key, 'key')).toBe(key)
  for (const key of ['a', 'gate', 'gate:', 'gate: ', 'Gate:a', `gate:${'k'.repeat(501)}`, null, 3]) {
    expect(() => checkedGateKey(key, 'key')).toThrow(expect.objectContaining({ code: 'FP_OPTION_INVALID' }))
  }
})

it('what is paused is named by its kind', () => {
  expect(pausedThing({ queue: 'mail' })).toBe('queue:mail')
  expect(pausedThing({ task: 'a:b' })).toBe('task:a:b')
  expect(pausedThing({ gate: 'fifo:x' })).toBe('fifo:x')
})
