import { expect, it, onTestFinished, vi } from 'vitest'
import { setupRuns, workflowOf } from '../harness/workflows.js'

const child = `
name: child
tasks: [{ name: each, action: echo, with_items: [a, b, c], concurrency: 1, input: "{{ item }}" }]
`

it('a paused run that is cancelled leaves no paused gate of its sub-workflows behind', async () => {
  const { start, fp, cues, ended, sql, tasks } = await setupRuns()
  await fp.workflows.deploy(workflowOf(child, tasks))
  cues.hold('a')
  const { id } = await start('{ name: parent, tasks: [{ name: sub, action: workflow.child }] }')
  await cues.saw(1)
  await fp.workflows.pause(id)
  await fp.workflows.cancel(id)
  expect(await ended(id)).toMatchObject({ state: 'cancelled' })
  await vi.waitUntil(async () => (await sql('select key from fencepost.gate')).length === 0, { timeout: 10_000 })
})

it('what a run waits for no more tells it nothing', async () => {
  const { start, fp, ended, sql } = await setupRuns()
  const other = await start('{ name: other, tasks: [{ name: wait, wait_for: { signal: s } }] }')
  const { id } = await start(
    `
name: w
parameters: { run: string }
tasks: [{ name: other, wait_for: { run: "{{ parameters.run }}" }, timeout: 200ms, next: [{ do: noop }] }]
`,
    { run: other.id },
  )
  expect(await ended(id)).toMatchObject({ state: 'succeeded' })
  await fp.workflows.signal(other.id, 's')
  await ended(other.id)
  expect(await sql('select run_id, kind from fencepost.inbox')).toEqual([])
})

it('a run whose advances came to nothing leaves nothing running', async () => {
  const { start, fp, cues, sql, tasks } = await setupRuns()
  await fp.workflows.deploy(workflowOf(child, tasks))
  cues.hold('a')
  onTestFinished(() => cues.release('a'))
  const { id } = await start('{ name: parent, tasks: [{ name: sub, action: workflow.child }] }')
  await cues.saw(1)
  await sql('update fencepost.run set advance_tries = 20 where id = $1', [id])
  await fp.workflows.signal(id, 'look')
  await vi.waitUntil(async () => (await fp.workflows.run(id)).state === 'failed', { timeout: 10_000 })
  expect(
    await sql(`select workflow, state from fencepost.run where ended_at is null and state <> 'cancelling'`),
  ).toEqual([])
})
