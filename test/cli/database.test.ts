import { randomUUID } from 'node:crypto'
import { createServer } from 'node:net'
import { expect, inject, it, onTestFinished } from 'vitest'
import { setup } from '../harness/setup.js'
import { query } from '../harness/test-server.js'
import { cli, refused } from './cli-process.js'

/** A port that nobody listens on. */
async function deadUrl(): Promise<string> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  return `postgres://ada:secret@127.0.0.1:${port}/app`
}

/** The same database as somebody who may connect to it and nothing else. */
async function asStranger(url: string): Promise<string> {
  const name = `stranger_${randomUUID().slice(0, 8)}`
  await query(inject('serverUrl'), `create role ${name} login password 'secret'`)
  onTestFinished(() => query(inject('serverUrl'), `drop role ${name}`))
  const stranger = new URL(url)
  stranger.username = name
  stranger.password = 'secret'
  return stranger.href
}

it.each([['migrate'], ['queues'], ['enqueue', 'send-mail'], ['dev', '--json']])(
  'names the database that cannot be reached: %s',
  async (...args) => {
    const url = await deadUrl()
    const result = await cli(args, { url })
    expect(result.code).toBe(1)
    expect(result.stdout).toBe('')
    expect(result.stderr).toMatch(/ECONNREFUSED 127\.0\.0\.1:/)
    expect(result.stderr).toMatch(/FP_DATABASE_UNREACHABLE/)
    expect(result.stderr).not.toContain('secret')
  },
)

it('prefers --database to DATABASE_URL', async () => {
  const { url } = await setup()
  expect((await cli(['queues', '--database', url], { url: await deadUrl() })).code).toBe(0)
})

it.each([['localhost/app'], ['postgres://localhost:99999/app'], ['mysql://localhost/app']])(
  'refuses %s as a database',
  async (database) => {
    expect(await cli(['queues', '--database', database])).toEqual(
      refused('FP_OPTION_INVALID', 'postgres://user:password@host:port/name'),
    )
  },
)

it('takes an empty --database for a mistake, not for the embedded server', async () => {
  expect(await cli(['queues', '--database', ''])).toEqual(refused('FP_OPTION_INVALID', 'is empty'))
})

it.each([['x"; drop schema fencepost; --'], ['pg_evil']])('refuses the schema name %j', async (schema) => {
  const { url, sql } = await setup()
  expect(await cli(['migrate', '--schema', schema], { url })).toEqual(refused('FP_SCHEMA_NAME_INVALID', ''))
  expect(await cli(['jobs', '--schema', schema], { url })).toEqual(refused('FP_SCHEMA_NAME_INVALID', ''))
  expect(await sql(`select to_regnamespace('fencepost') is not null as here`)).toEqual([{ here: true }])
})

it('says that the schema is missing, and how to install it', async () => {
  const { url } = await setup()
  const result = await cli(['queues', '--schema', 'elsewhere'], { url })
  expect(result).toEqual(refused('FP_SCHEMA_MISSING', 'elsewhere'))
  expect(result.stderr).toContain('fencepost migrate')
})

it.each([
  ['use the schema', ['queues']],
  ['create one', ['migrate', '--schema', 'mine']],
])('names the privilege to %s that is missing', async (_, args) => {
  const { url } = await setup()
  const result = await cli(args, { url: await asStranger(url) })
  expect(result).toEqual(refused('FP_DATABASE_PRIVILEGE', 'permission denied for'))
})

it('names a wrong password without repeating it', async () => {
  const { url } = await setup()
  const wrong = new URL(await asStranger(url))
  wrong.password = 'guessed'
  const result = await cli(['queues'], { url: wrong.href })
  expect(result).toEqual(refused('FP_DATABASE_UNREACHABLE', 'password authentication failed'))
  expect(result.stderr).not.toContain('guessed')
})
