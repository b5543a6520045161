import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { gatesOf } from '../../src/task/gate.js'
import { checkedGateKey, checkedLimitKey, pausedThing } from '../../src/task/gate-key.js'
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

describe('what a task says of gates', () => {
  const gates = (gate: object | undefined) => define(gate === undefined ? {} : { gate }).gates

  it('is nothing, one gate or several, with every default filled in', () => {
    expect(gates(undefined)).toEqual([])
    expect(gates({ key: 'k' })).toEqual([{ kind: 'gate', key: 'k', limit: 1, onFull: 'wait', overrunMs: undefined }])
    expect(
      gates([
        { key: 'k', strict: true },
        { key: 'l', limit: 3, onFull: 'replace' },
      ]),
    ).toEqual([
      { kind: 'fifo', key: 'k', limit: 1, onFull: 'wait', overrunMs: undefined },
      { kind: 'gate', key: 'l', limit: 3, onFull: 'replace', overrunMs: undefined },
    ])
  })

  it('may be that who runs for too long no longer counts', () => {
    const gate = { key: 'k', overrun: { after: '1m', then: 'admit' } }
    expect(gates(gate)).toMatchObject([{ overrunMs: 60_000 }])
    expect(gatesOf(define({ gate }), { tenant: 'a' }, {})).toEqual([
      { key: 'gate:k', limit: 1, onFull: 'wait', overrunMs: 60_000 },
    ])
    expect(() => define({ gate: { key: 'k', overrun: { after: 0, then: 'admit' } } })).toThrow(
      expect.objectContaining({ code: 'FP_DURATION_INVALID', message: expect.stringContaining('after of overrun') }),
    )
    expect(() => define({ gate: { key: 'k', overrun: { after: '1m', then: 'admit', or: 1 } } })).toThrow(
      invalid('overrun of'),
    )
  })

  it('may be eight of them, and a key of 500 characters', () => {
    expect(gates(Array.from({ length: 8 }, (_, n) => ({ key: `${n}` })))).toHaveLength(8)
    expect(gates({ key: 'k'.repeat(500) })).toHaveLength(1)
  })

  it.each<[string, object, object]>([
    [
      'two strict gates',
      {
        gate: [
          { key: 'a', strict: true },
          { key: 'b', strict: true },
        ],
      },
      { hint: 'Two strict orders could wait for one another. Join their keys into one.' },
    ],
    [
      'a strict gate with a limit',
      { gate: { key: 'k', strict: true, limit: 2 } },
      { hint: 'A strict gate lets one job through at a time, in order: nothing else can be said of it.' },
    ],
  ])('is refused with what to do instead: %s', (_, options, expected) => {
    expect(() => define(options)).toThrow(expect.objectContaining(expected) as Error)
  })

  it.each<[string, object, string]>([
    ['one gate', { gate: { key: 'k', limit: 0 } }, 'limit of gate of task t'],
    ['its strictness', { gate: { key: 'k', strict: 1 } }, 'strict of gate of task t must be true or false, not 1'],
    ['one of two', { gate: [{ key: 'a' }, { key: '' }] }, 'key of gate of task t[1]'],
    ['the tier of a group', { group: { id: 'g', tier: '', limit: 1 } }, 'tier of group of task t'],
    ['the limit of a group', { group: { id: 'g', limit: 0 } }, 'limit of group of task t'],
    ['a group that is no object', { group: 'g' }, 'group of task t'],
    ['a limit that is nothing', { group: { id: 'g', limit: null } }, 'limit of group of task t'],
  ])('is refused by its name: %s', (_, options, message) => {
    expect(() => define(options)).toThrow(invalid(message))
  })
})

