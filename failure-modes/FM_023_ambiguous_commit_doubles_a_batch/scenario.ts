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
    step('producer 2', 'takes over from the producer and sends the same batch', (a) => a.enqueue()),
  ],
  check: async (found) => {
    const sent = found.jobIds.length
    const [row] = await found.sql<{ jobs: number }>('select count(*) as jobs from fencepost.job')
    const jobs = row?.jobs ?? 0
    const effects = (await found.effects()).flatMap(({ by }) => by).length
    return [
      ...(effects !== sent ? [`INV_001: ${effects} effects for ${sent} charges`] : []),
      ...(jobs !== sent ? [`INV_010: ${jobs} jobs are stored, and the producers know of ${sent}`] : []),
      ...(await found.usualSuspects()),
    ]
  },
})
