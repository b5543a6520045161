import { expect, it, vi } from 'vitest'
import { setupRuns } from '../harness/workflows.js'

const itemsOf = (options: string, next = '') => `
name: fan
parameters: { list: null }
vars: { all: null }
tasks:
  - name: each
    with_items: "{{ parameters.list }}"
${options
  .split('\n')
  .map((line) => `    ${line}`)
  .join('\n')}
    next: [{ when: "{{ succeeded() }}", publish: { all: "{{ result() }}" }, do: after }${next}]
  - { name: after, action: core.noop }
${next && '  - { name: mend, action: core.noop }'}
output: { all: "{{ vars.all }}", items: "{{ tasks.each.items.map(i, i.status) }}" }
`

it('gathers the results in item order, however they ended, and goes on once', async () => {
  const { start, cues, ended, sql } = await setupRuns({ workers: 2, concurrency: 5 })
  const list = ['a', 'b', 'c', 'd', 'e']
  cues.hold(...list)
  const { id } = await start(itemsOf('action: echo\ninput: "{{ item }}"'), { list })
  await cues.saw(5)
  for (const item of ['d', 'a', 'e', 'c', 'b']) cues.release(item)
  expect(await ended(id)).toMatchObject({
    state: 'succeeded',
    output: { all: list, items: list.map(() => 'succeeded') },
    path: ['after#1 succeeded', 'each#1 succeeded'],
  })
  expect(await sql('select count(*) as n from fencepost.job')).toEqual([{ n: 5 }])
})

it('runs no more at a time than it is told', async () => {
  const { start, cues, fp, sql, ended } = await setupRuns({ workers: 2, concurrency: 10 })
  const list = Array.from({ length: 12 }, (_, n) => `item ${n}`)
  cues.hold(...list)
  const { id } = await start(itemsOf('action: echo\nconcurrency: 3\ninput: "{{ item }}"'), { list })
  for (let n = 3; n <= 12; n++) {
    await cues.saw(n)
    expect(await sql('select count(*) as running from fencepost.leased')).toEqual([{ running: 3 }])
    cues.release(cues.seen[n - 3] as string)
  }
  cues.release(...list)
  expect(await ended(id)).toMatchObject({ state: 'succeeded', output: { all: list } })
  expect(await fp.gates()).toEqual([])
})

it.each([
  ['a list', '[]', []],
  ['an expression', '"{{ parameters.list }}"', []],
])('an empty list completes at once: %s', async (_, list, given) => {
  const { run } = await setupRuns()
  const text = itemsOf('action: echo').replace('"{{ parameters.list }}"', list)
  expect(await run(text, { list: given })).toMatchObject({
    state: 'succeeded',
    output: { all: [], items: [] },
    path: ['after#1 succeeded', 'each#1 succeeded'],
  })
})

it('what is no list is an error that says so', async () => {
  const { run } = await setupRuns()
  const ended = await run(itemsOf('action: echo'), { list: { a: 1 } })
  expect(ended).toMatchObject({ state: 'failed', code: 'FP_ITEMS_NO_LIST', path: ['each#1 failed'] })
  expect(ended.message).toContain('with_items must be a list, not an object')
})

it('zips lists, and refuses those of different length', async () => {
  const { run } = await setupRuns()
  const text = `
name: zipped
parameters: { a: array, b: array }
tasks:
  - name: each
    action: echo
    with_items: { a: "{{ parameters.a }}", b: "{{ parameters.b }}" }
    input: "{{ item.a }}{{ item.b }}{{ index }}"
output: "{{ tasks.each.result }}"
`
  expect((await run(text, { a: [1, 2], b: ['x', 'y'] })).output).toEqual(['1x0', '2y1'])
  const uneven = await run(text, { a: [1, 2], b: ['x'] })
  expect(uneven).toMatchObject({ state: 'failed', code: 'FP_ITEMS_UNEVEN' })
  expect(uneven.message).toContain('a has 2, b has 1')
})

it('makes batches', async () => {
  const { run } = await setupRuns()
  const { output } = await run(itemsOf('action: echo\nbatch_size: 2\ninput: "{{ item }}"'), { list: [1, 2, 3, 4, 5] })
  expect(output).toMatchObject({ all: [[1, 2], [3, 4], [5]] })
})

it('a failed item fails the task, whatever the last one said; what has not begun does not begin', async () => {
  const { start, cues, ended, fp } = await setupRuns()
  const list = [{ failures: 9 }, { failures: 0 }, { failures: 0 }, { failures: 0 }]
  const { id } = await start(
    itemsOf('action: flaky\nconcurrency: 1\ninput: "{{ item }}"', ', { when: "{{ failed() }}", do: mend }'),
    { list },
  )
  expect(await ended(id)).toMatchObject({
    state: 'succeeded',
    path: ['each#1 failed', 'mend#1 succeeded'],
    output: { all: null, items: ['failed', 'cancelled', 'cancelled', 'cancelled'] },
  })
  const each = (await fp.workflows.run(id)).taskRuns.find(({ task }) => task === 'each')
  expect(each).toMatchObject({ error: { code: 'FP_ITEMS_FAILED', item: 0 } })
  expect(each?.error?.message).toMatch(/4 of 4 items did not succeed; the first: item 0: failure 1/)
  expect(cues.seen).toEqual([])
})

