import { type Actor, labLeaseMs } from '../../src/lab/actor.js'
import { finishInTurn } from '../../src/lab/finish-in-turn.js'
import { scenario, step, timePasses } from '../../src/lab/scenario.js'
import { extend, start } from '../../src/store/lease.js'
import { finish } from '../../src/store/settle.js'
import type { Fence } from '../../src/job/places.js'

/** The last of the five has the result that cannot be stored. */
const badIndex = 4

const refuseBad = `
  create or replace function fencepost.lab_refuse() returns trigger language plpgsql as $$
  begin
    if new.result = '"bad"' then
      raise exception using errcode = '22P05', message = 'cannot be stored';
    end if;
    return new;
  end $$;
  create or replace trigger lab_refuse before insert on fencepost.finished
  for each row execute function fencepost.lab_refuse();`

async function refuse(dba: Actor): Promise<string> {
  await dba.sql(refuseBad)
  return 'no result may be "bad"'
}

async function leaseAndRunAll(worker: Actor): Promise<string> {
  const leases = await worker.claimMany(worker.jobIds.length)
  await start(worker.db, leases)
  for (const lease of leases) await worker.applyOnce(lease)
  return `${leases.length} leases, handlers ended`
}

/** One statement for all of them, which is repeated as it is: an error may pass. */
async function sayAllAtOnce(worker: Actor): Promise<string> {
  if (worker.leases.length === 0) return 'holds nothing'
  if (!worker.naive) return settle(worker, worker.leases)
  return finish(
    worker.db,
    worker.leases.map((lease) => finishing(worker, lease)),
  ).then(
    (answers) => answers.map(({ answer }) => answer).join(', '),
    () => 'refused, kept',
  )
}

/** As the product: the words of one tick go in one turn, and what comes back refused is said as a failure. */
async function settle(worker: Actor, leases: readonly Fence[]): Promise<string> {
  const turns = worker.turns(() => {})
  const answers = await Promise.all(
    leases.map(async (lease) => {
      try {
        return (await finishInTurn(turns, finishing(worker, lease))).answer
      } catch {
        const errorText = '{"message":"the result cannot be stored"}'
        return (await turns.fail({ ...lease, errorText, delayMs: 0, final: true })).answer
      }
    }),
  )
  worker.leases = []
  const count = (answer: string) => answers.filter((each) => each === answer).length
  return ['finished', 'failed']
    .filter((answer) => count(answer) > 0)
    .map((answer) => `${count(answer)} ${answer}`)
    .join(', ')
}

function finishing(worker: Actor, lease: Fence) {
  return { ...lease, resultText: lease.jobId === worker.jobIds[badIndex] ? '"bad"' : '"good"' }
}

async function beatAndSayAgain(worker: Actor): Promise<string> {
  if (worker.leases.length === 0) return 'holds nothing'
  const beaten = await extend(worker.db, worker.leases)
  const extended = beaten.filter(({ answer }) => answer === 'extended').length
  return `${extended} extended; ${await sayAllAtOnce(worker)}`
}

async function lookWhatHasEnded(other: Actor): Promise<string> {
  const lost = await other.lose()
  const [found] = await other.sql<{ finished: number }>('select count(*) as finished from fencepost.finished')
  return `${found?.finished} ended, ${lost}`
}

export default scenario({
  id: 'FM_036',
  name: 'One bad row blocks a batch for ever',
  story: 'Five jobs are settled in one statement; one result is refused, and the five are sent again as they are.',
  invariants: ['INV_005'],
  jobs: 5,
  steps: [
    step('producer', 'enqueues five charges', (a) => a.enqueue()),
    step('dba', 'adds a trigger', refuse),
    step('A', 'leases five, runs their handlers', leaseAndRunAll),
    step('A', 'says that all five have finished', sayAllAtOnce),
    timePasses('20 s pass', (labLeaseMs * 2) / 3),
    step('A', 'heart beats; says it again', beatAndSayAgain),
    timePasses('20 s more', (labLeaseMs * 2) / 3),
    step('A', 'heart beats; says it once more', beatAndSayAgain),
    step('B', 'looks what has ended', lookWhatHasEnded),
  ],
  handle: async (worker) => {
    await worker.applyOnce()
    const lease = worker.lease as Fence
    if (!worker.naive) return settle(worker, [lease])
    return finish(worker.db, [finishing(worker, lease)]).then(
      () => 'finished',
      () => 'refused',
    )
  },
  check: async (found) => {
    const blocked = found.notes.get('A: heart beats; says it once more')?.includes('refused')
    const ended = Number.parseInt(found.notes.get('B: looks what has ended') ?? '', 10)
    const jobs = await Promise.all(found.jobIds.map((_, index) => found.job(index)))
    const harmed = jobs.filter((job, index) => index !== badIndex && job?.outcome === 'failed').length
    return [
      ...(harmed > 0 ? [`INV_004: ${harmed} jobs with a good result have failed`] : []),
      ...(blocked ? [`INV_005: five handlers have ended and ${ended} jobs; nobody is told which is the cause`] : []),
      ...(await found.usualSuspects()),
    ]
  },
})
