import { goesOn, scenario, scene, step } from '../../src/lab/scenario.js'

const bytes = 5_000

export default scenario({
  id: 'FM_025',
  name: 'Committed entry reported as failed',
  story: 'An entry commits, a limit is lowered, and the retry is judged by it; one that never committed must be.',
  invariants: ['INV_010'],
  jobs: 3,
  steps: [
    scene('operator', 'makes a queue for messages of up to 8 KiB', (o) =>
      o.sqs.make({ maximumMessageSize: 8_192 }, ['server 1', 'server 2', 'server 3', 'server 4']),
    ),
    step('server 1', 'stores a message of 5 KB, and is killed before it answers', (a) => a.sqs.send([0], bytes), {
      fault: 'killed',
    }),
    step('server 2', 'is killed before it commits a second', (a) => a.open((tx) => a.sqs.sendIn(tx, [1], bytes)), {
      fault: 'killed',
    }),
    step('server 3', 'is slow with a third', (a) => a.open((tx) => a.sqs.sendIn(tx, [2], bytes))),
    step('operator', 'lowers MaximumMessageSize to 1 KiB', (o) => o.sqs.set({ maximumMessageSize: 1_024 })),
    step('server 4', 'is sent the first again', (a) => a.sqs.send([0], bytes)),
    step('server 4', 'is sent the second again', (a) => a.sqs.send([1], bytes)),
    step('server 4', 'is sent the third again', (a) => a.sqs.send([2], bytes), { pause: 'held' }),
    step('server 3', 'commits the third', (a) => a.closeCommit()),
    goesOn('server 4', 'answers for the third'),
  ],
  check: async (found) => {
    const told = (what: string) => found.notes.get(`server 4: ${what}`) ?? ''
    const answers = [
      told('is sent the first again'),
      told('is sent the second again'),
      told('answers for the third') || told('is sent the third again'),
    ]
    const lowered = found.notes.get('operator: lowers MaximumMessageSize to 1 KiB') === 'set'
    const rows = await found.sql<{ body: string; n: number }>(
      `select payload -> '$message' ->> 'body' as body, count(*) as n from fencepost.job group by 1`,
    )
    const stored = new Map(rows.map(({ body, n }) => [body, n]))
    return [
      ...answers.flatMap((answer, index) => {
        const n = stored.get(`entry ${index}`) ?? 0
        const name = ['first', 'second', 'third'][index]
        return [
          ...(n > 0 && answer === 'too_large'
            ? [`INV_010: the ${name} is stored, and its sender is told that it failed`]
            : []),
          ...(n > 1 ? [`INV_001: the ${name} is stored ${n} times`] : []),
          ...(lowered && answer.startsWith('sent') ? [`INV_010: the ${name} was taken against today’s limit`] : []),
          ...(answer.includes('#?') ? [`INV_010: the sender of the ${name} is told an id that is not stored`] : []),
        ]
      }),
      ...(await found.usualSuspects()),
    ]
  },
})
