import type { Actor } from '../../src/lab/actor.js'
import { goesOn, scenario, step, timePasses } from '../../src/lab/scenario.js'

/** The heartbeat, and where the job is after it. */
async function beat(actor: Actor): Promise<string> {
  const answer = await actor.extend()
  const places = await actor.sql<{ place: string }>(
    `select 'leased' as place from fencepost.leased union all select 'finished' from fencepost.finished order by place`,
  )
  return `${answer}, the job is ${places.map(({ place }) => place).join(' and ')}`
}

export default scenario({
  id: 'FM_027',
  name: 'Zombie worker: paused, declared dead, resumed',
  story: 'A worker is stopped past its lease and its job is done by another; resumed, it goes on as if nothing was.',
  invariants: ['INV_001', 'INV_006'],
  jobs: 1,
  steps: [
    step('producer', 'enqueues the charge', (a) => a.enqueue()),
    step('A', 'leases it and goes to work', (a) => a.claim()),
    step('A', 'is stopped before its heartbeat', beat, { pause: 'stopped' }),
    timePasses('the lease runs out', 31_000),
    step('B', 'takes the lease back', (b) => b.lose()),
    step('B', 'leases it', (b) => b.claim()),
    step('B', 'commits', (b) => b.commit()),
    goesOn('A', 'is resumed, its heart beats'),
    step('A', 'commits, too', (a) => a.commit()),
  ],
  check: async (found) => {
    const beaten = found.notes.get('A: is resumed, its heart beats')
    return [
      ...(beaten?.endsWith('finished and leased') ? ['INV_006: a heartbeat has leased a job that is finished'] : []),
      ...(await found.successUndone('B', 'commits')),
      ...(await found.usualSuspects()),
    ]
  },
})
