import type { Actor } from '../../src/lab/actor.js'
import { goesOn, scenario, step, timePasses } from '../../src/lab/scenario.js'
import { inSchema } from '../../src/store/schema-name.js'

/** A's first try to claim, whose connection is cut and whose statement the server still works on: it holds A's turn. */
const holdTurn = (server: Actor) =>
  server.open(async (tx) => {
    const turn = `select pg_advisory_xact_lock(hashtext('fencepost.claim'), hashtext('A/1'))`
    await tx.query(inSchema(turn, server.db.schema))
    return 'works on it'
  })

export default scenario({
  id: 'FM_050',
  name: 'Lease born expired',
  story:
    'A claim waits for a lock for longer than a lease; its lease, counted from its beginning, is over when it is born.',
  invariants: ['INV_008'],
  jobs: 1,
  steps: [
    step('producer', 'enqueues the charge', (p) => p.enqueue()),
    step('server', 'still works on a first try of A', holdTurn),
    step('A', 'claims again', (a) => a.claim(), { pause: 'held' }),
    timePasses('longer than a lease', 31_000),
    step('server', 'has given up the first try', (server) => server.closeCommit()),
    goesOn('A', 'gets its lease'),
    step('B', 'takes back what has run out', (b) => b.lose()),
    step('A', 'commits', (a) => a.commit()),
  ],
  check: async (found) => {
    const bornNow = found.notes.get('A: claims again') === 'is held up in the middle'
    const lost = found.notes.get('B: takes back what has run out')?.includes('lost')
    return [
      ...(bornNow && lost ? ['INV_008: a loss was charged for a lease that had just been given'] : []),
      ...(await found.usualSuspects()),
    ]
  },
})
