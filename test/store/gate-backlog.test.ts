import { expect, it } from 'vitest'
import { cancel, markOverrun, promoteDue, retryEnded } from '../../src/store/control.js'
import { enqueue } from '../../src/store/enqueue.js'
import { claim } from '../../src/store/lease.js'
import { readJob } from '../../src/store/read.js'
import { finish } from '../../src/store/settle.js'
import { takeTurn } from '../../src/store/turn.js'
import { gates, setupGates } from '../harness/gates.js'
import { Session } from '../harness/session.js'
import { aJob } from '../harness/setup.js'

const backlog = 20_000

it('no move reads through a backlog of waiters', async () => {
  const bundle = await setupGates()
  const { db, sql, gated, takeAll, emptyTurn } = bundle
  await gated()
  await sql(
    `with made as (
       insert into fencepost.job
       select gen_random_uuid(), nextval('fencepost.job_seq'), created_at, due_at, lease_ms, priority, failures_max,
              losses_max, queue, task, payload, gates
       from fencepost.job, generate_series(1, $1)
       returning *
     )
     insert into fencepost.waiting
     select 'gate:k', priority, seq, id, created_at, 0, 0, priority, 0, 0, 3, 2, 0, null, false, 'wait', queue, task,
            array['gate:k']
     from made`,
    [backlog],
  )
  await sql('analyze fencepost.waiting')
  await sql('analyze fencepost.job')
  const [middle] = await sql<{ job_id: string }>(`select job_id from fencepost.waiting offset ${backlog / 2} limit 1`)
  const id = (middle as NonNullable<typeof middle>).job_id
  const [lease] = await takeAll()
  const held = { ...(lease as NonNullable<typeof lease>), resultText: '1' }
  const session = await Session.open(bundle)

  const job = (key: string, onFull: 'wait' | 'discard', limit: number) =>
    enqueue(session, [aJob({ gatesText: gates({ key, limit, onFull }) })])
  const moves: Record<string, () => Promise<unknown>> = {
    'enqueue where it waits': () => job('gate:k', 'wait', 1),
    'enqueue where it is discarded': () => job('gate:k', 'discard', 1),
    'enqueue where there is room': () => job('gate:other', 'wait', 5),
    finish: () => finish(session, [held]),
    claim: () => claim(session, { queue: 'default', limit: 10, worker: 'w1' }),
    'jobs show': () => session.query('select * from fencepost.jobs where id = $1', [id]),
    cancel: () => cancel(session, [id], null),
    retry: () => retryEnded(session, [id]),
    promote: () => promoteDue(session),
    overrun: () => markOverrun(session),
    'set_limit and turn': async () => {
      await session.query(`select fencepost.set_limit('gate:k', 3)`)
      await takeTurn(session, emptyTurn())
    },
  }
  for (const [name, move] of Object.entries(moves)) {
    await session.begin()
    await move()
    const [read] = await session.query<{ n: string }>(
      `select seq_tup_read + idx_tup_fetch as n from pg_stat_xact_user_tables where relid = 'fencepost.waiting'::regclass`,
    )
    await session.commit()
    expect(Number(read?.n), name).toBeLessThan(20)
  }
  expect(await readJob(db, id)).toMatchObject({ place: 'waiting' })
})

it('steps aside for a pause, a thousand at a time, until somebody of another queue comes', async () => {
  const { sql, db, gated, places, turn, sound } = await setupGates()
  await enqueue(
    db,
    Array.from({ length: 1_500 }, () => aJob({ gatesText: gates({ key: 'gate:k' }) })),
  )
  const other = await gated({}, { queue: 'other' })
  await sql(`select fencepost.pause('queue:default')`)
  await sql('select fencepost.yield_paused()')
  await turn()
  expect(await places(other)).toEqual(['ready'])
  expect(await sql('select distinct gate from fencepost.waiting')).toEqual([{ gate: 'pause:queue:default' }])
  await sound()
  await sql(`select fencepost.resume('queue:default')`)
  await turn()
  await turn()
  expect(await sql('select distinct gate from fencepost.waiting')).toEqual([{ gate: 'gate:k' }])
  await sound()
})
