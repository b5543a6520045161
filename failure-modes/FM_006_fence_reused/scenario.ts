import { scenario, step } from '../../src/lab/scenario.js'

export default scenario({
  id: 'FM_006',
  name: 'Fence reused (ABA)',
  story: 'A job is deleted and sent again under its id; its counters restart, and the old worker’s settle fits again.',
  invariants: ['INV_001', 'INV_003'],
  jobs: 1,
  steps: [
    step('producer', 'enqueues the charge', (a) => a.enqueue()),
    step('A', 'leases it and stalls', (a) => a.claim()),
    step('operator', 'deletes the job', async (a) => {
      await a.sql(
        `with r as (delete from fencepost.ready where job_id = $1), l as (delete from fencepost.leased where job_id = $1),
              f as (delete from fencepost.finished where job_id = $1), t as (delete from fencepost.attempt where job_id = $1)
         delete from fencepost.job where id = $1`,
        [a.jobIds[0]],
      )
      return 'deleted'
    }),
    step('producer', 'sends it again under the same id', (a) => a.enqueue()),
    step('B', 'leases it and goes to work', (a) => a.claim()),
    step('A', 'wakes up and commits', (a) => a.commit()),
    step('B', 'commits the effect and the outcome', (a) => a.commit()),
  ],
  check: async (found) => {
    const deleted = found.notes.get('operator: deletes the job') !== '(killed)'
    const effectOfTheDeleted = (await found.effects()).some(({ by }) => by.includes('A'))
    return [
      ...(deleted && found.notes.get('A: wakes up and commits') === 'finished'
        ? ['INV_003: an attempt of the deleted job ended the new one']
        : []),
      ...(deleted && effectOfTheDeleted
        ? ['INV_001: the effect of the deleted job was applied in place of the new one’s']
        : []),
      ...(await found.usualSuspects()),
    ]
  },
})
