import { expect, it } from 'vitest'
import { fail, finish } from '../../src/store/settle.js'
import { readTaskRunResult } from '../../src/store/runs.js'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'
import { setupRunMoves } from '../../test/harness/runs.js'

it('FM_009: no items have ended at once, and one failure is one, whoever ends last', async () => {
  const { prevent } = await bundleUnderTest('FM_009')

  const played = await prevent()

  expect(noteOf(played, 'D', 'dispatches what follows')).toBe('advanced')
  expect(played.violations).toEqual([])
})

const emptyLists: [string, string][] = [
  ['a list', 'with_items: []'],
  ['a list of batches', 'with_items: []\n    batch_size: 3'],
  ['lists that are zipped', 'with_items: { a: [], b: [] }'],
  ['a list of which few may run', 'with_items: []\n    concurrency: 1'],
  ['a list that may fail', 'with_items: []\n    on_item_failure: continue'],
  ['a list that is evaluated', 'with_items: "{{ vars.none }}"'],
]
it.each(['check', 'core.echo', 'workflow.other'])(
  'FM_009: without anything in it, any list of items for %s ends in the advance that begins it',
  async (action) => {
    const { start, steps, tasksOf, sql } = await setupRunMoves()
    for (const [name, items] of emptyLists) {
      const run = await start(`
name: nothing
vars: { none: [], all: null }
tasks:
  - name: each
    action: ${action}
    ${items}
    next: [{ publish: { all: "{{ result() }}" }, do: validate }]
  - name: validate
    action: validate
`)

      expect(await steps.advanceAll(), name).toBe('advanced')

      expect(await tasksOf(run), name).toEqual({ each: 'succeeded', validate: 'running' })
      expect(await sql(`select vars -> 'all' as "all" from fencepost.run where id = $1`, [run]), name).toEqual([
        { all: [] },
      ])
    }
  },
)

const three = (onFailure: string) => `
name: three
tasks:
  - name: each
    action: check
    with_items: [a, b, c]
    input: "{{ item }}"
    on_item_failure: ${onFailure}
    next:
      - { when: "{{ succeeded() }}", do: ship }
      - { when: "{{ failed() }}", do: remedy }
  - name: ship
    action: ship
  - name: remedy
    action: remedy
`
const orders = ['abc', 'acb', 'bac', 'bca', 'cab', 'cba']
it.each([
  ['fail', { each: 'failed', remedy: 'running' }],
  ['continue', { each: 'succeeded', ship: 'running' }],
])(
  'FM_009: with on_item_failure: %s, one item that fails counts the same whenever it ends',
  async (onFailure, expected) => {
    const { start, steps, db, takeItem, tasksOf } = await setupRunMoves()
    for (const toldTogether of [true, false]) {
      for (const order of orders) {
        const run = await start(three(onFailure))
        await steps.advanceAll()
        const leases = [await takeItem('check'), await takeItem('check'), await takeItem('check')]
        for (const name of order) {
          const lease = leases.find(({ payload }) => payload === name) as (typeof leases)[0]
          if (name === 'a') await fail(db, [{ ...lease, errorText: '{"message":"no"}', delayMs: 0, final: true }])
          else await finish(db, [{ ...lease, resultText: '1' }])
          if (!toldTogether) await steps.advanceAll()
        }
        await steps.advanceAll()

        expect(await tasksOf(run), order).toEqual(expected)
        const { items } = await readTaskRunResult(db, run, 'each', 1)
        expect(
          items?.map(({ status }) => status),
          order,
        ).toEqual(['failed', 'succeeded', 'succeeded'])
      }
    }
  },
)
