import { expect, it } from 'vitest'
import { setup } from '../harness/setup.js'
import { cli, cliJson, refused } from './cli-process.js'

const target = ['--schema', 'mine']

it('installs the schema, once, and tells what it did', async () => {
  const { url } = await setup()

  const first = await cli(['migrate', ...target], { url })
  expect(first).toMatchObject({ code: 0, stderr: '' })
  expect(first.stdout).toMatch(
    /^Schema mine is now at version \d+: applied 0001_places, .*the functions of the moves\.\n$/,
  )

  expect(await cli(['migrate', ...target], { url })).toEqual({
    code: 0,
    stdout: 'Schema mine was up to date already.\n',
    stderr: '',
  })
  expect((await cli(['queues', ...target], { url })).code).toBe(0)
})

it('says with --dry-run and --status what there is to do, and does nothing', async () => {
  const { url, sql } = await setup()

  const dry = await cli(['migrate', '--dry-run', ...target], { url })
  expect(dry.stdout).toMatch(/^Schema mine would be changed, in one transaction:\n {2}apply 0001_places\n/)
  expect((await cli(['migrate', '--status', ...target], { url })).stdout).toBe(
    'Schema mine is not installed. Run: fencepost migrate\n',
  )
  expect(await sql(`select to_regnamespace('mine') as schema`)).toEqual([{ schema: null }])
})

it('answers in JSON with the same keys before and after', async () => {
  const { url } = await setup()

  const before = await cliJson<{ latest: number; pending: string[] }>(['migrate', '--status', ...target], { url })
  expect(before).toEqual({
    schema: 'mine',
    version: 0,
    latest: expect.any(Number) as number,
    pending: expect.arrayContaining(['0001_places']) as string[],
    movesDiffer: true,
    upToDate: false,
  })
  const { latest, pending } = before
  const after = { schema: 'mine', version: latest, latest, pending: [], movesDiffer: false, upToDate: true }
  expect(await cliJson(['migrate', ...target], { url })).toEqual({ ...after, applied: pending, movesReplaced: true })
  expect(await cliJson(['migrate', '--status', ...target], { url })).toEqual(after)
})

it('leaves a schema alone that is newer than it understands', async () => {
  const { url, sql } = await setup()
  await sql(`insert into fencepost.migration (version, name, compatible_from) values (999, '0999_later', 999)`)

  expect(await cli(['migrate'], { url })).toEqual(refused('FP_SCHEMA_NEWER', 'needs processes that know version 999'))
  expect(await cli(['jobs'], { url })).toEqual(refused('FP_SCHEMA_NEWER', 'fencepost is at version 999'))
  expect((await cli(['migrate', '--status'], { url })).stdout).toMatch(
    /at version 999; this fencepost knows version \d/,
  )
})

it('leaves a schema alone that belongs to somebody else', async () => {
  const { url, sql } = await setup()
  await sql('create schema mine')
  await sql('create table mine.customers (id int)')

  expect(await cli(['migrate', ...target], { url })).toEqual(refused('FP_SCHEMA_FOREIGN', 'mine'))
})
