import { randomUUID } from 'node:crypto'
import { createServer } from 'node:net'
import { inject, onTestFinished, describe, expect, it } from 'vitest'
import { fencepost } from '../../src/client/fencepost.js'
import { databaseUrl, query } from '../harness/test-server.js'
import { double, open, rowCounts, setupClient } from './setup.js'

const failure = (code: string, message: string) =>
  expect.objectContaining({ code, message: expect.stringContaining(message), hint: expect.stringMatching(/.{15,}/) })

/** A port on which each connection meets `treatment`; none at all without one. */
async function port(treatment?: Parameters<typeof createServer>[1]): Promise<number> {
  const server = createServer(treatment)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port: chosen } = server.address() as { port: number }
  const close = () => new Promise<void>((resolve) => server.close(() => resolve()))
  if (treatment) onTestFinished(close)
  else await close()
  return chosen
}

/** A role that may log in and nothing else, and the URL with which it does. */
async function modestRole(url: string): Promise<{ role: string; url: string }> {
  const role = `r_${randomUUID().slice(0, 8)}`
  await query(inject('serverUrl'), `create role ${role} login password 'modest'`)
  onTestFinished(() => query(inject('serverUrl'), `drop role ${role}`))
  const own = new URL(url)
  own.username = role
  own.password = 'modest'
  return { role, url: own.href }
}

describe('at the start, a client tells that', () => {
  it('nobody listens', async () => {
    const database = `postgres://user:secret@127.0.0.1:${await port()}/app`
    await expect(fencepost({ database })).rejects.toThrow(failure('FP_DATABASE_UNREACHABLE', 'ECONNREFUSED'))
  })

  it('nobody of that name exists', async () => {
    await expect(fencepost({ database: 'postgres://user@no-such-host.invalid/app' })).rejects.toThrow(
      expect.objectContaining({ code: 'FP_DATABASE_UNREACHABLE' }),
    )
  })

  it('who listens hangs up', async () => {
    const database = `postgres://user:secret@127.0.0.1:${await port((socket) => socket.destroy())}/app`
    await expect(fencepost({ database })).rejects.toThrow(expect.objectContaining({ code: 'FP_DATABASE_UNREACHABLE' }))
  })

  it('who listens is no PostgreSQL', async () => {
    const web = await port((socket) =>
      socket
        .on('error', () => {})
        .resume()
        .end('HTTP/1.1 400 Bad Request\r\n\r\n'),
    )
    await expect(fencepost({ database: `postgres://user:secret@127.0.0.1:${web}/app` })).rejects.toThrow(
      expect.objectContaining({ code: 'FP_DATABASE_UNREACHABLE' }),
    )
  })

  it('the password is wrong, or missing, without telling it', async () => {
    const url = new URL(inject('serverUrl'))
    for (const password of ['wrong-secret', '']) {
      url.password = password
      const call = fencepost({ database: url.href })
      await expect(call).rejects.toThrow(failure('FP_DATABASE_UNREACHABLE', 'password'))
      await expect(call).rejects.toThrow(
        expect.objectContaining({ message: expect.not.stringContaining('wrong-secret') }),
      )
    }
  })

  it('the user does not exist', async () => {
    const url = new URL(inject('serverUrl'))
    url.username = 'nobody_at_all'
    await expect(fencepost({ database: url.href })).rejects.toThrow(failure('FP_DATABASE_UNREACHABLE', 'nobody_at_all'))
  })

  it('the database does not exist', async () => {
    const database = databaseUrl(inject('serverUrl'), 'no_such_database')
    await expect(fencepost({ database })).rejects.toThrow(
      failure('FP_DATABASE_UNREACHABLE', 'database "no_such_database" does not exist'),
    )
  })

  it('the database accepts no connections', async () => {
    const { url } = await setupClient()
    const name = new URL(url).pathname.slice(1)
    await query(inject('serverUrl'), `alter database ${name} allow_connections false`)
    await expect(fencepost({ database: url })).rejects.toThrow(
      failure('FP_DATABASE_UNREACHABLE', 'not currently accepting connections'),
    )
    await query(inject('serverUrl'), `alter database ${name} allow_connections true`)
  })

  it('the server speaks no TLS', async () => {
    const { url } = await setupClient()
    await expect(fencepost({ database: `${url}?sslmode=verify-full` })).rejects.toThrow(
      failure('FP_DATABASE_UNREACHABLE', 'SSL'),
    )
  })

  it('the PostgreSQL is too old', async () => {
    const { url, sql } = await setupClient()
    // A real server that says so of itself: its own function is found before the system's.
    await sql(`create schema old`)
    await sql(`create function old.current_setting(text) returns text language sql
               as $$ select case $1 when 'server_version_num' then '140012' else '14.12' end $$`)
    const database = `${url}?options=${encodeURIComponent('-c search_path=old,pg_catalog')}`
    await expect(fencepost({ database, schema: 'fresh' })).rejects.toThrow(
      failure('FP_DATABASE_UNSUPPORTED', 'the server is PostgreSQL 14.12'),
    )
    expect(await sql(`select to_regnamespace('fresh') is null as none`)).toEqual([{ none: true }])
  })

  it('the schema is not installed, if it is not to install it', async () => {
    const { url, sql } = await setupClient()
    await expect(fencepost({ database: url, schema: 'fresh', migrate: false })).rejects.toThrow(
      failure('FP_SCHEMA_MISSING', 'fresh'),
    )
    expect(await sql(`select to_regnamespace('fresh') is null as none`)).toEqual([{ none: true }])
  })
})

