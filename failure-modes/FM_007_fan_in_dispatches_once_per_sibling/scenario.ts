import type { Actor } from '../../src/lab/actor.js'
import { scenario, scene, step, timePasses } from '../../src/lab/scenario.js'

const orders = `
name: orders
tasks:
  - name: check
    action: check
    with_items: [1, 2, 3, 4, 5]
    concurrency: 3
    next: [{ do: validate }]
  - name: validate
    action: validate
`

async function doTwo(worker: Actor): Promise<string> {
  const handle = (actor: Actor) => actor.applyAndFinish()
  return `${await worker.claimAnd(handle)}; ${await worker.claimAnd(handle)}`
}

/** As long as a run counts as busy, others leave it alone; that spares work, and protects nothing. */
const stalls = (does: string) => timePasses(does, 11_000)

export default scenario({
  id: 'FM_007',
  name: 'Fan-in dispatches the successor once per sibling',
  story: 'The last three of five items end at the same time; each of their workers sees none left, and dispatches.',
  invariants: ['INV_009'],
  jobs: 0,
  runs: 1,
  steps: [
    scene('producer', 'starts a run with five items', (p) => p.runs.start(p.runIds[0] as string, orders)),
    scene('D', 'makes the items', (d) => d.runs.advanceAll()),
    scene('D', 'does the first two', doTwo),
    scene('A', 'leases the third', (a) => a.claim()),
    scene('B', 'leases the fourth', (b) => b.claim()),
    scene('C', 'leases the fifth', (c) => c.claim()),
    step('A', 'ends it', (a) => a.applyAndFinish()),
    step('B', 'ends it', (b) => b.applyAndFinish()),
    step('C', 'ends it', (c) => c.applyAndFinish()),
    step('A', 'sees that none is left, and stalls', (a) => a.runs.take()),
    stalls('11 s pass'),
    step('B', 'sees that none is left, and stalls', (b) => b.runs.take()),
    stalls('11 s more'),
    step('C', 'sees that none is left', (c) => c.runs.take()),
    step('A', 'dispatches what follows', (a) => a.runs.advance()),
    step('B', 'dispatches what follows', (b) => b.runs.advance()),
    step('C', 'dispatches what follows', (c) => c.runs.advance()),
  ],
  handle: (worker) => worker.applyAndFinish(),
  check: async (found) => [...(await found.notOnce(['validate'])), ...(await found.usualSuspects())],
})
