import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { double, setupClient } from './setup.js'

const twenty = Array.from({ length: 20 }, (_, n) => n)
const transactions = `select count(distinct xmin::text)::int as n from fencepost.job`

describe('what many callers enqueue in the same moment', () => {
  it('is stored in one commit, in the order of the calls', async () => {
    const { fp, sql } = await setupClient()
    await fp.enqueue(double, { n: -1 }) // the name of the task is known now

    const all = await Promise.all(twenty.map((n) => fp.enqueue(double, { n })))

    expect(all.map(({ answer }) => answer)).toEqual(twenty.map(() => 'enqueued'))
    expect(await sql(transactions)).toEqual([{ n: 2 }])
    expect(await sql(`select (payload ->> 'n')::int as n from fencepost.job order by seq offset 1`)).toEqual(
      twenty.map((n) => ({ n })),
    )
  })

  it('fails only where it is wrong', async () => {
    const { fp, sql } = await setupClient()
    const id = randomUUID()
    await fp.enqueue(double, { n: 1 }, { id })

    const [wrong, ...right] = await Promise.allSettled([
      fp.enqueue(double, { n: 2 }, { id }),
      ...twenty.map((n) => fp.enqueue(double, { n })),
    ])

    expect(wrong).toMatchObject({ status: 'rejected', reason: { code: 'FP_ID_CONFLICT' } })
    expect(right.map(({ status }) => status)).toEqual(twenty.map(() => 'fulfilled'))
    expect(await sql('select count(*)::int as n from fencepost.job')).toEqual([{ n: 21 }])
  })

  it('tells one of two with the same id that the job exists', async () => {
    const { fp } = await setupClient()
    const id = randomUUID()

    const answers = await Promise.all([1, 1].map((n) => fp.enqueue(double, { n }, { id })))

    expect(answers.map(({ answer }) => answer).toSorted()).toEqual(['enqueued', 'existing'])
  })

  it('is enqueued before close() has ended', async () => {
    const { fp, sql } = await setupClient()
    const all = twenty.map((n) => fp.enqueue(double, { n }))
    const closed = fp.close()

    const ends = await Promise.allSettled(all)
    await closed

    const stored = await sql('select count(*)::int as n from fencepost.job')
    expect(stored).toEqual([{ n: ends.filter(({ status }) => status === 'fulfilled').length }])
    for (const end of ends) if (end.status === 'rejected') expect(end.reason).toMatchObject({ code: 'FP_CLOSED' })
  })
})
