import { expect, it } from 'vitest'
import { task } from '../../src/index.js'
import { installLabReplace } from '../../src/lab/lab-replace.js'
import { definitionOf } from '../../src/lab/run-steps.js'
import { untilBlocked, untilBlockedBy } from '../harness/blocked.js'
import { Session } from '../harness/session.js'
import { anything, setupWorker } from './setup.js'

it('a run that is locked just when it is advanced is advanced when it is let go, not when it no longer counts as busy', async () => {
  const world = await setupWorker()
  const { fp, sql } = world
  const only = task('only', { input: anything, run: () => 'done' })
  const definition = definitionOf(`
name: single
tasks: [{ name: only, action: only }]
`)
  const run = await fp.workflows.start({ definition, tasks: [only], workflows: [] }, {})
  // Who takes the run waits before it commits; by then somebody else stands in line for its row.
  const [gate, other] = [await Session.open(world), await Session.open(world)]
  await gate.begin()
  await gate.query('select pg_advisory_xact_lock(42)')
  await sql(`create function hold() returns trigger language plpgsql as $$ begin
      perform pg_advisory_xact_lock_shared(42);
      return new; end $$;
    create trigger hold before update on fencepost.run for each row
    when (new.busy_until is not null) execute function hold()`)
  await installLabReplace({ query: (text) => sql(text).then((rows) => ({ rows })) }, 'fencepost')
  await sql(`create table tried (at timestamptz default now());
    select fencepost.lab_replace('fencepost.advance', 'perform fencepost.durable();',
                                 'insert into tried default values; perform fencepost.durable();')`)
  await fp.work([only], { poll: '20ms' })
  await untilBlockedBy(sql, gate)
  await other.begin()
  const locked = other.query('select 1 from fencepost.run for share')
  await untilBlocked(sql, other.pid, locked)
  await gate.commit()
  await locked
  await expect.poll(() => sql('select 1 from tried'), { interval: 5, timeout: 10_000 }).not.toEqual([])
  await other.commit()

  expect(await run.result({ timeout: '5s' })).toBeNull()
})
