import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { Database, type DatabaseOptions } from '../../src/store/database.js'
import { enqueue } from '../../src/store/enqueue.js'
import { claim } from '../../src/store/lease.js'
import { readJob } from '../../src/store/read.js'
import { fail, finish, release } from '../../src/store/settle.js'
import { untilBlocked, untilBlockedBy } from '../harness/blocked.js'
import { FaultProxy } from '../harness/fault-proxy.js'
import { Session } from '../harness/session.js'
import { aJob, setup } from '../harness/setup.js'

const failure = { errorText: '{}', delayMs: 0, final: false }

function open(options: DatabaseOptions): Database {
  const db = new Database(options)
  onTestFinished(() => db.close())
  return db
}

/** The bundle of a test, with a second way to its database that loses what it is told to lose. */
async function throughProxy(options: Partial<DatabaseOptions> = {}) {
  const bundle = await setup()
  const proxy = await FaultProxy.start(bundle.url)
  return { ...bundle, proxy, lossy: open({ url: proxy.url, ...options }) }
}

describe('a move whose reply was lost is repeated', () => {
  it('enqueue: the job is stored once, and the answer is that it exists', async () => {
    const { proxy, lossy, placesOf, sql } = await throughProxy()
    const job = aJob()
    const cut = proxy.loseReplyTo('enqueue_')

    expect(await enqueue(lossy, [job])).toEqual(new Map([[job.id, 'existing']]))

    await cut
    expect(await placesOf(job.id)).toEqual(['ready'])
    expect(await sql('select 1 from fencepost.job')).toHaveLength(1)
  })

  it('enqueue under fresh ids: the same, of one task and of several', async () => {
    const { proxy, lossy, sql } = await throughProxy()
    for (const [move, jobs] of [
      ['enqueue_alike', [aJob(), aJob()]],
      ['enqueue_alike', [aJob()]],
      [
        'enqueue_many_fresh',
        [aJob({ payloadText: '"a \\"\\\\ \\n {}, ü"' }), aJob({ task: 'another', gatesText: null, delayMs: 5 })],
      ],
    ] as const) {
      const cut = proxy.loseReplyTo(move)
      const answers = new Map(jobs.map(({ id }) => [id, 'existing']))
      expect(await enqueue(lossy, jobs, undefined, true)).toEqual(answers)
      await cut
      const stored = `select id, task, payload, due_at is not null as delayed from fencepost.job where id = any ($1)
                      order by seq`
      expect(await sql(stored, [jobs.map(({ id }) => id)])).toEqual(
        jobs.map(({ id, task, payloadText, delayMs }) => ({
          id,
          task,
          payload: JSON.parse(payloadText),
          delayed: delayMs > 0,
        })),
      )
    }
  })

  it('enqueue in a transaction of its own, READ COMMITTED: the same, at each of its messages', async () => {
    const { proxy, lossy, sql } = await throughProxy()
    lossy.sayReadCommitted()
    for (const [lose, answer] of [
      [() => proxy.loseRequest('begin isolation'), 'enqueued'],
      [() => proxy.loseReplyTo('enqueue_'), 'enqueued'],
      [() => proxy.loseRequest('commit\0'), 'enqueued'],
      [() => proxy.loseReplyTo('commit\0'), 'existing'],
    ] as const) {
      const job = aJob()
      const lost = lose()
      expect(await enqueue(lossy, [job])).toEqual(new Map([[job.id, answer]]))
      await lost
      expect(await sql('select 1 from fencepost.job where id = $1', [job.id])).toHaveLength(1)
    }
  })

  it('finish: the job has ended once, and the answer is that it had already', async () => {
    const { proxy, lossy, add, take, placesOf, sql } = await throughProxy()
    const id = await add()
    const lease = await take()
    const cut = proxy.loseReplyTo('fencepost".finish')

    expect(await finish(lossy, [{ ...lease, resultText: '1' }])).toMatchObject([
      { answer: 'already', outcome: 'succeeded' },
    ])

    await cut
    expect(await placesOf(id)).toEqual(['finished'])
    expect(await sql('select 1 from fencepost.attempt')).toEqual([])
  })

  it('fail: one failure is counted', async () => {
    const { proxy, lossy, add, take, see } = await throughProxy()
    const id = await add()
    const lease = await take()
    const cut = proxy.loseReplyTo('fencepost".fail')

    expect(await fail(lossy, [{ ...lease, ...failure }])).toMatchObject([{ answer: 'already' }])

    await cut
    expect(await see(id)).toMatchObject({ place: 'ready', failures: 1 })
  })

  it('release: one release is counted', async () => {
    const { proxy, lossy, add, take, see } = await throughProxy()
    const id = await add()
    const lease = await take()
    const cut = proxy.loseReplyTo('fencepost".release')

    expect(await release(lossy, [lease], 'x')).toMatchObject([{ answer: 'already' }])

    await cut
    expect(await see(id)).toMatchObject({ place: 'ready', releases: 1 })
  })

  it('claim: the same leases are answered, and no others are taken', async () => {
    const { proxy, lossy, add, sql } = await throughProxy()
    const first = await add()
    await add()
    const cut = proxy.loseReplyTo('fencepost".claim')

    expect(await claim(lossy, { queue: 'default', limit: 1, worker: 'w1', turn: 1 })).toMatchObject([
      { jobId: first, tries: 1 },
    ])

    await cut
    expect(await sql('select 1 from fencepost.leased')).toHaveLength(1)
  })
})

