import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { ScratchSchema } from '../../src/store/scratch-schema.js'
import { setup } from '../harness/setup.js'
import { CliProcess, cli, cliJson } from './cli-process.js'

async function aProject() {
  const cwd = await mkdtemp(join(tmpdir(), 'fencepost-bench-'))
  onTestFinished(() => rm(cwd, { recursive: true, force: true }))
  const { url, sql } = await setup()
  const left = () => sql(`select nspname from pg_namespace where nspname like 'fencepost\\_bench%'`)
  return { cwd, url, sql, left }
}

interface Told {
  readonly figures: readonly { readonly name: string; readonly value: number }[]
  readonly before: { readonly at: string } | null
}

const names = [
  'enqueue in bulk',
  'enqueue one by one, 20 callers',
  'no-op jobs, concurrency 10',
  'no-op jobs, concurrency 100',
  'no-op jobs, concurrency 1000',
  'jobs with job.commit, concurrency 20',
  'from enqueue to handler, median',
  'from enqueue to handler, 99 of 100',
]

it('tells what it has measured, beside the last run, and leaves nothing behind in the database', async () => {
  const { cwd, url, left } = await aProject()

  const first = await cli(['bench', '--jobs', '1000'], { url, cwd })
  expect({ code: first.code, stderr: first.stderr }).toEqual({ code: 0, stderr: '' })
  expect(first.stdout).toMatch(/^PostgreSQL .*, version \d.*, Node .*: 1000 jobs in the schema fencepost_bench_/)
  for (const name of names) expect(first.stdout).toMatch(new RegExp(`${name} +[\\d,.]+ (jobs/s|ms)\n`))
  expect(first.stdout).not.toContain('of the last run')
  expect(await left()).toEqual([])

  const second = await cliJson<Told>(['bench', '--jobs', '1000'], { url, cwd })
  expect(second.figures.map(({ name }) => name)).toEqual(names)
  for (const { value } of second.figures) expect(value).toBeGreaterThan(0)
  expect(second.before).not.toBeNull()
  const [kept] = JSON.parse(await readFile(join(cwd, '.fencepost', 'bench.json'), 'utf8')) as Told[]
  expect(kept?.figures).toEqual(second.figures)

  const third = await cli(['bench', '--jobs', '1000'], { url, cwd })
  expect(third.stdout).toContain('of the last run')
  expect(third.stdout).toMatch(/enqueue in bulk .* \d+\.\d\d ×\n/)
})

it('compares only with a run of as many jobs', async () => {
  const { cwd, url } = await aProject()
  await cli(['bench', '--jobs', '1000'], { url, cwd })

  expect(await cliJson<Told>(['bench', '--jobs', '1001'], { url, cwd })).toMatchObject({ before: null })
})

it('ends on Ctrl-C, and leaves nothing behind', async () => {
  const { cwd, url, left } = await aProject()
  const bench = new CliProcess(['bench', '--jobs', '1000000'], { url, cwd })

  await bench.sees(/in the schema fencepost_bench_/)
  bench.signal('SIGINT')

  expect(await bench.ended).toMatchObject({ code: 130, stderr: '' })
  expect(await left()).toEqual([])
})

it('drops what one that was killed has left', async () => {
  const { cwd, url, sql, left } = await aProject()
  const bench = new CliProcess(['bench', '--jobs', '1000000'], { url, cwd })
  await bench.sees(/in the schema fencepost_bench_/)
  bench.signal('SIGKILL')
  await bench.ended
  await sql(`select pg_terminate_backend(pid, 5000) from pg_stat_activity
             where datname = current_database() and pid <> pg_backend_pid()`)
  expect(await left()).toHaveLength(1)

  const next = await ScratchSchema.make(url, 'bench')
  expect(await left()).toEqual([{ nspname: next.name }])
  await next.drop()
  expect(await left()).toEqual([])
})

it.each(['0', '999', '1.5', 'many', '10000001'])('refuses --jobs %s', async (jobs) => {
  const { cwd, url } = await aProject()
  const { code, stderr } = await cli(['bench', '--jobs', jobs], { url, cwd })
  expect(code).toBe(1)
  expect(stderr).toContain(`--jobs is ${jobs} (FP_OPTION_INVALID)`)
})
