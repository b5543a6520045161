import { expect, it } from 'vitest'
import { bundleUnderTest, noteOf } from '../../test/harness/bundle.js'
import { setupRunMoves } from '../../test/harness/runs.js'

it('FM_010: the run fails when nothing is left that could fire the edge, and says which it is', async () => {
  const { prevent } = await bundleUnderTest('FM_010')

  const played = await prevent()

  expect(noteOf(played, 'C', 'goes on from both')).toBe('advanced')
  expect(played.violations).toEqual([])
})

/** Tasks a, b and c lead to the join if they succeed; what becomes of them, and of the run. */
const joins: [join: string, ends: Record<string, 'finish' | 'fail'>, missing: string | null][] = [
  ['all', { a: 'finish', b: 'finish', c: 'finish' }, null],
  [
    'all',
    { a: 'finish', c: 'finish', b: 'fail' },
    'task j waits for 3 of 3 edges, and can no longer get them: b → j did not fire',
  ],
  ['2', { a: 'finish', b: 'fail', c: 'finish' }, null],
  [
    '2',
    { c: 'finish', b: 'fail', a: 'fail' },
    'task j waits for 2 of 3 edges, and can no longer get them: a → j, b → j did not fire',
  ],
  ['1', { a: 'fail', b: 'finish', c: 'fail' }, null],
  // Nothing led to it: then it is not waited for.
  ['all', { a: 'fail', b: 'fail', c: 'fail' }, null],
]
it('FM_010: as many edges as the join needs are waited for, and those that cannot fire are named', async () => {
  const { start, steps, runItems, stateOf, tasksOf } = await setupRunMoves()
  const task = (name: string) => `
  - name: ${name}
    action: ${name}
    next: [{ when: "{{ succeeded() }}", do: j }, { when: "{{ failed() }}", do: noop }]`
  for (const [join, ends, message] of joins) {
    const told = `join ${join}, ${JSON.stringify(ends)}`
    const run = await start(`
name: three
tasks:${['a', 'b', 'c'].map(task).join('')}
  - name: j
    action: j
    join: ${join}
`)
    await steps.advanceAll()
    for (const [name, end] of Object.entries(ends)) {
      await runItems([name], end)
      await steps.advanceAll()
    }
    await runItems(['j'])
    await steps.advanceAll()

    expect(await stateOf(run), told).toMatchObject({ state: message === null ? 'succeeded' : 'failed', message })
    const isMet = message === null && Object.values(ends).includes('finish')
    expect('j' in (await tasksOf(run)), told).toBe(isMet)
  }
})

it('FM_010: an edge that something alive may still fire is waited for', async () => {
  const { start, steps, runItems, stateOf, jobsOf } = await setupRunMoves()
  const run = await start(`
name: late
tasks:
  - name: a
    action: a
    next: [{ do: j }]
  - name: b
    action: b
    next: [{ do: c }]
  - name: c
    action: c
    next: [{ do: j }]
  - name: j
    action: j
    join: all
`)
  await steps.advanceAll()
  for (const name of ['a', 'b']) {
    await runItems([name])
    await steps.advanceAll()
    expect(await stateOf(run)).toMatchObject({ state: 'running' })
  }
  await runItems(['c'])
  await steps.advanceAll()

  expect(await jobsOf('j')).toBe(1)
})
