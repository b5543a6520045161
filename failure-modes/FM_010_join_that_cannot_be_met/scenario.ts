import { scenario, scene, step } from '../../src/lab/scenario.js'
import { decide } from '../../src/workflow/conductor.js'
import type { Situation } from '../../src/workflow/situation.js'
import type { Change } from '../../src/workflow/run.js'

const orders = `
name: orders
tasks:
  - name: pack
    action: pack
    next: [{ do: ship }]
  - name: charge
    action: charge
    next:
      - { when: "{{ succeeded() }}", do: ship }
      - { when: "{{ failed() }}", do: noop }
  - name: ship
    action: ship
    join: all
`

/** A join waits until all its edges have fired. If one never does, it waits. */
function waitForEver(situation: Situation): Change {
  const change = decide(situation)
  return change.error?.code === 'FP_JOIN_UNMET' ? { ...change, state: 'running', error: null } : change
}

export default scenario({
  id: 'FM_010',
  name: 'Join that cannot be met hangs',
  story: 'Two tasks lead to a join; one of them goes elsewhere, and the join waits for it.',
  invariants: ['INV_005', 'INV_009'],
  jobs: 0,
  runs: 1,
  naiveDecide: waitForEver,
  steps: [
    scene('producer', 'starts a run', (p) => p.runs.start(p.runIds[0] as string, orders)),
    scene('A', 'begins both tasks', (a) => a.runs.advanceAll()),
    scene('A', 'leases the one', (a) => a.claim(['pack'])),
    scene('B', 'leases the other', (b) => b.claim(['charge'])),
    step('A', 'packs', (a) => a.applyAndFinish()),
    step('B', 'fails to charge', (b) => b.fail(true)),
    step('C', 'takes what was told', (c) => c.runs.take()),
    step('C', 'goes on from both', (c) => c.runs.advance()),
  ],
  handle: (worker) => worker.applyAndFinish(),
  check: async (found) => {
    const [run] = await found.sql<{ state: string; message: string | null }>(
      `select state, error ->> 'message' as message from fencepost.run`,
    )
    const failed = await found.sql(`select 1 from fencepost.finished where outcome = 'failed'`)
    if (failed.length === 0) return found.usualSuspects() // the charge was repeated after a crash, and has succeeded
    return [
      ...(run?.state === 'running'
        ? ['INV_005: the join waits for an edge that will not fire, and nobody is told']
        : []),
      ...(run?.state === 'succeeded' ? ['INV_009: the run has succeeded without its join'] : []),
      ...(run?.state === 'failed' && !run.message?.includes('charge → ship did not fire')
        ? [`INV_005: the run does not say which edge is missing: ${run.message}`]
        : []),
      ...(await found.usualSuspects()),
    ]
  },
})