describe('a session that the server ends in the moment in which it passes from one caller to the next', () => {
  // The reply to the first and the server's last word come in one piece: the next caller has the connection by then, and
  // has not yet run.
  const uncaught: unknown[] = []
  const hear = (error: unknown) => uncaught.push(error)
  beforeEach(() => {
    uncaught.length = 0
    process.on('uncaughtException', hear)
    onTestFinished(() => void process.off('uncaughtException', hear))
  })

  it('a transaction that got it fails as unreachable, and the process lives', async () => {
    const { proxy, lossy } = await throughProxy({ poolSize: 1 })
    await lossy.read('select 1')
    const ended = proxy.endSessionWithReplyTo('select 42')

    const first = lossy.read('select 42 as n')
    const second = lossy.transaction((tx) => tx.query('select 1'))

    expect(await first).toEqual([{ n: 42 }])
    await expect(second).rejects.toMatchObject({ code: 'FP_DATABASE_UNREACHABLE' })
    await ended
    expect(await lossy.read('select 43 as n')).toEqual([{ n: 43 }])
    expect(uncaught).toEqual([])
  })

  it('a move that says its isolation level is repeated', async () => {
    const { proxy, lossy, placesOf } = await throughProxy({ poolSize: 1 })
    lossy.sayReadCommitted()
    await lossy.once('select 1')
    const job = aJob()
    const ended = proxy.endSessionWithReplyTo('select 42')

    const first = lossy.once('select 42 as n')
    const second = enqueue(lossy, [job])

    expect(await first).toEqual([{ n: 42 }])
    expect(await second).toEqual(new Map([[job.id, 'enqueued']]))
    await ended
    expect(await placesOf(job.id)).toEqual(['ready'])
    expect(uncaught).toEqual([])
  })
})

describe('a move that never arrived is repeated', () => {
  it('enqueue: and the answer is that it is done now', async () => {
    const { proxy, lossy, placesOf } = await throughProxy()
    const job = aJob()
    const cut = proxy.loseRequest('enqueue_')

    expect(await enqueue(lossy, [job])).toEqual(new Map([[job.id, 'enqueued']]))

    await cut
    expect(await placesOf(job.id)).toEqual(['ready'])
  })

  it('finish: and the answer is that it is done now', async () => {
    const { proxy, lossy, add, take, placesOf } = await throughProxy()
    const id = await add()
    const lease = await take()
    const cut = proxy.loseRequest('fencepost".finish')

    expect(await finish(lossy, [{ ...lease, resultText: '1' }])).toMatchObject([{ answer: 'finished' }])

    await cut
    expect(await placesOf(id)).toEqual(['finished'])
  })
})

