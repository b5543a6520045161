import { type ChildProcess, fork } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { describe, expect, inject, it, onTestFinished } from 'vitest'
import { Database } from '../../src/store/database.js'
import { migrate, requireSchema, schemaStatus } from '../../src/store/migrator.js'
import { type Migration, readSqlFiles, type SqlFiles } from '../../src/store/sql-files.js'
import { compiledProgram } from '../harness/compiled.js'
import { databaseUrl, query } from '../harness/test-server.js'
import { double, open } from './setup.js'

const files = readSqlFiles()
const latest = files.migrations.at(-1)?.version ?? 0

/** A database with nothing in it. */
async function emptyDatabase() {
  const serverUrl = inject('serverUrl')
  const name = `t_${randomUUID().replaceAll('-', '')}`
  await query(serverUrl, `create database ${name}`)
  const url = databaseUrl(serverUrl, name)
  const db = new Database({ url, poolSize: 2 })
  onTestFinished(async () => {
    await db.close()
    await query(serverUrl, `drop database ${name} with (force)`)
  })
  const sql = <Row = Record<string, unknown>>(text: string, values: unknown[] = []) => db.once<Row>(text, values)
  return { url, name, sql, options: { url, schema: 'fencepost' } }
}

type Sql = Awaited<ReturnType<typeof emptyDatabase>>['sql']

/** Every object of the schema with the transaction that last touched it: equal before and after if nothing was done. */
async function snapshot(sql: Sql, schema = 'fencepost') {
  return sql(
    `select relname as name, c.xmin::text from pg_class c where relnamespace = to_regnamespace(quote_ident($1))
     union all select oid::regprocedure::text, p.xmin::text from pg_proc p
               where pronamespace = to_regnamespace(quote_ident($1))
     union all select typname, t.xmin::text from pg_type t where typnamespace = to_regnamespace(quote_ident($1))
     order by 1, 2`,
    [schema],
  )
}

/** The SQL of a later version of the package: one more migration, and functions that differ. */
function later(migration: Partial<Migration> = {}): SqlFiles {
  const next = {
    version: latest + 1,
    name: `000${latest + 1}_later`,
    compatibleFrom: 1,
    sql: 'create table fencepost.later (n integer)',
    ...migration,
  }
  const clock = `${files.moves.get('clock')}\ncomment on function fencepost.clock() is 'the later one'`
  return { migrations: [...files.migrations, next], moves: new Map(files.moves).set('clock', clock) }
}

