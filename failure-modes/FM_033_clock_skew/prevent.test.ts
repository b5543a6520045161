import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { claim, loseExpired } from '../../src/store/lease.js'
import { finish } from '../../src/store/settle.js'
import { readSqlFiles } from '../../src/store/sql-files.js'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'
import { Session } from '../../test/harness/session.js'
import { setup } from '../../test/harness/setup.js'

it('FM_033: by the database’s clock, the lease has not run out, whatever time it is at the worker', async () => {
  const { prevent } = await bundleUnderTest('FM_033')

  const played = await prevent()

  expect(noteOf(played, 'B', 'looks for expired leases, its clock an hour ahead')).toBe('nothing to take back')
  expect(noteOf(played, 'B', 'leases what there is and commits')).toBe('nothing to claim')
  expect(noteOf(played, 'A', 'commits the effect and the outcome')).toBe('finished')
  expect(played.violations).toEqual([])
})

const naive = readFileSync(join(import.meta.dirname, 'naive.sql'), 'utf8')
const [naiveClock, naiveFinish] = naive.split(/(?=^create or replace )/m).slice(1) as [string, string]

/** A leases a job; B, an hour ahead, looks for expired leases when five seconds have passed. */
async function aheadOfTime(withoutLayer: string) {
  const bundle = await setup()
  await bundle.sql(withoutLayer)
  const id = await bundle.add()
  const a = await bundle.take({ worker: 'A' })
  await bundle.advance(5_000)
  const b = await Session.open(bundle)
  await b.query(`set lab.worker_clock_ms = '3600000'`)
  return { ...bundle, id, a, b, lost: await loseExpired(b) }
}

it('FM_033: the clock alone, without the fence behind it, keeps the early taker out', async () => {
  const { a, b, db, lost } = await aheadOfTime(naiveFinish)

  expect(lost).toEqual([])
  expect(await claim(b, { queue: 'default', limit: 1, worker: 'B' })).toEqual([])
  expect(await finish(db, [{ ...a, resultText: '"A"' }])).toMatchObject([{ answer: 'finished' }])
})

it('FM_033: the fence alone, with a clock that is wrong, lets only one of the two attempts commit', async () => {
  const { id, a, b, db, lost, sql } = await aheadOfTime(naiveClock)
  expect(lost).toMatchObject([{ jobId: id, answer: 'lost' }])
  const [lease] = await claim(b, { queue: 'default', limit: 1, worker: 'B' })
  if (!lease) throw new Error('B found nothing to claim')

  expect(await finish(b, [{ ...lease, resultText: '"B"' }])).toMatchObject([{ answer: 'finished' }])
  expect(await finish(db, [{ ...a, resultText: '"A"' }])).toMatchObject([{ answer: 'stale', duplicate: true }])
  expect(await sql('select worker, result from fencepost.finished')).toEqual([{ worker: 'B', result: 'B' }])
})

it('FM_033: no function takes a time from its caller', async () => {
  const { sql } = await setup()

  const takers = await sql(`
    select p.proname || '(' || pg_get_function_identity_arguments(p.oid) || ')' as function
    from pg_proc p cross join unnest(p.proargtypes) as argument(type)
    where p.pronamespace = 'fencepost'::regnamespace
      and format_type(argument.type, null) ~ '^(timestamp|date|time)'`)

  expect(takers).toEqual([])
})

it('FM_033: every time that a move reads or writes comes from clock()', async () => {
  const { sql } = await setup()
  const systemTime =
    /\b(now|(clock|statement|transaction)_timestamp|timeofday)\s*\(|\b(current_(timestamp|date|time)|localtime(stamp)?)\b/i

  const tellers = [...readSqlFiles().moves].filter(([, text]) => systemTime.test(text.replace(/--.*$/gm, '')))
  const defaults = await sql(`
    select table_name, column_name, column_default from information_schema.columns
    where table_schema = 'fencepost' and data_type ~ '^(timestamp|date|time)' and column_default is not null
    order by table_name`)
  const [storedAt] = await sql(`select prosrc from pg_proc where oid = 'fencepost.stored_at'::regproc`)

  // new_id() puts the time into an id, and `migration` is a log: nothing is decided by either.
  expect(tellers.map(([name]) => name).sort()).toEqual(['clock', 'new_id'])
  expect(defaults).toEqual([
    {
      table_name: 'job',
      column_name: 'created_at',
      column_default: expect.stringMatching(/^(fencepost\.)?stored_at\(\)$/),
    },
    { table_name: 'migration', column_name: 'applied_at', column_default: 'clock_timestamp()' },
  ])
  expect(storedAt?.['prosrc']).toMatch(/^ begin return "?fencepost"?\.clock\(\); end $/)
})
