import { scenario, scene, step } from '../../src/lab/scenario.js'
import { decide } from '../../src/workflow/conductor.js'
import type { Situation } from '../../src/workflow/situation.js'
import type { Change } from '../../src/workflow/run.js'

const nothing = `
name: nothing
tasks:
  - name: each
    action: check
    with_items: []
    next: [{ do: validate }]
  - name: validate
    action: validate
`
const mixed = `
name: mixed
tasks:
  - name: each
    action: check
    with_items: [1, 2]
    next:
      - { when: "{{ succeeded() }}", do: ship }
      - { when: "{{ failed() }}", do: remedy }
  - name: ship
    action: ship
  - name: remedy
    action: remedy
`

/** The end of a task is that of the item which ends last; and a task without items has none. */
function lastDecides(situation: Situation): Change {
  const last = situation.letters.findLast((letter) => letter.kind === 'item')
  const letters = situation.letters.map((letter) =>
    letter.kind === 'item' && last ? { ...letter, payload: last.payload } : letter,
  )
  const change = decide({ ...situation, letters })
  const empty = change.begin.find(({ items }) => items?.length === 0)
  if (!empty) return change
  return { ...change, state: 'running', begin: [{ ...empty, state: 'running', ended: false }], jobs: [] }
}

export default scenario({
  id: 'FM_009',
  name: 'Empty fan-out never completes; or the last item’s result decides for all',
  story: 'One run has no items to wait for; in another the first item fails and the last one succeeds.',
  invariants: ['INV_009'],
  jobs: 0,
  runs: 2,
  naiveDecide: lastDecides,
  steps: [
    scene('producer', 'starts a run without items', (p) => p.runs.start(p.runIds[0] as string, nothing)),
    scene('producer', 'starts a run with two', (p) => p.runs.start(p.runIds[1] as string, mixed)),
    step('A', 'takes both', (a) => a.runs.take()),
    step('A', 'makes what there is to make', (a) => a.runs.advance()),
    scene('B', 'leases the first item', (b) => b.claim(['check'])),
    scene('C', 'leases the last', (c) => c.claim(['check'])),
    step('B', 'fails', (b) => b.fail(true)),
    step('C', 'finishes', (c) => c.applyAndFinish()),
    step('D', 'takes what was told', (d) => d.runs.take()),
    step('D', 'dispatches what follows', (d) => d.runs.advance()),
  ],
  handle: (worker) => worker.applyAndFinish(),
  check: async (found) => {
    const shipped = await found.sql(`select 1 from fencepost.job where task = 'ship'`)
    const failed = await found.sql(`select 1 from fencepost.finished f join fencepost.job j on j.id = f.job_id
                                    where j.task = 'check' and f.outcome = 'failed'`)
    return [
      ...(await found.notOnce(['validate'])),
      ...(failed.length > 0 ? await found.notOnce(['remedy']) : []),
      ...(failed.length > 0 && shipped.length > 0 ? ['INV_009: shipped, with an item that has failed'] : []),
      ...(await found.usualSuspects()),
    ]
  },
})