describe('a missing privilege is named:', () => {
  it('to create the schema', async () => {
    const { url, sql } = await setupClient()
    const { url: database } = await modestRole(url)
    await expect(fencepost({ database, schema: 'fresh' })).rejects.toThrow(
      failure('FP_DATABASE_PRIVILEGE', 'permission denied for database'),
    )
    expect(await sql(`select to_regnamespace('fresh') is null as none`)).toEqual([{ none: true }])
  })

  it('to use a schema that another user installed', async () => {
    const { url } = await setupClient()
    const { url: database } = await modestRole(url)
    await expect(fencepost({ database, migrate: false })).rejects.toThrow(
      failure('FP_DATABASE_PRIVILEGE', 'permission denied for schema fencepost'),
    )
  })

  it('to write, of a user who may only look', async () => {
    const { url, sql } = await setupClient()
    const { role, url: database } = await modestRole(url)
    await sql(`grant usage on schema fencepost to ${role}`)
    await sql(`grant select on all tables in schema fencepost to ${role}`)
    const fp = await open({ database, migrate: false })
    await expect(fp.enqueue(double, { n: 1 })).rejects.toThrow(
      failure('FP_DATABASE_PRIVILEGE', 'permission denied for'),
    )
    expect(await rowCounts(sql)).toMatchObject({ job: 0 })
    await sql(`drop owned by ${role}`)
  })
})

describe('later on, a client', () => {
  it('goes on after its connections were cut', async () => {
    const { fp, url, sql } = await setupClient()
    const name = new URL(url).pathname.slice(1)
    await fp.enqueue(double, { n: 1 })
    await query(
      inject('serverUrl'),
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}' and application_name = 'fencepost'`,
    )
    expect(await fp.enqueue(double, { n: 2 })).toMatchObject({ answer: 'enqueued' })
    expect(await rowCounts(sql)).toMatchObject({ job: 2, ready: 2 })
  })

  it('gives up on a database that stays away, within the time it was given, and tells it', async () => {
    const { url } = await setupClient()
    const name = new URL(url).pathname.slice(1)
    const fp = await open({ database: url, migrate: false, databaseRetry: '200ms' })
    await fp.enqueue(double, { n: 1 })
    await query(inject('serverUrl'), `alter database ${name} allow_connections false`)
    await query(inject('serverUrl'), `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`)

    await expect(fp.enqueue(double, { n: 2 })).rejects.toThrow(failure('FP_DATABASE_UNREACHABLE', ''))
    await query(inject('serverUrl'), `alter database ${name} allow_connections true`)
    expect(await fp.enqueue(double, { n: 3 })).toMatchObject({ answer: 'enqueued' })
  })

  it('tells that its schema is gone', async () => {
    const { fp, sql } = await setupClient()
    await sql('drop schema fencepost cascade')
    await expect(fp.enqueue(double, { n: 1 })).rejects.toThrow(
      expect.objectContaining({ code: 'FP_SCHEMA_MISSING', hint: 'Run `fencepost migrate`.' }),
    )
  })
})
