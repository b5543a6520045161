import { expect, it } from 'vitest'
import { cliJson, refused } from './cli-process.js'
import { setupWorkflows } from './workflow-setup.js'

const held = `
name: held
tasks:
  - { name: one, action: hold, next: [{ do: ask }] }
  - { name: ask, wait_for: { approval: { title: Go?, form: { ok: { type: boolean, required: true } } } }, next: [{ do: last }] }
  - { name: last, action: fail }
`

async function setupHeld() {
  const bundle = await setupWorkflows({ 'held.yaml': held })
  const id = await bundle.start('held.yaml')
  await bundle.held()
  return { ...bundle, id }
}

it('pauses and resumes a run, and says if it was so already', async () => {
  const { id, workflow, options, fp, release } = await setupHeld()
  expect((await workflow(['pause', id])).stdout).toBe(
    `${id} paused: nothing more of it is begun. To go on: fencepost workflow resume ${id}\n`,
  )
  expect((await workflow(['pause', id])).stdout).toBe(`${id} is paused already\n`)
  expect(await fp.workflows.run(id)).toMatchObject({ state: 'paused' })
  expect((await workflow(['resume', id])).stdout).toBe(`${id} goes on\n`)
  expect(await cliJson(['workflow', 'resume', id], options)).toEqual({ id, answer: 'already' })
  release()
})

it('cancels a run, with a reason, and says so if it has ended', async () => {
  const { id, workflow, until } = await setupHeld()
  const { stdout } = await workflow(['cancel', id, '--reason', 'not needed'])
  expect(stdout).toBe(`${id} is being cancelled: nothing more of it is begun, what runs is asked to stop\n`)
  expect(await until(id)).toMatchObject({ state: 'cancelled', error: { message: 'not needed' } })
  expect((await workflow(['cancel', id])).stdout).toBe(`${id} not cancelled: it has ended already (cancelled)\n`)
  expect(await workflow(['pause', id])).toEqual(refused('FP_RUN_STATE', `run ${id} is cancelled`))
  expect(await workflow(['signal', id, 'x'])).toEqual(
    refused('FP_OPTION_INVALID', 'no task of workflow held waits for a signal "x"'),
  )
})

it('lets end what runs, if it is told to', async () => {
  const { id, workflow, until, release } = await setupHeld()
  expect((await workflow(['cancel', id, '--allow-finish'])).stdout).toContain('what runs is let end\n')
  release()
  const { state, taskRuns } = await until(id)
  expect({ state, ends: taskRuns.map((each) => each.state) }).toEqual({ state: 'cancelled', ends: ['succeeded'] })
})

it('answers a question in the types of its form, and takes a run up again from one of its tasks', async () => {
  const { id, workflow, fp, until, release } = await setupHeld()
  expect(await workflow(['rerun', id, '--from', 'one'])).toEqual(refused('FP_RUN_STATE', 'it is running'))
  const wrong = await workflow(['answer', id, 'ask', '--field', 'ok=maybe', '--field', 'okk=true'])
  expect(wrong).toEqual(
    refused('FP_ANSWER_INVALID', 'the field ok must be true or false, not "maybe": write --field ok=true'),
  )
  expect(wrong.stderr).toContain('there is no field "okk": did you mean ok?')
  const misspelt = await workflow(['answer', id, 'aks', '--field', 'ok=true'])
  expect(misspelt).toEqual(refused('FP_TASK_UNKNOWN', '"aks"'))
  expect(misspelt.stderr).toContain('Did you mean ask?')
  release()
  await until(id, ({ taskRuns }) => taskRuns.some(({ state }) => state === 'waiting'))
  expect((await workflow(['answer', id, 'ask', '--fields', '{"ok":true}'])).stdout).toBe(`${id} ask: answered\n`)
  await until(id)
  expect(await fp.workflows.taskResult(id, 'ask')).toMatchObject({ result: { ok: true } })

  const unreached = await workflow(['rerun', id, '--from', 'lsat'])
  expect(unreached).toEqual(refused('FP_TASK_UNKNOWN', '"lsat"'))
  expect(unreached.stderr).toContain('Did you mean last?')
  expect((await workflow(['rerun', id, '--from', 'last', '--reset'])).stdout).toBe(
    `${id} runs again from last. To watch it: fencepost workflow watch ${id}\n`,
  )
  const { taskRuns } = await until(id, (run) => run.endedAt !== null && run.taskRuns.length === 4)
  expect(taskRuns.at(-1)).toMatchObject({ task: 'last', ordinal: 2, state: 'failed' })
  expect(await workflow(['answer', id, 'ask', '--field', 'ok=true'])).toEqual(refused('FP_RUN_STATE', 'has ended'))
})