it('on_item_failure: continue gives each item its chance', async () => {
  const { run } = await setupRuns()
  const list = [{ failures: 9 }, { failures: 0 }, { failures: 9 }, { failures: 0 }]
  expect(
    await run(itemsOf('action: flaky\nconcurrency: 1\non_item_failure: continue\ninput: "{{ item }}"'), { list }),
  ).toMatchObject({
    state: 'succeeded',
    output: { all: [null, 0, null, 0], items: ['failed', 'succeeded', 'failed', 'succeeded'] },
  })
})

it('retries each item by itself, if its error is worth it', async () => {
  const { run, sql } = await setupRuns()
  const list = [{ failures: 2 }, { failures: 0 }, { failures: 1, code: 'BadInput' }]
  const retry = `retry: { count: 3, delay: 1ms, backoff: fixed, when: "{{ error.code != 'BadInput' }}" }`
  expect(
    await run(itemsOf(`action: flaky\non_item_failure: continue\n${retry}\ninput: "{{ item }}"`), { list }),
  ).toMatchObject({
    output: { all: [2, 0, null], items: ['succeeded', 'succeeded', 'failed'] },
  })
  expect(
    await sql('select j.item, f.failures from fencepost.finished f join fencepost.job j on j.id = f.job_id order by 1'),
  ).toEqual([
    { item: 0, failures: 2 },
    { item: 1, failures: 0 },
    { item: 2, failures: 1 },
  ])
})

it('tells a timeout from a failure', async () => {
  const { run, cues } = await setupRuns()
  cues.hold('slow')
  const ended = await run(`
name: timeouts
tasks:
  - name: slow
    action: echo
    input: slow
    retry: { count: 0 }
    timeout: 50ms
    next:
      - { when: "{{ timed_out() && failed() }}", do: late }
      - { when: "{{ succeeded() || !timed_out() }}", do: fail }
  - { name: late, action: core.noop }
`)
  expect(ended).toMatchObject({ state: 'succeeded', path: ['late#1 succeeded', 'slow#1 timed_out'] })
})

it('waits for the delay of a task', async () => {
  const { start, fp, cues, ended, sql } = await setupRuns()
  const { id } = await start(`
name: delayed
tasks:
  - { name: job, action: echo, input: job, delay: 1h }
  - { name: own, action: core.echo, input: own, delay: 1h }
`)
  await vi.waitUntil(async () => (await fp.workflows.run(id)).taskRuns.length === 2, { timeout: 10_000 })
  expect((await fp.workflows.run(id)).taskRuns.map(({ task, state }) => `${task} ${state}`).sort()).toEqual([
    'job running',
    'own delayed',
  ])
  await sql(`update fencepost.timer set due_at = fencepost.clock()`)
  await sql(`update fencepost.delayed set due_at = fencepost.clock()`)
  expect(await ended(id)).toMatchObject({ state: 'succeeded' })
  expect(cues.seen).toEqual(['job'])
})

it('makes more items than fit into one advance', async () => {
  const { run, sql } = await setupRuns({ workers: 2, concurrency: 100 })
  const text = itemsOf('action: echo\ninput: "{{ index }}"').replace(
    '"{{ parameters.list }}"',
    '"{{ range(0, 12000) }}"',
  )
  const ended = await run(text)
  expect(ended).toMatchObject({ state: 'succeeded', path: ['after#1 succeeded', 'each#1 succeeded'] })
  expect((ended.output as { all: number[] }).all).toEqual(Array.from({ length: 12_000 }, (_, n) => n))
  expect(await sql('select total, dispatched, succeeded from fencepost.task_run where task = $1', ['each'])).toEqual([
    { total: 12_000, dispatched: 12_000, succeeded: 12_000 },
  ])
})

it('inputs that take long to tell are told in several advances, and hold no worker up', async () => {
  const { run, sql } = await setupRuns()
  // A hundred thousand steps for each item.
  const costly = '{{ range(0, 20000).filter(n, n % 2 == 0).size() + item }}'
  const text = itemsOf(`action: echo\ninput: "${costly}"`).replace('"{{ parameters.list }}"', '"{{ range(0, 200) }}"')
  expect(await run(text)).toMatchObject({ state: 'succeeded' })
  const [{ revision } = { revision: 0 }] = await sql<{ revision: number }>('select revision from fencepost.run')
  expect(revision).toBeGreaterThan(3)
})

it('a list that is too costly to tell at once, of an action that needs nobody, is an error', async () => {
  const { run } = await setupRuns()
  const costly = '{{ range(0, 20000).filter(n, n % 2 == 0).size() + item }}'
  const text = itemsOf(`action: core.echo\ninput: "${costly}"`).replace(
    '"{{ parameters.list }}"',
    '"{{ range(0, 2000) }}"',
  )
  expect(await run(text)).toMatchObject({ state: 'failed', code: 'FP_ITEMS_TOO_COSTLY' })
})
