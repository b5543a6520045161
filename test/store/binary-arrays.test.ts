import { randomUUID } from 'node:crypto'
import { expect, it } from 'vitest'
import { bigintArray, uuidArray } from '../../src/store/binary-arrays.js'
import { setup } from '../harness/setup.js'

it.each([0, 1, 2, 1_000])('the database reads %i ids as they were', async (length) => {
  const { sql } = await setup()
  const ids = Array.from({ length }, () => randomUUID() as string)

  expect(await sql('select $1::uuid[]::text[] as ids', [uuidArray(ids)])).toEqual([{ ids }])
})

it('the database reads numbers as they were, up to the largest', async () => {
  const { sql } = await setup()
  const most = Number.MAX_SAFE_INTEGER
  const numbers = [
    0,
    1,
    2 ** 31 - 1,
    2 ** 31,
    2 ** 32 - 1,
    2 ** 32,
    2 ** 32 + 1,
    most,
    -1,
    -(2 ** 32),
    -(2 ** 32) - 1,
    -most,
  ]

  expect(await sql('select $1::bigint[]::text[] as texts', [bigintArray(numbers)])).toEqual([
    { texts: numbers.map(String) },
  ])
  expect(await sql('select $1::bigint[] = array[]::bigint[] as empty', [bigintArray([])])).toEqual([{ empty: true }])
})
