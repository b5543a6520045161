import pg from 'pg'
import { expect, it, onTestFinished } from 'vitest'
import { limitedClient } from '../../src/store/limited-client.js'
import { Session } from '../harness/session.js'
import { setup } from '../harness/setup.js'

/** `endless` waits for a lock that nobody gives back before the test is over. */
async function setupPool({ statementMsMax = 100 } = {}) {
  const bundle = await setup()
  await (await Session.open(bundle)).query('select pg_advisory_lock(1)')
  const pool = new pg.Pool({ connectionString: bundle.url, Client: limitedClient(statementMsMax) })
  pool.on('error', () => {})
  onTestFinished(() => pool.end())
  return pool
}

const endless = 'select pg_advisory_lock($1)'
const late = { message: 'Query read timeout' }

it('gives up a statement that takes too long, and its connection with it', async () => {
  const pool = await setupPool()

  await expect(pool.query(endless, [1])).rejects.toMatchObject(late)

  expect(pool.totalCount).toBe(0)
  expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }])
})

it('gives up a statement on a connection of the caller’s, who is to end it', async () => {
  const pool = await setupPool()
  const client = await pool.connect()

  await expect(client.query({ text: endless, values: [1] })).rejects.toMatchObject(late)

  client.release(true)
  expect(pool.totalCount).toBe(0)
})

it('answers in all the ways in which a driver is asked', async () => {
  const pool = await setupPool({ statementMsMax: 60_000 })
  const client = await pool.connect()
  onTestFinished(() => client.release())
  const asked = { text: 'select $1::int as n', values: [2] }

  expect((await client.query('select 1 as n')).rows).toEqual([{ n: 1 }])
  expect((await client.query('select $1::int as n', [3])).rows).toEqual([{ n: 3 }])
  expect((await client.query(asked)).rows).toEqual([{ n: 2 }])
  const called = new Promise((resolve) => client.query(asked, (_error, { rows }) => resolve(rows)))
  expect(await called).toEqual([{ n: 2 }])
  await expect(client.query('select 1 / 0')).rejects.toMatchObject({ code: '22012' })
})
