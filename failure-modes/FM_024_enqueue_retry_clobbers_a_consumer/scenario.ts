import { scenario, scene, step } from '../../src/lab/scenario.js'

const deadLetters = {
  redrivePolicy: { deadLetterTargetArn: 'arn:aws:sqs:us-east-1:000000000000:dead', maxReceiveCount: 1 },
}
const batch = [0, 1, 2]

export default scenario({
  id: 'FM_024',
  name: 'Enqueue retry clobbers a consumer',
  story: 'A batch commits, a consumer is at its messages, and the retry writes them anew.',
  invariants: ['INV_001', 'INV_006'],
  jobs: 3,
  steps: [
    scene('operator', 'makes a queue; what is received twice is a dead letter', async (o) => {
      await o.sqs.make({}, [], 'dead')
      return o.sqs.make(deadLetters, ['server 1', 'server 2'])
    }),
    step('server 1', 'stores a batch of three, and is killed before it answers', (a) => a.sqs.send(batch), {
      fault: 'killed',
    }),
    step('consumer', 'receives them', (a) => a.sqs.receive()),
    step('consumer', 'deletes the first', (a) => a.sqs.delete('#1')),
    step('consumer', 'needs ten minutes for the second', (a) => a.sqs.changeVisibility('#2', 600_000)),
    step('consumer', 'gives the third back', (a) => a.sqs.changeVisibility('#3', 0)),
    step('consumer 2', 'receives; the third is a dead letter now', (a) => a.sqs.receive()),
    step('server 2', 'is sent the same batch: the client has heard nothing', (a) => a.sqs.send(batch)),
    step('consumer 2', 'receives again', (a) => a.sqs.receive()),
    step('consumer', 'is done with the second, and deletes it', (a) => a.sqs.delete('#2')),
    step('operator', 'looks for dead letters', (o) => o.sqs.receive('dead')),
    step('operator', 'deletes them', (o) => o.sqs.deleteAll('dead')),
  ],
  check: async (found) => {
    const { notes } = found
    const said = (key: string, note: string) => notes.get(key) === note
    const again = notes.get('consumer 2: receives again') ?? ''
    const deleted = said('consumer: deletes the first', '#1 deleted')
    const busy = said('consumer: needs ten minutes for the second', '#2 changed')
    const dead =
      said('consumer: gives the third back', '#3 changed') &&
      said('consumer 2: receives; the third is a dead letter now', 'nothing')
    const receipt = notes.get('consumer: is done with the second, and deletes it') ?? ''
    const stored = await found.sql<{ body: string; n: number }>(
      `select payload -> '$message' ->> 'body' as body, count(*) as n from fencepost.job group by 1 having count(*) > 1`,
    )
    return [
      ...(deleted && again.includes('#1') ? ['INV_001: #1 was deleted, and is received again'] : []),
      ...(busy && again.includes('#2') ? ['INV_001: #2 is received by another while its consumer is at it'] : []),
      ...(busy && /^#2 (?!deleted)/.test(receipt) ? [`INV_001: the receipt of #2 deletes nothing: ${receipt}`] : []),
      ...(dead && again.includes('#3') ? ['INV_006: #3 was a dead letter, and is in its queue again'] : []),
      ...(dead && again.includes('#3 (1×)') ? ['INV_006: #3 was received once before, and that is forgotten'] : []),
      ...stored.map(({ body, n }) => `INV_001: ${body} is stored ${n} times`),
      ...(await found.audit()).findings
        .filter(({ severity }) => severity === 'violation')
        .map(({ invariant, problem }) => `${invariant}: ${problem}`),
    ]
  },
})