describe('the group of a job', () => {
  const group = { id: 'g', limit: { free: 1, gold: 5, default: 2 }, perProcess: 3, tier: 'free' }
  const job = (own?: unknown, options: object = { group }) =>
    gatesOf(define(options), { tenant: 'a' }, own === undefined ? {} : { group: own })

  it('is its own instead of its task’s, with its own tier or none', () => {
    expect(job()).toEqual([{ key: 'group:g', limit: 1, local: 3, onFull: 'wait' }])
    expect(job({ id: 'mine', tier: 'gold' })).toEqual([{ key: 'group:mine', limit: 5, local: 3, onFull: 'wait' }])
    expect(job({ id: 'mine' })).toMatchObject([{ key: 'group:mine', limit: 2 }])
  })

  it('is made of the input', () => {
    const of = { id: ({ tenant }: { tenant: string }) => tenant, perProcess: 1 }
    expect(job(undefined, { group: of })).toEqual([{ key: 'group:a', local: 1, onFull: 'wait' }])
  })

  it('is refused if its task has none, or if it says something else', () => {
    expect(() => job({ id: 'mine' }, {})).toThrow(
      expect.objectContaining({
        code: 'FP_OPTION_INVALID',
        message: expect.stringContaining('task t has no limits for groups') as string,
        hint: 'Give the task a group: { id, limit } first; a job may then name its own group.',
      }) as Error,
    )
    expect(() => job({ id: 'mine', limit: 9 })).toThrow(invalid('group'))
    expect(() => job({ id: '' })).toThrow(invalid('id of group'))
    expect(() => job({ id: 'mine', tier: 'none' }, { group: { id: 'g', limit: { free: 1 } } })).toThrow(
      invalid('limit of the group of task t names no tier "none", and no default'),
    )
    expect(() => job({ id: 'g', tier: 'none' }, { group: { id: 'g', perProcess: { free: 1 } } })).toThrow(
      invalid('perProcess of the group of task t'),
    )
  })

  it.each<[string, object, string]>([
    ['a key', { gate: { key: () => 5 } }, 'the key of a gate of task t'],
    ['an id', { group: { id: () => '', limit: 1 } }, 'the id of the group of task t'],
    ['a tier', { group: { id: 'g', tier: () => 5, limit: 1 } }, 'the tier of the group of task t'],
    ['an id that is nothing', { group: { id: () => undefined, limit: 1 } }, 'the id of the group of task t'],
  ])('is refused if its function gives what cannot be: %s', (_, options, message) => {
    expect(() => job(undefined, options)).toThrow(invalid(message))
  })

  it('is refused if its function throws, with what it threw', () => {
    const thrown = new Error('no tenant')
    const throwing = (error: unknown) => ({
      gate: {
        key: () => {
          throw error
        },
      },
    })
    expect(() => job(undefined, throwing(thrown))).toThrow(
      expect.objectContaining({
        code: 'FP_GATE_KEY_FAILED',
        message: expect.stringContaining('the key of a gate of task t: no tenant') as string,
        cause: thrown,
      }) as Error,
    )
    expect(() => job(undefined, throwing('text'))).toThrow('the key of a gate of task t: "text"')
  })
})

it('the limit of a strict gate cannot be set', () => {
  expect(checkedLimitKey('gate:a', 'key')).toBe('gate:a')
  expect(checkedLimitKey('group:fifo:', 'key')).toBe('group:fifo:')
  expect(() => checkedLimitKey('fifo:a', 'key')).toThrow(
    expect.objectContaining({
      code: 'FP_OPTION_INVALID',
      message: expect.stringContaining('"fifo:a" is strict: it lets one job through at a time, in order') as string,
      hint: 'Its limit cannot be set. It can be paused, and a job that blocks it can be skipped or cancelled.',
    }) as Error,
  )
})

it('a key as people write it begins with its kind', () => {
  for (const key of ['gate:a', 'fifo:a:b', `group:${'k'.repeat(500)}`]) expect(checkedGateKey(key, 'key')).toBe(key)
  for (const key of ['a', 'gate', 'gate:', 'gate: ', 'Gate:a', `gate:${'k'.repeat(501)}`, null, 3]) {
    expect(() => checkedGateKey(key, 'key')).toThrow(expect.objectContaining({ code: 'FP_OPTION_INVALID' }))
  }
  expect(() => checkedGateKey('api', 'key')).toThrow(
    expect.objectContaining({
      message: expect.stringContaining('key must begin with gate:, fifo: or group:, not be "api"') as string,
      hint: 'Did you mean "gate:api"? A strict gate is fifo:…, a group is group:….',
    }) as Error,
  )
  expect(() => checkedGateKey('gate:', 'key')).toThrow(invalid('what follows gate: in key'))
})

it('what is paused is named by its kind', () => {
  expect(pausedThing({ queue: 'mail' })).toBe('queue:mail')
  expect(pausedThing({ task: 'a:b' })).toBe('task:a:b')
  expect(pausedThing({ gate: 'fifo:x' })).toBe('fifo:x')
  for (const target of [{}, { queue: 'a', task: 'b' }]) {
    expect(() => pausedThing(target as { queue: string })).toThrow(
      invalid('name one thing: { queue }, { task } or { gate }'),
    )
  }
  expect(() => pausedThing({ lane: 'a' } as never)).toThrow(invalid('what is paused'))
  expect(() => pausedThing({ queue: '' })).toThrow(invalid('queue'))
  expect(() => pausedThing({ gate: 'x' })).toThrow(invalid('gate must begin with'))
})
