import { expect, it, onTestFinished, vi } from 'vitest'
import { z } from 'zod'
import { fencepost, task, workflow } from '../../src/index.js'
import { FaultProxy } from '../harness/fault-proxy.js'
import { setup } from '../harness/setup.js'
import { setupRuns, workflowOf } from '../harness/workflows.js'

const idle = `
name: idle
tasks: [{ name: nothing, action: core.noop }]
`
const oldest = '01890000-0000-7000-8000-000000000001'

it('a run whose advance the server breaks off does not take others along', async () => {
  const { start, fp, sql, work } = await setupRuns({ workers: 0 })
  await start(idle, {}, { id: oldest })
  const { id } = await start(idle)
  // As a statement_timeout of the role would, or a lease row that an open transaction has locked.
  await sql(`create function break_off() returns trigger language plpgsql as $$
    begin if new.run_id = '${oldest}' then raise exception using errcode = '57014'; end if; return new; end $$`)
  await sql('create trigger break_off before insert on fencepost.task_run for each row execute function break_off()')
  await work()
  await vi.waitUntil(async () => (await fp.workflows.run(id)).state === 'succeeded', { timeout: 20_000 })
})

it('no run waits behind those that always have something to do', async () => {
  const { start, sql } = await setupRuns({ workers: 0 })
  for (let n = 0; n < 25; n++) await start(idle)
  const taken = new Set<string>()
  for (let round = 0; round < 10; round++) {
    const runs = (await sql<{ run_id: string }>(`select run_id from fencepost.take_calls('{}', 20)`)).map(
      ({ run_id }) => run_id,
    )
    for (const run of runs) taken.add(run)
    // Each is advanced and called again at once, as a long list of items is.
    await sql('update fencepost.run set busy_until = null, advance_tries = 0')
    await sql('delete from fencepost.call where run_id = any ($1)', [runs])
    await sql('select fencepost.call_runs($1)', [runs])
  }
  expect(taken.size).toBe(25)
})

it('letters that do not fit into one message hold nobody up', async () => {
  const { start, sql, fp, work } = await setupRuns({ workers: 0 })
  await start(idle, {}, { id: oldest })
  await fp.workflows.pause(oldest)
  // What fp.workflows.signal() of 1 MB does, 280 times, while the run is paused.
  await sql(
    `insert into fencepost.inbox (run_id, at, kind, task, payload)
     select $1, now(), 'signal', 's', to_jsonb(repeat('x', 1000000)) from generate_series(1, 280)`,
    [oldest],
  )
  await fp.workflows.resume(oldest)
  const { id } = await start(idle)
  await work()
  await vi.waitUntil(async () => (await fp.workflows.run(id)).state === 'succeeded', { timeout: 30_000 })
}, 90_000)

it('a signal whose reply is lost is sent once', async () => {
  const { start, url, sql } = await setupRuns()
  const { id } = await start(`
name: twice
tasks:
  - { name: first, wait_for: { signal: go }, next: [{ do: second }] }
  - { name: second, wait_for: { signal: go } }
`)
  const proxy = await FaultProxy.start(url)
  const fp = await fencepost({ database: proxy.url, migrate: false })
  onTestFinished(() => fp.close())
  const lost = proxy.loseReplyTo('tell_run')
  await fp.workflows.signal(id, 'go')
  await lost
  await fp.workflows.signal(id, 'other') // heard after it
  const heard = async () => (await fp.workflows.run(id)).taskRuns.map((each) => [each.task, each.state])
  await vi.waitUntil(async () => (await heard()).length === 2, { timeout: 10_000 })
  await vi.waitUntil(async () => (await sql('select 1 from fencepost.inbox')).length === 0, { timeout: 10_000 })
  expect(await heard()).toEqual([
    ['first', 'succeeded'],
    ['second', 'waiting'],
  ])
})

it('a run of a task that no worker has any more can be cancelled', async () => {
  const { fp, work } = await setupRuns({ workers: 0 })
  const gone = task('gone', { input: z.any(), gate: { key: () => 'k', limit: 1 }, run: () => null })
  const { id } = await fp.workflows.start(
    workflowOf(
      '{ name: w, tasks: [{ name: wait, wait_for: { signal: s }, next: [{ do: last }] }, { name: last, action: gone }] }',
      [gone],
    ),
    {},
  )
  await work()
  await fp.workflows.cancel(id)
  await vi.waitUntil(async () => (await fp.workflows.run(id)).state === 'cancelled', { timeout: 20_000 })
})

it('a run whose change the database refuses fails, and says so', async () => {
  const { start, fp, sql, work } = await setupRuns({ workers: 0 })
  const { id } = await start(idle)
  await sql(`create function refuse() returns trigger language plpgsql as $$
    begin raise exception using errcode = '22P05', message = 'not this'; end $$`)
  await sql('create trigger refuse before insert on fencepost.task_run for each row execute function refuse()')
  await work()
  await vi.waitUntil(async () => (await fp.workflows.run(id)).state === 'failed', { timeout: 20_000 })
  expect((await fp.workflows.run(id)).error).toMatchObject({ code: 'FP_RUN_NOT_STORABLE' })
})

it('a run fails whose task cannot tell the key of a gate', async () => {
  const { url } = await setup()
  const keyed = task('keyed', {
    input: z.any(),
    gate: {
      key: () => {
        throw new Error('no key')
      },
      limit: 1,
    },
    run: () => null,
  })
  const fp = await fencepost({ database: url, migrate: false })
  onTestFinished(() => fp.close())
  const run = await fp.workflows.start(workflow('by-key', { tasks: { only: { action: keyed } } }), {})

  await fp.work([keyed], { poll: '20ms' })

  await expect(run.result({ timeout: '20s' })).rejects.toThrow(/no key/)
})
