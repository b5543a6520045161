import { scenario, step } from '../../src/lab/scenario.js'

export default scenario({
  id: 'FM_023',
  name: 'Ambiguous commit doubles a batch enqueue',
  story: 'A batch commits, the reply is cut, and the client sends the batch again.',
  invariants: ['INV_001', 'INV_010'],
  jobs: 3,
  steps: [
    step('producer', 'enqueues three charges; the reply is lost', (a) => a.enqueue(), { fault: 'reply_cut' }),
    step('A', 'leases one', (a) => a.claim()),
    step('A', 'commits the effect and the outcome', (a) => a.commit()),
    step('producer', 'sends the same batch once more, to be sure', (a) => a.enqueue()),
  ],
  check: async (found) => {
    const [row] = await found.sql<{ jobs: number }>('select count(*) as jobs from fencepost.job')
    const jobs = row?.jobs ?? 0
    return [
      ...(jobs !== found.jobIds.length ? [`INV_001: ${jobs} jobs stored for ${found.jobIds.length} sent`] : []),
      ...(await found.usualSuspects()),
    ]
  },
})
