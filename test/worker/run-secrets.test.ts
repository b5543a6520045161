import { inspect } from 'node:util'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { attachLogger, NonRetryable, task } from '../../src/index.js'
import type { Json } from '../../src/job/json.js'
import { setupRuns, workflowOf } from '../harness/workflows.js'

const secret = 'hunter2/x'

/** Throws its input in every way that an error can carry it. */
const blurt = task('blurt', {
  input: z.any(),
  run: (input: Json) => {
    const said = JSON.stringify(input)
    const cause = Object.assign(new Error(`because of ${said}`), { config: { input, self: [] as unknown[] } })
    cause.config.self.push(cause)
    throw Object.assign(new NonRetryable(`cannot take ${said}`, { cause }), { input, [said]: new Map([[1, input]]) })
  },
})

async function setupLog() {
  const bundle = await setupRuns()
  const { fp, ended } = bundle
  const lines: unknown[] = []
  const note = (fields: object, message: string) => void lines.push({ ...fields, message })
  attachLogger(fp, { debug: note, info: note, warn: note, error: note })
  const thrown: unknown[] = []
  fp.on('failed', ({ error }) => thrown.push(error))
  await fp.work([blurt], { poll: '50ms' })
  return {
    ...bundle,
    /** What listeners were given. */
    thrown,
    logged: () => inspect(lines, { depth: Infinity, showHidden: true }),
    async failed(text: string, parameters: Record<string, unknown>) {
      const { id } = await fp.workflows.start(workflowOf(text, [blurt]), parameters)
      expect(await ended(id)).toMatchObject({ state: 'failed' })
      return id
    },
  }
}

it.each([
  ['in a text', '{ headers: { authorization: "Bearer {{ parameters.token }}" } }'],
  ['as a part of all parameters', '"{{ parameters }}"'],
  ['as a value that was made of it', '["{{ parameters.token.upper() }}"]'],
])('logs no secret that a handler throws and that was in its input %s', async (_, input) => {
  const { failed, logged, thrown, fp } = await setupLog()
  const id = await failed(
    `
name: w
parameters: { token: { type: string, secret: true }, host: string }
tasks: [{ name: call, action: blurt, input: ${input} }]
`,
    { token: secret, host: 'example.com' },
  )
  expect(logged()).not.toMatch(/hunter2/i)
  expect(logged()).toMatch(/NonRetryable: cannot take .*•••/)
  expect(logged()).toMatch(/because of .*•••/)
  expect(inspect(thrown)).toMatch(/hunter2/i)
  const { error } = await fp.workflows.taskResult(id, 'call')
  expect(JSON.stringify(error)).toMatch(/hunter2/i) // it is stored: people who may read the database can see what happened
})

it('logs no secret of the items of a list, of an answer, nor of the run that a run is an item of', async () => {
  const { failed, logged, fp, tasks } = await setupLog()
  await fp.workflows.deploy(
    workflowOf(
      `
name: inner
parameters: { key: string, plain: string }
tasks: [{ name: call, action: blurt, input: { a: "{{ parameters.key }}", b: "{{ parameters.plain }}" } }]
`,
      [blurt],
    ),
  )
  await fp.workflows.deploy(
    workflowOf(`
name: middle
parameters: { key: string, plain: string }
tasks: [{ name: sub, action: workflow.inner, input: "{{ {'key': parameters.key, 'plain': 'also ' + parameters.plain} }}" }]
`),
  )
  const each = `
name: each
parameters: { tokens: { type: array, secret: true } }
tasks: [{ name: each, action: blurt, with_items: "{{ parameters.tokens }}", on_item_failure: continue, input: "{{ item }}", next: [{ do: bad }] }, { name: bad, action: core.fail, input: { message: x } }]
`
  await failed(each, { tokens: ['first-of-all', 'second-best'] })
  const outer = `
name: outer
parameters: { token: { type: string, secret: true } }
tasks: [{ name: sub, action: workflow.middle, input: { key: "{{ parameters.token }}", plain: "this is plain" } }]
`
  await failed(outer, { token: secret })
  const asking = `
name: asking
vars: { code: null }
tasks:
  - { name: ask, action: core.ask, input: { title: Code?, form: { code: { type: string, secret: true } } }, next: [{ publish: { code: "{{ result().code }}" }, do: call }] }
  - { name: call, action: blurt, input: { n: 1, code: "{{ vars.code }}" } }
`
  const { id } = await fp.workflows.start(workflowOf(asking, [...tasks, blurt]), {})
  await fp.workflows.answer(id, 'ask', { code: 'open sesame' })
  await fp.result(id, { timeout: '20s' }).catch(() => {})

  expect(logged()).not.toMatch(/first-of|second-best|hunter2|sesame/)
  expect(logged().match(/\[message\]: 'cannot take/g)).toHaveLength(4)
})

it('logs what is no secret, and knows one no longer when its job has ended', async () => {
  const { failed, logged, fp } = await setupLog()
  await failed(
    `
name: w
parameters: { token: { type: string, secret: true }, host: string }
tasks: [{ name: call, action: blurt, input: { host: "{{ parameters.host }}", token: "{{ parameters.token }}" } }]
`,
    { token: secret, host: 'example.com' },
  )
  expect(logged()).toMatch(/cannot take \{"host":"example.com","token":"•••"\}/)
  await expect.poll(() => fp.masked(secret)).toBe(secret)
})

it('logs no secret that PostgreSQL quotes when it refuses what follows in a run', async () => {
  const { logged, fp, sql } = await setupLog()
  await sql(`
    create function public.refuse() returns trigger language plpgsql as $$
    begin raise exception using errcode = '0A000', message = 'cannot store ' || new.payload::text; end $$;
    create trigger refuse before insert on fencepost.job for each row execute function public.refuse()`)
  const text = `
name: w
parameters: { token: { type: string, secret: true } }
tasks: [{ name: call, action: blurt, input: { token: "{{ parameters.token }}" } }]
`
  await fp.workflows.start(workflowOf(text, [blurt]), { token: secret })
  await expect.poll(logged, { timeout: 10_000 }).toMatch(/trouble during advancing/)
  expect(logged()).toMatch(/cannot store \{"token": "•••"\}/)
  expect(logged()).not.toMatch(/hunter2/)
})