it('repeats a move whose session was ended by the server in mid-statement', async () => {
  const bundle = await setup()
  await bundle.add()
  const item = { ...(await bundle.take()), resultText: '1' }
  const first = await Session.open(bundle)
  await first.begin()
  await finish(first, [item])

  const repeat = finish(bundle.db, [item])
  const pid = await untilBlockedBy(bundle.sql, first)
  await bundle.sql('select pg_terminate_backend($1)', [pid])
  let next = pid
  while (next === pid) next = await untilBlockedBy(bundle.sql, first)
  await first.commit()

  expect(await repeat).toMatchObject([{ answer: 'already' }])
})

it('repeats a move that failed to serialize', async () => {
  const bundle = await setup()
  const id = await bundle.add()
  const item = { ...(await bundle.take()), resultText: '1' }
  const name = new URL(bundle.url).pathname.slice(1)
  await bundle.sql(`alter database ${name} set default_transaction_isolation = 'serializable'`)
  const strict = open({ url: bundle.url })
  const first = await Session.open(bundle)
  await first.begin()
  await finish(first, [item])

  const repeat = finish(strict, [item])
  await untilBlockedBy(bundle.sql, first)
  await first.commit()

  expect(await repeat).toMatchObject([{ answer: 'already' }])
  expect(await bundle.placesOf(id)).toEqual(['finished'])
})

it('repeats a move that was the victim of a deadlock', async () => {
  const bundle = await setup()
  for (let i = 0; i < 3; i++) await bundle.add()
  const name = new URL(bundle.url).pathname.slice(1)
  await bundle.sql(`alter database ${name} set deadlock_timeout = '20ms'`)
  const victim = open({ url: bundle.url, poolSize: 1 })
  const leases = await claim(bundle.db, { queue: 'default', limit: 3, worker: 'w1' })
  const [gate, other] = [await Session.open(bundle), await Session.open(bundle)]
  await other.query(`set deadlock_timeout = '60s'`)
  const lock = 'select 1 from fencepost.leased where lease_id = $1 for update'
  await gate.begin()
  await gate.query(lock, [leases[1]?.leaseId])
  await other.begin()
  await other.query(lock, [leases[2]?.leaseId])

  // The move holds the first lease and waits for the second; then it waits for the third, whose holder waits for it.
  const answers = finish(
    victim,
    leases.map((lease) => ({ ...lease, resultText: '1' })),
  )
  await untilBlockedBy(bundle.sql, gate)
  const crossing = other.query(lock, [leases[0]?.leaseId])
  await untilBlocked(bundle.sql, other.pid, crossing)
  await gate.rollback()
  await crossing
  await other.rollback()

  expect((await answers).map(({ answer }) => answer)).toEqual(['finished', 'finished', 'finished'])
})

it('runs a move once in a transaction of the caller’s: what follows an error is theirs to decide', async () => {
  const bundle = await setup()
  const id = await bundle.add()
  const lease = await bundle.take()
  const caller = await Session.open(bundle)
  await caller.begin('repeatable read')
  await caller.query('select 1 from fencepost.leased')
  await release(bundle.db, [lease], 'x')

  await expect(finish(bundle.db, [{ ...lease, resultText: '1' }], caller.client)).rejects.toMatchObject({
    code: 'FP_DATABASE_ERROR',
    cause: { code: '40001' },
  })
  expect(await bundle.placesOf(id)).toEqual(['ready'])
})

