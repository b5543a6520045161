import { expect, it } from 'vitest'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'
import { setupRunMoves } from '../../test/harness/runs.js'

it('FM_036: with a batch that is repeated as it is, one result that cannot be stored keeps four others from ending', async () => {
  const { repro } = await bundleUnderTest('FM_036')

  const played = await repro()

  expect(noteOf(played, 'A', 'says that all five have finished')).toBe('refused, kept')
  expect(noteOf(played, 'A', 'heart beats; says it again')).toBe('5 extended; refused, kept')
  expect(noteOf(played, 'A', 'heart beats; says it once more')).toBe('5 extended; refused, kept')
  expect(noteOf(played, 'B', 'looks what has ended')).toBe('0 ended, nothing to take back')
  expect(played.violations).toEqual(['INV_005: five handlers have ended and 0 jobs; nobody is told which is the cause'])
})

it('FM_036: with an advance of several runs that is repeated as it is, one that is refused takes the others with it', async () => {
  const { start, steps, sql, advance, stateOf } = await setupRunMoves()
  await sql(`create function refuse() returns trigger language plpgsql as $$ begin
      if new.vars ->> 'x' = 'bad' then raise exception using errcode = '22P05', message = 'cannot be stored'; end if;
      return new; end $$;
    create trigger refuse before update on fencepost.run for each row execute function refuse()`)
  const run = (x: string) => `
name: ${x}
vars: { x: ${x} }
tasks: [{ name: a, action: core.ask, input: { title: a } }]`
  const runs = [await start(run('good')), await start(run('bad')), await start(run('good'))]

  for (let n = 0; n < 20; n++) {
    // The error is told a moment before its transaction has let go of the runs.
    await expect.poll(() => steps.take()).toBe('told 1 and 1 and 1')
    await expect(steps.advance()).rejects.toThrow(/cannot be stored/)
    await advance(11_000)
  }
  const ends = async () => {
    await steps.take()
    return Promise.all(runs.map(async (id) => stateOf(id)))
  }
  const lost = expect.objectContaining({ state: 'failed', code: 'FP_ADVANCE_LOST' }) as unknown
  await expect.poll(ends).toEqual([lost, lost, lost])

  expect(await sql('select task from fencepost.task_run')).toEqual([])
})
