import { describe, expect, it } from 'vitest'
import { cancel, promoteDue, retryEnded } from '../../src/store/control.js'
import { enqueue } from '../../src/store/enqueue.js'
import { fail, finish, park, release } from '../../src/store/settle.js'
import { reapExpired } from '../../src/store/worker.js'
import { gates, setupGates } from '../harness/gates.js'
import { aJob } from '../harness/setup.js'

const done = '{}'
const failed = { errorText: '{}', delayMs: 5_000, final: false }

it('lets as many through as its limit, and the others wait in order', async () => {
  const { gated, takeAll, places, gate, sound } = await setupGates()
  const [a, b, c] = [await gated({ limit: 2 }), await gated({ limit: 2 }), await gated({ limit: 2 })]

  expect(await places(a, b, c)).toEqual(['ready', 'ready', 'waiting'])
  expect((await takeAll()).map(({ jobId }) => jobId)).toEqual([a, b])
  expect(await gate()).toMatchObject({ held: 2, declared_limit: 2 })
  await sound()
})

it('hands the slot over when its job ends, to the first that waits', async () => {
  const { db, gated, takeAll, places, gate, nudges, sound } = await setupGates()
  const [a, b, c] = [await gated(), await gated(), await gated()]
  const [lease] = await takeAll()

  await finish(db, [{ ...(lease as NonNullable<typeof lease>), resultText: done }])

  expect(await places(a, b, c)).toEqual(['succeeded', 'ready', 'waiting'])
  expect(await gate()).toMatchObject({ held: 1 })
  expect(await nudges()).toEqual([])
  await sound()
})

it('is gone when nobody holds it or waits', async () => {
  const { db, gated, takeAll, gate, nudges, sound } = await setupGates()
  await gated()
  const leases = await takeAll()
  await finish(
    db,
    leases.map((lease) => ({ ...lease, resultText: done })),
  )
  expect(await gate()).toBeUndefined()
  expect(await nudges()).toEqual([])
  await sound()
})

describe('every ending frees the slot', () => {
  type World = Awaited<ReturnType<typeof setupGates>>
  type Lease = Awaited<ReturnType<World['takeAll']>>[number]
  const endings: Record<string, (world: World, lease: Lease) => Promise<unknown>> = {
    finish: ({ db }, lease) => finish(db, [{ ...lease, resultText: done }]),
    'a failure that is retried later': ({ db }, lease) => fail(db, [{ ...lease, ...failed }]),
    'a failure that is final': ({ db }, lease) => fail(db, [{ ...lease, ...failed, final: true }]),
    park: ({ db }, lease) => park(db, lease, 'signal', null),
    'a release of a cancelled job': async ({ db }, lease) => {
      await cancel(db, [lease.jobId], null)
      await release(db, [lease], 'shutdown')
    },
    'a loss of a cancelled job': async ({ db, advance }, lease) => {
      await cancel(db, [lease.jobId], null)
      await reapExpired(db, 500)
      for (let i = 0; i < 8; i++) {
        await advance(5_000)
        await reapExpired(db, 500)
      }
    },
  }
  for (const [name, end] of Object.entries(endings)) {
    it(`by ${name}`, async () => {
      const world = await setupGates()
      const first = await world.gated()
      const next = await world.gated()
      const [lease] = await world.takeAll()
      await end(world, lease as Lease)
      expect(await world.places(next)).toEqual(['ready'])
      expect(await world.places(first)).not.toEqual(['ready'])
      await world.sound()
    })
  }

  it('by a cancel while it is ready', async () => {
    const { db, gated, places, sound } = await setupGates()
    const [a, b] = [await gated(), await gated()]
    await cancel(db, [a], null)
    expect(await places(a, b)).toEqual(['cancelled', 'ready'])
    await sound()
  })
})

it('goes with a job that is given back, lost, or retried at once', async () => {
  const { db, gated, takeAll, places, gate, sound } = await setupGates()
  const [a, b] = [await gated(), await gated()]
  for (const move of [
    (lease: never) => release(db, [lease], 'shutdown'),
    (lease: never) => fail(db, [{ ...(lease as object), ...failed, delayMs: 0 } as never]),
  ]) {
    const [lease] = await takeAll()
    await move(lease as never)
    expect(await places(a, b)).toEqual(['ready', 'waiting'])
    expect(await gate()).toMatchObject({ held: 1 })
    await sound()
  }
})

it('takes a waiting job out when it is cancelled', async () => {
  const { db, gated, places, sound } = await setupGates()
  const [a, b, c] = [await gated(), await gated(), await gated()]
  expect(await cancel(db, [b], null)).toMatchObject([{ answer: 'cancelled' }])
  expect(await places(a, b, c)).toEqual(['ready', 'cancelled', 'waiting'])
  await sound()
})