describe('a database that stays away', () => {
  it('is told as such when the move cannot have reached it', async () => {
    const { proxy, lossy } = await throughProxy({ retryMs: 100 })
    await proxy.stop()

    await expect(enqueue(lossy, [aJob()])).rejects.toMatchObject({ code: 'FP_DATABASE_UNREACHABLE' })
  })

  it('leaves the outcome of a move unknown whose reply was lost, and says so', async () => {
    const { proxy, lossy, db, placesOf } = await throughProxy({ retryMs: 100 })
    const job = aJob()
    const away = proxy.loseReplyTo('enqueue_').then(() => proxy.stop())

    await expect(enqueue(lossy, [job])).rejects.toMatchObject({ code: 'FP_COMMIT_UNKNOWN' })

    await away
    expect(await placesOf(job.id)).toEqual(['ready'])
    expect(await enqueue(db, [job])).toEqual(new Map([[job.id, 'existing']]))
  })

  it('leaves nothing unknown about a read', async () => {
    const { proxy, lossy, add } = await throughProxy({ retryMs: 100 })
    const id = await add()
    const away = proxy.loseReplyTo('fencepost".jobs').then(() => proxy.stop())

    await expect(readJob(lossy, id)).rejects.toMatchObject({ code: 'FP_DATABASE_UNREACHABLE' })
    await away
  })
})

it('refuses a move after it was closed', async () => {
  const { db, url } = await setup()
  const closed = new Database({ url })
  await closed.close()
  await closed.close()

  await expect(enqueue(closed, [aJob()])).rejects.toMatchObject({ code: 'FP_CLOSED' })
  await expect(closed.transaction(() => Promise.resolve())).rejects.toMatchObject({ code: 'FP_CLOSED' })
  expect(await enqueue(db, [aJob()])).toHaveProperty('size', 1)
})

