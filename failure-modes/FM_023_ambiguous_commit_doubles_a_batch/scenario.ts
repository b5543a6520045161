import { scenario, scene, step } from '../../src/lab/scenario.js'

const messages = [0, 1]

export default scenario({
  id: 'FM_023',
  name: 'Ambiguous commit doubles a batch enqueue',
  story: 'A batch commits, the reply is cut, and the client sends the batch again.',
  invariants: ['INV_001', 'INV_010'],
  jobs: 3,
  steps: [
    scene('operator', 'makes a queue for clients of SQS', (o) => o.sqs.make({}, ['server 1', 'server 2'])),
    step('producer', 'enqueues three charges; the reply is lost', (a) => a.enqueue(), { fault: 'reply_cut' }),
    step('A', 'leases one', (a) => a.claim()),
    step('A', 'commits the effect and the outcome', (a) => a.commit()),
    step('producer 2', 'takes over from the producer and sends the same batch', (a) => a.enqueue()),
    step('server 1', 'stores two messages of a client of SQS; the reply is lost', (a) => a.sqs.send(messages), {
      fault: 'reply_cut',
    }),
    step('server 2', 'is sent the same two: the client has heard nothing', (a) => a.sqs.send(messages)),
  ],
  check: async (found) => {
    const sent = found.jobIds.length + messages.length
    const [row] = await found.sql<{ jobs: number }>('select count(*) as jobs from fencepost.job')
    const jobs = row?.jobs ?? 0
    const effects = (await found.effects()).flatMap(({ by }) => by).length
    const told = [...found.notes.values()].some((note) => note.includes('#?'))
    return [
      ...(effects !== sent ? [`INV_001: ${effects} effects for 3 charges and 2 messages`] : []),
      ...(jobs !== sent ? [`INV_010: ${jobs} jobs are stored, and their senders know of ${sent}`] : []),
      ...(told ? ['INV_010: a client was told the id of a message that is not stored'] : []),
      ...(await found.usualSuspects()),
    ]
  },
})