it('a delayed job waits at its gate when it is due', async () => {
  const { db, gated, places, advance, sound } = await setupGates()
  const a = await gated()
  const b = await gated({}, { delayMs: 1_000 })
  expect(await places(a, b)).toEqual(['ready', 'delayed'])
  await advance(2_000)
  await promoteDue(db)
  expect(await places(a, b)).toEqual(['ready', 'waiting'])
  await sound()
})

describe('several gates', () => {
  const two = { gatesText: gates({ key: 'gate:a' }, { key: 'gate:b' }) }

  it('are waited for one after the other, in the order of their keys', async () => {
    const { db, add, gated, takeAll, places, gate, sound } = await setupGates()
    const b = await gated({ key: 'gate:b' })
    const both = await add(two)
    const a = await gated({ key: 'gate:a' })
    expect(await places(b, both, a)).toEqual(['ready', 'waiting', 'waiting'])
    expect(await gate('gate:a')).toMatchObject({ held: 1 })
    await sound()

    const [lease] = await takeAll()
    await finish(db, [{ ...(lease as NonNullable<typeof lease>), resultText: done }])
    expect(await places(both, a)).toEqual(['ready', 'waiting'])
    await sound()

    const [second] = await takeAll()
    await finish(db, [{ ...(second as NonNullable<typeof second>), resultText: done }])
    expect(await places(a)).toEqual(['ready'])
    await sound()
  })

  it('are all given back when the job ends', async () => {
    const { db, add, gated, takeAll, places, sound } = await setupGates()
    await add(two)
    const [a, b] = [await gated({ key: 'gate:a' }), await gated({ key: 'gate:b' })]
    const [lease] = await takeAll()
    expect(await places(a, b)).toEqual(['waiting', 'waiting'])

    await finish(db, [{ ...(lease as NonNullable<typeof lease>), resultText: done }])

    expect(await places(a, b)).toEqual(['ready', 'ready'])
    await sound()
  })
})

it('goes through all its gates at once if there is room, also through those that nobody uses', async () => {
  const { add, places, nudges, sound } = await setupGates()
  const id = await add({ gatesText: gates({ key: 'fifo:a' }, { key: 'gate:b' }, { key: 'group:c' }) })
  expect(await places(id)).toEqual(['ready'])
  expect(await nudges()).toEqual([])
  await sound()
})

it('leaves a gate that comes before one it has made to the next turn: two could wait for one another', async () => {
  const { db, places, nudges, turn, sound } = await setupGates()
  const last = aJob({ gatesText: gates({ key: 'gate:z' }) })
  const both = aJob({ gatesText: gates({ key: 'gate:a' }, { key: 'gate:b' }) })
  await enqueue(db, [last, both])
  expect(await places(last.id, both.id)).toEqual(['ready', 'waiting'])
  expect(await nudges()).toEqual(['gate:b'])
  await turn()
  expect(await places(both.id)).toEqual(['ready'])
  await sound()
})

it('makes gates that are written by hand whole', async () => {
  const { sql, turn, takeAll, sound } = await setupGates()
  const written = [{ key: 'gate:k' }, { key: 'fifo:k', limit: 9, overrunMs: 1 }, { key: 'gate:k', limit: 3 }]
  await sql(`select fencepost.enqueue('test', gates => $1)`, [JSON.stringify(written)])
  await turn()
  expect(await sql('select gates from fencepost.job')).toEqual([
    {
      gates: [
        { key: 'fifo:k', limit: 1, onFull: 'wait' },
        { key: 'gate:k', limit: 1, onFull: 'wait' },
      ],
    },
  ])
  expect(await takeAll()).toHaveLength(1)
  await sound()
})