describe('transaction', () => {
  const counted = 'select count(*) as n from effect'

  async function withEffects() {
    const bundle = await throughProxy()
    await bundle.sql('create table effect (n int primary key)')
    return bundle
  }

  it('commits what was done, and answers what the work answers', async () => {
    const { db, sql } = await withEffects()

    const answer = await db.transaction(async (tx) => {
      await tx.query('insert into effect values (1)')
      return 'done'
    })

    expect(answer).toBe('done')
    expect(await sql(counted)).toEqual([{ n: 1 }])
  })

  it('rolls back when the work throws, and throws the same error', async () => {
    const { db, sql } = await withEffects()
    const error = new Error('no')

    const call = db.transaction(async (tx) => {
      await tx.query('insert into effect values (1)')
      throw error
    })

    await expect(call).rejects.toBe(error)
    expect(await sql(counted)).toEqual([{ n: 0 }])
  })

  it('does not take a broken connection of the work’s own for one to the database', async () => {
    const { db, sql } = await withEffects()
    const error = Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' })

    const call = db.transaction(async (tx) => {
      await tx.query('insert into effect values (1)')
      throw error
    })

    await expect(call).rejects.toBe(error)
    expect(await sql(counted)).toEqual([{ n: 0 }])
  })

  it('is not taken for committed if the work has ended it', async () => {
    const { db } = await setup()

    await expect(db.transaction((tx) => tx.query('rollback'))).rejects.toMatchObject({ code: 'FP_TRANSACTION_ENDED' })
  })

  it('does not believe a COMMIT that is answered with ROLLBACK', async () => {
    const { db, sql } = await withEffects()

    const call = db.transaction(async (tx) => {
      await tx.query('insert into effect values (1)')
      await tx.query('insert into effect values (1)').catch(() => 'ignored')
      return 'done'
    })

    await expect(call).rejects.toMatchObject({ code: 'FP_TRANSACTION_ROLLED_BACK' })
    expect(await sql(counted)).toEqual([{ n: 0 }])
  })

  it('does not take a lost reply to a COMMIT that was a ROLLBACK for success', async () => {
    const { lossy, proxy, sql } = await withEffects()
    void proxy.loseReplyTo('commit')

    const call = lossy.transaction(async (tx) => {
      await tx.query('insert into effect values (1)')
      await tx.query('insert into effect values (1)').catch(() => 'ignored')
      return 'done'
    })

    await expect(call).rejects.toMatchObject({ code: 'FP_TRANSACTION_ROLLED_BACK' })
    expect(await sql(counted)).toEqual([{ n: 0 }])
  })

  it('learns that it was committed when the reply to COMMIT was lost', async () => {
    const { lossy, proxy, sql } = await withEffects()
    const cut = proxy.loseReplyTo('commit')

    const answer = await lossy.transaction(async (tx) => {
      await tx.query('insert into effect values (1)')
      return 'done'
    })

    await cut
    expect(answer).toBe('done')
    expect(await sql(counted)).toEqual([{ n: 1 }])
  })

  it('learns that it was rolled back when the COMMIT never arrived', async () => {
    const { lossy, proxy, sql } = await withEffects()
    const cut = proxy.loseRequest('commit')

    const call = lossy.transaction((tx) => tx.query('insert into effect values (1)'))

    await expect(call).rejects.toMatchObject({ code: 'FP_DATABASE_UNREACHABLE' })
    await cut
    expect(await sql(counted)).toEqual([{ n: 0 }])
  })

  it('says so when what became of it cannot be learnt', async () => {
    const { url, proxy, sql } = await withEffects()
    const lossy = open({ url: proxy.url, retryMs: 100 })
    const away = proxy.loseReplyTo('commit').then(() => proxy.stop())

    const call = lossy.transaction((tx) => tx.query('insert into effect values (1)'))

    await expect(call).rejects.toMatchObject({ code: 'FP_COMMIT_UNKNOWN' })
    await away
    expect(url).not.toBe(proxy.url)
    expect(await sql(counted)).toEqual([{ n: 1 }])
  })

  it('that has written nothing has lost nothing with the reply to its COMMIT', async () => {
    const { lossy, proxy } = await withEffects()
    const cut = proxy.loseReplyTo('commit')

    expect(await lossy.transaction(async (tx) => (await tx.query(counted)).rows)).toEqual([{ n: 0 }])
    await cut
  })

  it('is rolled back, and told as such, when the connection breaks inside', async () => {
    const { lossy, proxy, sql } = await withEffects()
    const cut = proxy.loseReplyTo('(2)')

    const call = lossy.transaction(async (tx) => {
      await tx.query('insert into effect values (1)')
      await tx.query('insert into effect values (2)')
    })

    await expect(call).rejects.toMatchObject({ code: 'FP_DATABASE_UNREACHABLE' })
    await cut
    expect(await sql(counted)).toEqual([{ n: 0 }])
    expect(await lossy.transaction((tx) => tx.query('select 1'))).toHaveProperty('rowCount', 1)
  })

  it('is not told as a success if a statement that nobody waited for has failed in it', async () => {
    const { db, sql } = await withEffects()

    const call = db.transaction(async (tx) => {
      await tx.query('insert into effect values (1)')
      const query = tx.query.bind(tx) as (text: string) => Promise<unknown>
      // Behind the look at the transaction, and before its COMMIT.
      Object.assign(tx, {
        query(text: string) {
          Object.assign(tx, { query })
          const asked = query(text)
          query('select 1 / 0').catch(() => {})
          return asked
        },
      })
    })

    await expect(call).rejects.toMatchObject({ code: 'FP_TRANSACTION_ROLLED_BACK' })
    expect(await sql(counted)).toEqual([{ n: 0 }])
  })

  it('does not outlive a process that has stopped', async () => {
    const { db } = await withEffects()

    const { rows } = await db.transaction((tx) => tx.query('show idle_in_transaction_session_timeout'))

    expect(rows).toEqual([{ idle_in_transaction_session_timeout: '1min' }])
  })
})

