import { describe, expect, it } from 'vitest'
import { FencepostError } from '../../src/errors.js'
import type { Workflows } from '../../src/client/workflows.js'
import { workflowOf } from '../harness/workflows.js'
import { double, open, rowCounts, setupClient } from './setup.js'

describe('a job enqueued in the caller’s transaction', () => {
  it.each(['read committed', 'repeatable read', 'serializable'])(
    'exists if and only if it commits, at %s',
    async (level) => {
      const { fp, connect, see } = await setupClient()
      const tx = await connect()
      await tx.query(`begin isolation level ${level}`)
      const { id, answer } = await fp.enqueue(double, { n: 1 }, { tx })
      expect(answer).toBe('enqueued')
      expect(await see(id)).toBeUndefined()
      await tx.query('rollback')
      expect(await see(id)).toBeUndefined()

      await tx.query(`begin isolation level ${level}`)
      const batch = await fp.enqueueMany(double, [{ input: { n: 1 }, id }, { input: { n: 2 } }], { tx })
      expect(batch.map((each) => each.answer)).toEqual(['enqueued', 'enqueued'])
      expect(await see(id)).toBeUndefined()
      await tx.query('commit')
      expect(await see(id)).toMatchObject({ place: 'ready' })
    },
  )

  it('is undone with a savepoint, like everything else in it', async () => {
    const { fp, connect, see } = await setupClient()
    const tx = await connect()
    await tx.query('begin')
    const kept = await fp.enqueue(double, { n: 1 }, { tx })
    await tx.query('savepoint s')
    const undone = await fp.enqueue(double, { n: 2 }, { tx })
    await tx.query('rollback to savepoint s')
    await tx.query('commit')
    expect(await see(kept.id)).toMatchObject({ place: 'ready' })
    expect(await see(undone.id)).toBeUndefined()
  })

  it('commits together with the caller’s own writes', async () => {
    const { fp, sql, see } = await setupClient()
    await sql('create table orders (id text primary key)')
    const id = await fp.transaction(async (tx) => {
      await tx.query(`insert into orders values ('o-1')`)
      return (await fp.enqueue(double, { n: 1 }, { tx })).id
    })
    expect(await see(id)).toMatchObject({ place: 'ready' })

    const again = fp.transaction(async (tx) => {
      await fp.enqueue(double, { n: 2 }, { tx })
      await tx.query(`insert into orders values ('o-1')`)
    })
    await expect(again).rejects.toThrow(expect.objectContaining({ code: 'FP_DATABASE_ERROR' }))
    expect(await rowCounts(sql)).toMatchObject({ job: 1, ready: 1 })
  })

  it('is not enqueued elsewhere when there is no transaction in `tx`', async () => {
    const { fp, sql } = await setupClient()
    for (const tx of [null, {}, 'begin', 5]) {
      await expect(fp.enqueue(double, { n: 1 }, { tx: tx as never })).rejects.toThrow(
        expect.objectContaining({
          code: 'FP_OPTION_INVALID',
          message: expect.stringContaining('tx must be a connection'),
        }),
      )
    }
    expect(await rowCounts(sql)).toMatchObject({ job: 0 })
  })

  it('leaves an error to the caller, who may go on after it', async () => {
    const { fp, connect, add, see } = await setupClient()
    const taken = await add({ payloadText: '{"other":1}', task: 'double' })
    const tx = await connect()
    await tx.query('begin')
    await tx.query('savepoint s')
    await expect(fp.enqueue(double, { n: 1 }, { tx, id: taken })).rejects.toThrow(
      expect.objectContaining({ code: 'FP_ID_CONFLICT' }),
    )
    await tx.query('rollback to savepoint s')
    const { id } = await fp.enqueue(double, { n: 1 }, { tx })
    await tx.query('commit')
    expect(await see(id)).toMatchObject({ place: 'ready' })
  })

  it('needs no second connection', async () => {
    const { url, see } = await setupClient()
    const fp = await open({ database: url, migrate: false, poolSize: 1 })
    const id = await fp.transaction(async (tx) => (await fp.enqueue(double, { n: 1 }, { tx })).id)
    expect(await see(id)).toMatchObject({ place: 'ready' })
  })
})