async function migratingProcess(): Promise<ChildProcess> {
  const script = compiledProgram('client/migrate-process')
  const child = fork(script, { execArgv: [], stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  await once(child, 'message')
  return child
}

describe('migrate', () => {
  it('is safe from eight processes at once', async () => {
    const { sql, options } = await emptyDatabase()
    const children = await Promise.all(Array.from({ length: 8 }, migratingProcess))

    const answers = await Promise.all(
      children.map(async (child) => {
        const answered = once(child, 'message')
        child.send(options)
        return (await answered)[0] as { status?: { version: number }; error?: string }
      }),
    )

    expect(answers.filter(({ error }) => error)).toEqual([])
    // One found nothing; to the other seven there was nothing left to do.
    const versions = answers.map(({ status }) => status?.version)
    expect(versions.filter((version) => version === 0)).toHaveLength(1)
    expect(versions.filter((version) => version === latest)).toHaveLength(7)
    expect(await sql('select version from fencepost.migration order by version')).toEqual(
      files.migrations.map(({ version }) => ({ version })),
    )
    expect(await schemaStatus(options)).toMatchObject({ version: latest, pending: [], movesDiffer: false })
  })

  it('is safe whatever the database’s default isolation is', async () => {
    const { sql, name, options } = await emptyDatabase()
    await sql(`alter database ${name} set default_transaction_isolation = 'serializable'`)
    await sql(`alter database ${name} set default_transaction_read_only = on`)
    await Promise.all(Array.from({ length: 5 }, () => migrate(options)))
    expect(await schemaStatus(options)).toMatchObject({ version: latest, pending: [], movesDiffer: false })
  })

  it('does nothing the second time', async () => {
    const { sql, options } = await emptyDatabase()
    await migrate(options)
    const before = await snapshot(sql)
    expect(before.length).toBeGreaterThan(30)
    await migrate(options)
    expect(await snapshot(sql)).toEqual(before)
  })

  it('only says what it would do, in a dry run', async () => {
    const { sql, options } = await emptyDatabase()
    expect(await migrate({ ...options, dryRun: true })).toEqual({
      schema: 'fencepost',
      version: 0,
      latest,
      pending: files.migrations.map((migration) => migration.name),
      movesDiffer: true,
    })
    expect(await sql(`select 1 from pg_namespace where nspname = 'fencepost'`)).toEqual([])

    await migrate(options)
    const before = await snapshot(sql)
    expect(await migrate({ ...options, files: later(), dryRun: true })).toMatchObject({
      version: latest,
      latest: latest + 1,
      pending: [`000${latest + 1}_later`],
      movesDiffer: true,
    })
    expect(await snapshot(sql)).toEqual(before)
  })

  it('brings an older schema up to date and keeps its jobs', async () => {
    const { url, sql, options } = await emptyDatabase()
    await migrate(options)
    const fp = await open({ database: url })
    const { id } = await fp.enqueue(double, { n: 1 })

    await migrate({ ...options, files: later() })

    expect(
      await sql('select version, name, compatible_from from fencepost.migration order by version desc limit 1'),
    ).toEqual([{ version: latest + 1, name: `000${latest + 1}_later`, compatible_from: 1 }])
    expect(await sql('select * from fencepost.later')).toEqual([])
    expect(await fp.job(id)).toMatchObject({ place: 'ready' })
  })

  it('replaces functions that differ, at the same version', async () => {
    const { sql, options } = await emptyDatabase()
    await migrate(options)
    const altered = { ...files, moves: later().moves }
    expect(await schemaStatus({ ...options, files: altered })).toMatchObject({ pending: [], movesDiffer: true })
    await migrate({ ...options, files: altered })
    expect(await commentOnClock(sql)).toBe('the later one')
    expect(await schemaStatus({ ...options, files: altered })).toMatchObject({ pending: [], movesDiffer: false })
  })

  it('does all or nothing', async () => {
    const { sql, options } = await emptyDatabase()
    await migrate(options)
    const before = await snapshot(sql)
    const broken = later({ sql: 'create table fencepost.later (n integer); select 1/0' })
    await expect(migrate({ ...options, files: broken })).rejects.toThrow(
      expect.objectContaining({ code: 'FP_DATABASE_ERROR', message: expect.stringContaining('division by zero') }),
    )
    expect(await snapshot(sql)).toEqual(before)
    expect(await schemaStatus(options)).toMatchObject({ version: latest, movesDiffer: false })
  })
})

describe('an old process', () => {
  it('refuses a newer schema that it does not understand, and changes nothing', async () => {
    const { url, sql, options } = await emptyDatabase()
    await migrate({ ...options, files: later({ compatibleFrom: latest + 1 }) })
    const before = await snapshot(sql)
    const newer = expect.objectContaining({
      code: 'FP_SCHEMA_NEWER',
      message: expect.stringContaining(`version ${latest + 1} and needs processes that know version ${latest + 1}`),
      hint: expect.stringContaining('Upgrade the fencepost package'),
    })

    await expect(migrate(options)).rejects.toThrow(newer)
    await expect(migrate({ ...options, dryRun: true })).rejects.toThrow(newer)
    await expect(requireSchema(options)).rejects.toThrow(newer)
    await expect(open({ database: url })).rejects.toThrow(newer)
    await expect(open({ database: url, migrate: false })).rejects.toThrow(newer)
    expect(await snapshot(sql)).toEqual(before)
  })

  it('refuses it also when a compatible version has followed', async () => {
    const { options } = await emptyDatabase()
    const breaking = later({ compatibleFrom: latest + 1 })
    const harmless = { version: latest + 2, name: 'harmless', compatibleFrom: 1, sql: 'select 1' }
    await migrate({ ...options, files: { ...breaking, migrations: [...breaking.migrations, harmless] } })
    await expect(migrate(options)).rejects.toThrow(expect.objectContaining({ code: 'FP_SCHEMA_NEWER' }))
  })

  it('works with a newer schema that is compatible, and leaves its functions alone', async () => {
    const { url, sql, options } = await emptyDatabase()
    await migrate({ ...options, files: later() })
    const before = await snapshot(sql)

    expect(await migrate(options)).toMatchObject({ version: latest + 1, latest, pending: [], movesDiffer: false })
    await requireSchema(options)
    const fp = await open({ database: url })
    const { result } = await fp.enqueue(double, { n: 21 })
    await fp.work([double], { poll: '20ms' })

    expect(await result()).toBe(42)
    expect(await snapshot(sql)).toEqual(before)
    expect(await commentOnClock(sql)).toBe('the later one')
  })
})

it('a new process that may not migrate refuses an older schema', async () => {
  const { options } = await emptyDatabase()
  await migrate(options)
  await expect(requireSchema({ ...options, files: later() })).rejects.toThrow(
    expect.objectContaining({
      code: 'FP_SCHEMA_OLDER',
      message: expect.stringContaining(`is at version ${latest}, this process needs ${latest + 1}`),
    }),
  )
})

describe('a schema that holds something else', () => {
  it.each([
    ['a table', 'create table fencepost.orders (id integer)'],
    ['a table called migration', 'create table fencepost.migration (version integer, name text)'],
    ['a function', 'create function fencepost.clock() returns integer language sql as $$ select 1 $$'],
    ['a type', `create type fencepost.outcome as enum ('good', 'bad')`],
    ['a sequence', 'create sequence fencepost.job_seq'],
  ])('%s is refused and not touched', async (_, statement) => {
    const { url, sql, options } = await emptyDatabase()
    await sql('create schema fencepost')
    await sql(statement)
    const before = await snapshot(sql)
    const foreign = expect.objectContaining({
      code: 'FP_SCHEMA_FOREIGN',
      hint: expect.stringContaining('another schema name'),
    })

    await expect(migrate(options)).rejects.toThrow(foreign)
    await expect(schemaStatus(options)).rejects.toThrow(foreign)
    await expect(open({ database: url })).rejects.toThrow(foreign)
    expect(await snapshot(sql)).toEqual(before)
  })
})

it('a schema that is not empty is left alone', async () => {
  const { sql, options } = await emptyDatabase()
  await sql('create schema fencepost; create table fencepost.orders (id integer)')

  await expect(migrate(options)).rejects.toThrow(expect.objectContaining({ code: 'FP_SCHEMA_FOREIGN' }))
})

describe('the name of the schema', () => {
  it.each(['user', 'select', 'jobs_of_2', 'x'.repeat(40)])('may be %s', async (schema) => {
    const { url, sql } = await emptyDatabase()
    const fp = await open({ database: url, schema })
    const { id, result } = await fp.enqueue(double, { n: 21 })
    const delayed = await fp.enqueue(double, { n: 1 }, { delay: '1h' })
    await fp.work([double], { poll: '20ms' })
    expect(await result()).toBe(42)
    expect(await fp.job(id)).toMatchObject({ place: 'finished' })
    expect(await fp.cancel(delayed.id)).toMatchObject({ answer: 'cancelled' })
    expect(await fp.retry(delayed.id)).toEqual({ answer: 'retried' })
    expect(await sql(`select to_regnamespace('fencepost') is null as none`)).toEqual([{ none: true }])
  })

  it('may be that of an empty schema, made for a user who may not make one', async () => {
    const { url, sql } = await emptyDatabase()
    const role = `r_${randomUUID().slice(0, 8)}`
    await sql(`create role ${role} login password 'modest'`)
    await sql(`create schema jobs authorization ${role}`)
    const database = new URL(url)
    database.username = role
    database.password = 'modest'

    const fp = await open({ database: database.href, schema: 'jobs' })
    expect(await fp.enqueue(double, { n: 1 })).toMatchObject({ answer: 'enqueued' })

    await fp.close()
    await sql(`drop owned by ${role}`)
    await sql(`drop role ${role}`)
  })

  it('tells two installations in one database apart', async () => {
    const { url, sql } = await emptyDatabase()
    const [one, two] = await Promise.all([
      open({ database: url, schema: 'one' }),
      open({ database: url, schema: 'two' }),
    ])
    const before = await snapshot(sql, 'two')
    const id = randomUUID()
    await one.enqueue(double, { n: 1 }, { id })
    const { result } = await two.enqueue(double, { n: 2 }, { id })
    await two.work([double], { poll: '20ms' })
    expect(await result()).toBe(4)
    expect(await one.job(id)).toMatchObject({ place: 'ready', payload: { n: 1 } })

    await migrate({ url, schema: 'one', files: later() })
    expect(await snapshot(sql, 'two')).toEqual(before)
    await one.close()
    await sql('drop schema one cascade')
    expect(await two.job(id)).toMatchObject({ result: 4 })
    expect(await two.enqueue(double, { n: 3 })).toMatchObject({ answer: 'enqueued' })
  })
})

async function commentOnClock(sql: Sql): Promise<unknown> {
  const [row] = await sql(`select obj_description('fencepost.clock()'::regprocedure) as comment`)
  return row?.['comment']
}