describe('moves that are prepared', () => {
  const prepared = `select name from pg_prepared_statements where name like 'fencepost%'`
  const asked = 'select * from fencepost.asked()'
  const answering = (columns: string, values: string) =>
    `create function fencepost.asked() returns table (${columns}) language sql as 'select ${values}'`

  async function setupPrepared() {
    const bundle = await setup()
    await bundle.sql(answering('a int', '1'))
    const db = new Database({ url: bundle.url, poolSize: 1 })
    onTestFinished(() => db.close())
    await db.prepareMoves()
    return { ...bundle, db }
  }

  it('are prepared once per connection, under a name that tells the move', async () => {
    const { db } = await setupPrepared()

    for (let n = 0; n < 3; n++) expect(await db.move(asked, () => [])).toEqual([{ a: 1 }])

    expect(await db.read(prepared)).toEqual([
      { name: expect.stringMatching(/^fencepost_[0-9a-f]{10}_asked$/) as string },
    ])
  })

  it('are prepared unasked, after some moves', async () => {
    const { url, sql } = await setup()
    await sql(answering('a int', '1'))
    const db = open({ url, poolSize: 1 })
    await db.move(asked, () => [])
    expect(await db.read(prepared)).toEqual([])

    for (let n = 0; n < 10; n++) expect(await db.move(asked, () => [])).toEqual([{ a: 1 }])

    expect(await db.read(prepared)).toHaveLength(1)
  })

  it('go on when a migration has changed what they answer', async () => {
    const { db, sql } = await setupPrepared()
    await db.move(asked, () => [])
    await sql('drop function fencepost.asked()')
    await sql(answering('a int, b int', '1, 2'))

    expect(await db.move(asked, () => [])).toEqual([{ a: 1, b: 2 }])
  })

  it('go on in a session that has forgotten them', async () => {
    const { db } = await setupPrepared()
    await db.move(asked, () => [])
    await db.once('deallocate all')

    expect(await db.move(asked, () => [])).toEqual([{ a: 1 }])
  })
})

it('tells bad data as such, also if the reply to the first try was lost', async () => {
  const { proxy, lossy, sql } = await throughProxy()
  const cut = proxy.loseReplyTo('enqueue_')

  const enqueued = enqueue(lossy, [aJob({ payloadText: '"\\u0000"' })])

  await expect(enqueued).rejects.toMatchObject({ code: 'FP_INPUT_NOT_JSON' })
  await cut
  expect(await sql('select 1 from fencepost.job')).toEqual([])
})

it('does not use a connection again on which a move of its own transaction has failed', async () => {
  const { url } = await setup()
  const db = open({ url, poolSize: 1 })
  db.sayReadCommitted()
  const job = aJob()

  await expect(enqueue(db, [aJob({ payloadText: '"\\u0000"' })])).rejects.toMatchObject({ code: 'FP_INPUT_NOT_JSON' })

  expect(await enqueue(db, [job])).toEqual(new Map([[job.id, 'enqueued']]))
})

it('asks what became of a COMMIT until that is over', async () => {
  const { url, connect, sql } = await setup()
  await sql(`create table effect (by text);
    create function wait() returns trigger language plpgsql as $$ begin
      perform pg_advisory_xact_lock(1); return null; end $$;
    create constraint trigger wait after insert on effect deferrable initially deferred for each row execute function wait()`)
  const holder = await Session.open({ url, connect })
  await holder.begin()
  await holder.query('select pg_advisory_xact_lock(1)')
  const proxy = await FaultProxy.start(url)
  let asked = 0
  const pause = async () => {
    asked++
    await holder.commit() // and only now the other transaction can go on
  }
  const db = open({ url: proxy.url, pause })

  const done = db.transaction((tx) => tx.query(`insert into effect values ('a')`).then(() => 'done'))
  await untilBlockedBy(sql, holder)
  proxy.cutAll()

  expect(await done).toBe('done')
  expect(asked).toBeGreaterThan(0)
  expect(await sql('select by from effect')).toEqual([{ by: 'a' }])
})