describe('a full gate', () => {
  it('discards a job that does not want to wait', async () => {
    const { db, gated, places, sound } = await setupGates()
    const first = aJob({ gatesText: gates({ key: 'gate:k', onFull: 'discard' }) })
    const second = aJob({ gatesText: gates({ key: 'gate:k', onFull: 'discard' }) })
    expect([...(await enqueue(db, [first])).values()]).toEqual(['enqueued'])
    expect([...(await enqueue(db, [second])).values()]).toEqual(['discarded'])
    expect(await places(first.id, second.id)).toEqual(['ready', 'discarded'])
    await retryEnded(db, [second.id])
    expect(await places(second.id)).toEqual(['waiting']) // a person wants it to run
    await sound()
    const third = await gated({ onFull: 'discard' })
    expect(await places(second.id, third)).toEqual(['waiting', 'discarded'])
    await sound()
  })

  it('keeps only the newest of those that replace one another', async () => {
    const { gated, places, sound } = await setupGates()
    const ids = []
    for (let i = 0; i < 4; i++) ids.push(await gated({ onFull: 'replace' }))
    expect(await places(...ids)).toEqual(['ready', 'discarded', 'discarded', 'waiting'])
    await sound()
  })

  it('does not let one that is discarded replace another', async () => {
    const { gated, places, sound } = await setupGates()
    await gated()
    const replaces = await gated({ onFull: 'replace' })
    const discarded = await gated({ onFull: 'discard' })
    expect(await places(replaces, discarded)).toEqual(['waiting', 'discarded'])
    await sound()
  })

  it('discards a job that was delayed before it came', async () => {
    const { db, gated, places, advance, sound } = await setupGates()
    const delayed = await gated({ onFull: 'discard' }, { delayMs: 1_000 })
    await gated()
    await advance(2_000)
    await promoteDue(db)
    expect(await places(delayed)).toEqual(['discarded'])
    await sound()
  })

  it('never discards a job that has been through it before', async () => {
    const { db, gated, takeAll, places, advance, sound } = await setupGates()
    const job = await gated({ onFull: 'discard' })
    await fail(
      db,
      (await takeAll()).map((lease) => ({ ...lease, ...failed })),
    )
    await gated()
    const other = await gated({ onFull: 'discard' })
    await advance(6_000)
    await promoteDue(db)
    expect(await places(job, other)).toEqual(['waiting', 'discarded'])
    const another = await gated({ onFull: 'discard' })
    expect(await places(job, another)).toEqual(['waiting', 'discarded'])
    await sound()
  })

  it('decides later for a job that was enqueued in a transaction of the caller’s', async () => {
    const { db, connect, gated, places, turn, sound } = await setupGates()
    await gated()
    const tx = await connect()
    await tx.query('begin')
    const job = aJob({ gatesText: gates({ key: 'gate:k', onFull: 'discard' }) })
    expect([...(await enqueue(db, [job], tx)).values()]).toEqual(['pending'])
    await tx.query('commit')
    expect(await places(job.id)).toEqual(['waiting'])
    await turn()
    expect(await places(job.id)).toEqual(['discarded'])
    await sound()
  })
})

it('a long line before one gate costs the claim of other jobs nothing', async () => {
  const { add, sql, gated, gate } = await setupGates()
  const buffers = async () => {
    await add()
    const [row] = await sql<{ 'QUERY PLAN': [{ Plan: Record<string, number> }] }>(
      `explain (analyze, buffers, format json) select * from fencepost.claim('default', 1, 'w1')`,
    )
    const { 'Shared Hit Blocks': hit, 'Shared Read Blocks': read } = row?.['QUERY PLAN'][0].Plan ?? {}
    return (hit as number) + (read as number)
  }
  await gated()
  await buffers()
  const before = await buffers()
  await sql(
    `select fencepost.enqueue_many(array_agg(fencepost.new_id()), array_agg('t'::text), array_agg('{}'::jsonb),
       array_agg('default'::text), array_agg(0::smallint), array_agg(0::bigint), array_agg(3::smallint),
       array_agg(3::smallint), array_agg(30000),
       array_agg('[{"key": "gate:k", "limit": 1, "onFull": "wait"}]'::jsonb), true)
     from generate_series(1, 5000)`,
  )
  expect(await gate()).toMatchObject({ held: 1 })
  // The less of two: a session that has to plan anew, because others have made and dropped databases meanwhile, reads the catalogue.
  expect(Math.min(await buffers(), await buffers())).toBeLessThan(before + 20)
})

it('in a transaction of the caller’s locks no gate, and leaves a nudge', async () => {
  const { db, connect, gated, takeAll, places, nudges, turn, sound } = await setupGates()
  const [a, b] = [await gated({ limit: 2 }), await gated({ limit: 2 })]
  const c = await gated({ limit: 2 })
  const [first, second] = await takeAll()
  const tx = await connect()
  await tx.query('begin')
  await finish(db, [{ ...(first as NonNullable<typeof first>), resultText: done }], tx)
  const d = aJob({ gatesText: gates({ key: 'gate:k', limit: 2 }) })
  await enqueue(db, [d], tx)

  // The gate's other jobs go on.
  await finish(db, [{ ...(second as NonNullable<typeof second>), resultText: done }])
  expect(await places(a, b, c)).toEqual(['leased', 'succeeded', 'ready'])

  await tx.query('commit')
  expect(await nudges()).toEqual(['gate:k', 'gate:k'])
  await turn()
  expect(await places(a, d.id)).toEqual(['succeeded', 'ready'])
  expect(await nudges()).toEqual([])
  await sound()
})