describe('a transaction', () => {
  it('gives back what its function returns', async () => {
    const { fp } = await setupClient()
    expect(await fp.transaction(async (tx) => (await tx.query<{ n: number }>('select 1 as n')).rows[0]?.n)).toBe(1)
  })

  it('is rolled back when its function throws, and the error is the function’s own', async () => {
    const { fp, sql } = await setupClient()
    const mine = new Error('mine')
    const work = fp.transaction(async (tx) => {
      await fp.enqueue(double, { n: 1 }, { tx })
      throw mine
    })
    await expect(work).rejects.toBe(mine)
    expect(await rowCounts(sql)).toMatchObject({ job: 0 })
  })

  it('says so when an error inside was swallowed and COMMIT became ROLLBACK', async () => {
    const { fp, sql } = await setupClient()
    const work = fp.transaction(async (tx) => {
      await fp.enqueue(double, { n: 1 }, { tx })
      await tx.query('select 1/0').catch(() => {})
    })
    await expect(work).rejects.toThrow(expect.objectContaining({ code: 'FP_TRANSACTION_ROLLED_BACK' }))
    expect(await rowCounts(sql)).toMatchObject({ job: 0 })
  })

  it.each(['commit', 'rollback'])('says so when the work itself said %s', async (word) => {
    const { fp } = await setupClient()
    const work = fp.transaction(async (tx) => {
      await fp.enqueue(double, { n: 1 }, { tx })
      await tx.query(word)
    })
    await expect(work).rejects.toThrow(expect.objectContaining({ code: 'FP_TRANSACTION_ENDED' }))
  })

  it('says so when its connection is lost', async () => {
    const { fp, sql } = await setupClient()
    const work = fp.transaction(async (tx) => {
      await fp.enqueue(double, { n: 1 }, { tx })
      const { rows } = await tx.query<{ pid: number }>('select pg_backend_pid() as pid')
      await sql('select pg_terminate_backend($1)', [rows[0]?.pid])
      await tx.query('select 1')
    })
    await expect(work).rejects.toThrow(FencepostError)
    await expect(work).rejects.toThrow(expect.objectContaining({ code: 'FP_DATABASE_UNREACHABLE' }))
    expect(await rowCounts(sql)).toMatchObject({ job: 0 })
    expect(await fp.enqueue(double, { n: 1 })).toMatchObject({ answer: 'enqueued' })
  })
})

describe('a call of fp.workflows with something that is no connection', () => {
  const id = '01890000-0000-7000-8000-00000000dead'
  const tx = 5 as never
  const definition = workflowOf('name: w\ntasks: [{ name: a, action: core.noop }]')

  it.each<[string, (workflows: Workflows) => Promise<unknown>]>([
    ['start', (workflows) => workflows.start(definition, {}, { tx })],
    ['pause', (workflows) => workflows.pause(id, { tx })],
    ['resume', (workflows) => workflows.resume(id, { tx })],
    ['cancel', (workflows) => workflows.cancel(id, { tx })],
    ['rerun', (workflows) => workflows.rerun(id, { from: 'a', tx })],
    ['signal', (workflows) => workflows.signal(id, 'go', null, { tx })],
    ['answer', (workflows) => workflows.answer(id, 'a', {}, { tx })],
  ])('is refused: %s', async (_, call) => {
    const { fp, sql } = await setupClient()
    await expect(call(fp.workflows)).rejects.toMatchObject({
      code: 'FP_OPTION_INVALID',
      message: expect.stringContaining('tx must be a connection of yours, not 5'),
    })
    expect(await sql('select 1 from fencepost.workflow')).toEqual([])
  })
})
