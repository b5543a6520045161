import { describe, expect, it } from 'vitest'
import { FencepostError } from '../../src/errors.js'
import {
  catalogued,
  isConnectionLost,
  isRefusedData,
  isRolledBackByServer,
  isOutcomeUnknown,
  wasRefusedBefore,
} from '../../src/store/database-errors.js'

const coded = (code: string, message = 'what the server said') => Object.assign(new Error(message), { code })

describe('what the server says', () => {
  it.each<[unknown, string]>([
    [coded('FP001'), 'FP_ID_CONFLICT'],
    [coded('42501'), 'FP_DATABASE_PRIVILEGE'],
    [coded('3F000'), 'FP_SCHEMA_MISSING'],
    [coded('42P01'), 'FP_SCHEMA_MISSING'],
    [coded('42883'), 'FP_SCHEMA_MISSING'],
    [coded('22P05'), 'FP_INPUT_NOT_JSON'],
    [coded('28P01'), 'FP_DATABASE_UNREACHABLE'],
    [coded('28000'), 'FP_DATABASE_UNREACHABLE'],
    [coded('3D000'), 'FP_DATABASE_UNREACHABLE'],
    [coded('53300'), 'FP_DATABASE_UNREACHABLE'],
    [coded('57P01'), 'FP_DATABASE_UNREACHABLE'],
    [coded('57P03'), 'FP_DATABASE_UNREACHABLE'],
    [coded('08006'), 'FP_DATABASE_UNREACHABLE'],
    [coded('ECONNREFUSED'), 'FP_DATABASE_UNREACHABLE'],
    [coded('ENOTFOUND'), 'FP_DATABASE_UNREACHABLE'],
    [new Error('Connection terminated unexpectedly'), 'FP_DATABASE_UNREACHABLE'],
    [new Error('timeout exceeded when trying to connect'), 'FP_DATABASE_UNREACHABLE'],
    [new Error('SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a string'), 'FP_DATABASE_UNREACHABLE'],
    [new Error('The server does not support SSL connections'), 'FP_DATABASE_UNREACHABLE'],
    [coded('23514'), 'FP_DATABASE_ERROR'],
    [new Error('something else'), 'FP_DATABASE_ERROR'],
    ['a string', 'FP_DATABASE_ERROR'],
    [undefined, 'FP_DATABASE_ERROR'],
  ])('%o becomes %s, with the original as its cause', (error, code) => {
    expect(catalogued(error)).toMatchObject({ code, cause: error })
  })

  it('is passed on if it is in the catalogue already', () => {
    const error = new FencepostError('FP_CLOSED')
    expect(catalogued(error)).toBe(error)
  })

  it('names every address that was tried', () => {
    const each = [coded('ECONNREFUSED', '::1 refused'), coded('ECONNREFUSED', '127.0.0.1 refused')]
    const error = Object.assign(new AggregateError(each), { code: 'ECONNREFUSED' })
    expect(catalogued(error)).toMatchObject({
      code: 'FP_DATABASE_UNREACHABLE',
      message: expect.stringContaining('::1 refused; 127.0.0.1 refused'),
    })
  })
})

describe('whether a move is repeated', () => {
  it.each(['ECONNRESET', 'EPIPE', 'ECONNREFUSED', '57P01', '57P02', '57P03', '08003', '53300'])(
    '%s: after a while',
    (code) => {
      expect(isConnectionLost(coded(code))).toBe(true)
    },
  )

  it.each(['40001', '40P01'])('%s: at once', (code) => {
    expect(isRolledBackByServer(coded(code))).toBe(true)
  })

  it('leaves it open what became of it only if the connection broke after it was sent', () => {
    for (const code of ['ECONNRESET', 'EPIPE', '08006']) expect(isOutcomeUnknown(coded(code)), code).toBe(true)
    expect(isOutcomeUnknown(new Error('Connection terminated unexpectedly'))).toBe(true)
    expect(isOutcomeUnknown(new Error('Query read timeout'))).toBe(true)
  })

  it('knows that nothing came of it if there was no connection yet', () => {
    expect(isOutcomeUnknown(coded('ECONNREFUSED'))).toBe(false)
    expect(isOutcomeUnknown(new Error('timeout exceeded when trying to connect'))).toBe(false)
    expect(isOutcomeUnknown(new Error('Connection terminated due to connection timeout'))).toBe(false)
  })

  it('knows that nothing came of it if the server ended the session', () => {
    for (const code of ['57P01', '57P03', '53300']) expect(isOutcomeUnknown(coded(code)), code).toBe(false)
  })

  it.each(['23505', '42501', '57014', 'FP001', '28P01', '3D000'])('%s: never', (code) => {
    expect(isConnectionLost(coded(code))).toBe(false)
    expect(isRolledBackByServer(coded(code))).toBe(false)
  })
})

it('of a try of unknown fate nobody says that it was refused', () => {
  const refused = coded('P0001')
  expect(isRefusedData(refused)).toBe(true)
  expect(isRefusedData(catalogued(refused))).toBe(true)
  expect(isRefusedData(new FencepostError('FP_COMMIT_UNKNOWN', undefined, { cause: refused }))).toBe(false)
})

it.each([
  ['22P05', true],
  ['23514', true],
  ['FP001', true],
  ['P0001', false],
  ['55P03', false],
  ['08006', false],
])('a repeat that is refused with %s tells that its first try was, too: %s', (code, told) => {
  expect(wasRefusedBefore(coded(code))).toBe(told)
  expect(wasRefusedBefore(catalogued(coded(code)))).toBe(told)
})
