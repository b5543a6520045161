import fc from 'fast-check'
import { expect, it } from 'vitest'
import { FencepostError } from '../../src/errors.js'
import { jsonText } from '../../src/job/json.js'
import { setup } from '../harness/setup.js'
import { anything, setupClient } from './setup.js'

/** The whole of Unicode and a good deal of what only looks like it, in values and in names. */
const text = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ unit: 'grapheme' }),
  fc.string({
    unit: fc.constantFrom('\\', '"', "'", 'u', '0', 'd', '8', '\u0000', '\uD83D', '\uDE00', '\u2028', '{', '$'),
  }),
)
const { value: json } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.constant(null),
    fc.boolean(),
    fc.integer(),
    fc.double(),
    text,
    fc.array(tie('value'), { maxLength: 5 }),
    fc.dictionary(text, tie('value'), { maxKeys: 5 }),
  ),
}))

it('what jsonText accepts PostgreSQL stores and gives back equal, and what it refuses PostgreSQL could not', async () => {
  const { connect } = await setup()
  const client = await connect()
  let accepted = 0
  await fc.assert(
    fc.asyncProperty(json, async (value) => {
      let stored: string
      try {
        stored = jsonText(value, 'the value', 1_048_576)
      } catch (error) {
        expect(error).toBeInstanceOf(FencepostError)
        const given = JSON.stringify(value)
        const refused = await client.query('select $1::jsonb', [given]).then(
          () => false,
          () => true,
        )
        expect(refused || JSON.stringify(value, finite) !== given).toBe(true)
        return
      }
      accepted++
      const { rows } = await client.query<{ value: unknown }>('select $1::jsonb as value', [stored])
      expect(rows[0]?.value).toEqual(JSON.parse(stored))
    }),
    { numRuns: 1_500 },
  )
  expect(accepted).toBeGreaterThan(300)
})

/** NaN and the infinities would be stored as null: that is a loss, too. */
function finite(_: string, value: unknown): unknown {
  return typeof value === 'number' && !Number.isFinite(value) ? String(value) : value
}

it('inputs go to the database and come back to the handler unchanged', async () => {
  const { fp } = await setupClient()
  await fp.work([anything], { poll: '20ms' })
  const storable = json.filter((value) => {
    try {
      return jsonText(value, 'the value', 1_048_576) !== ''
    } catch {
      return false
    }
  })
  await fc.assert(
    fc.asyncProperty(fc.array(storable, { minLength: 20, maxLength: 40 }), async (values) => {
      const jobs = await fp.enqueueMany(
        anything,
        values.map((input) => ({ input })),
      )
      const results = await Promise.all(jobs.map(({ result }) => result()))
      expect(results).toEqual(values.map((value) => JSON.parse(JSON.stringify(value))))
    }),
    { numRuns: 5 },
  )
})
