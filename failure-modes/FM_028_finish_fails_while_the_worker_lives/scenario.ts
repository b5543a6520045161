import type { Actor } from '../../src/lab/actor.js'
import { finishInTurn } from '../../src/lab/finish-in-turn.js'
import { scenario, step, timePasses } from '../../src/lab/scenario.js'

/** A sequence is not rolled back: it counts what was refused, too. */
const diskFull = `
  create sequence if not exists fencepost.lab_writes;
  alter sequence fencepost.lab_writes restart;
  create or replace function fencepost.lab_disk() returns trigger language plpgsql as $$
  begin
    if nextval('fencepost.lab_writes') = 1 then
      raise exception using errcode = '53100', message = 'no space left';
    end if;
    return new;
  end $$;
  create or replace trigger lab_disk before insert on fencepost.finished
  for each row execute function fencepost.lab_disk();`

async function fillUp(disk: Actor): Promise<string> {
  await disk.sql(diskFull)
  return 'refuses the next outcome'
}

async function leaseAndRun(worker: Actor): Promise<string> {
  const claimed = await worker.claim()
  await worker.applyOnce()
  return `${claimed}, handler ended`
}

/** Whoever swallows the error goes on as if something were still being done about the job. */
async function sayFinished(worker: Actor): Promise<string> {
  if (worker.naive) return worker.finish().catch((error: Error) => `${theReason(error)}: swallowed`)
  if (!worker.lease) return 'holds nothing'
  const told: string[] = []
  const turns = worker.turns((error) => told.push(`${theReason(error as Error)}: told, said again: `))
  const { answer } = await finishInTurn(turns, { ...worker.lease, resultText: '"charged"' })
  worker.lease = undefined
  return `${told.join('')}${answer}`
}

function theReason({ message }: Error): string {
  return message.includes('no space left') ? 'no space left' : message
}

function beat(worker: Actor): Promise<string> {
  return worker.lease ? worker.extend() : Promise.resolve('holds nothing')
}

export default scenario({
  id: 'FM_028',
  name: 'Finish fails while the worker lives',
  story: 'The outcome of a job is refused once; nobody says it again, and the heartbeats keep the lease for ever.',
  invariants: ['INV_004', 'INV_005'],
  jobs: 1,
  steps: [
    step('producer', 'enqueues the charge', (a) => a.enqueue()),
    step('disk', 'is full for one write', fillUp),
    step('A', 'leases it, runs its handler', leaseAndRun),
    step('A', 'says that it has finished', sayFinished),
    timePasses('20 s pass', 20_000),
    step('A', 'its heart beats', beat),
    timePasses('20 s more', 20_000),
    step('A', 'its heart beats again', beat),
    timePasses('and 20 s more', 20_000),
    step('B', 'looks for leases that ran out', (b) => b.lose()),
  ],
  handle: async (worker) => {
    await worker.applyOnce()
    return worker.finish()
  },
  check: async (found) => {
    const kept =
      found.notes.get('A: its heart beats again') === 'extended' &&
      found.notes.get('B: looks for leases that ran out') === 'nothing to take back'
    const told = found.notes.get('A: says that it has finished')?.includes('told')
    return [
      ...(kept ? ['INV_004: the handler ended a minute ago, two leases long, and its job is leased still'] : []),
      ...(kept && !told ? ['INV_005: nobody was told that the outcome was refused'] : []),
      ...(await found.usualSuspects()),
    ]
  },
})
