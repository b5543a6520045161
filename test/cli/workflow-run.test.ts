import { randomUUID } from 'node:crypto'
import { expect, it } from 'vitest'
import { refused } from './cli-process.js'
import { setupWorkflows } from './workflow-setup.js'

const typed = `
name: typed
parameters:
  text: { type: string, required: true }
  count: integer
  list: array
  flags: object
  on: boolean
  any: null
  token: { type: string, secret: true }
tasks:
  - name: one
    action: echo
output:
  text: "{{ parameters.text }}"
  count: "{{ parameters.count }}"
  list: "{{ parameters.list }}"
  flags: "{{ parameters.flags }}"
  on: "{{ parameters.on }}"
  any: "{{ parameters.any }}"
`
const failing = `
name: failing
parameters: { token: { type: string, secret: true } }
tasks:
  - { name: one, action: fail, input: { message: "no luck with {{ parameters.token }}" } }
output: { status: "{{ tasks.one.status }}" }
`
const misread = `
name: misread
tasks:
  - { name: one, action: echo, input: 1, next: [{ when: "{{ result().size > 1 }}", do: noop }] }
`

it('takes parameters in their types, waits for the end and writes the output, alone', async () => {
  const { workflow } = await setupWorkflows({ 'typed.yaml': typed })
  const args = ['text=7', 'count=7', 'list=[1,2]', 'flags={"a":true}', 'on=true', 'any=x=y', 'token=hunter2']
  const run = await workflow(['run', 'typed.yaml', ...args.flatMap((each) => ['--param', each]), '--wait'])
  expect(run).toEqual({
    code: 0,
    stdout: expect.any(String) as string,
    stderr: expect.stringMatching(/^[0-9a-f-]{36} started\n$/) as string,
  })
  expect(JSON.parse(run.stdout)).toEqual({
    text: '7',
    count: 7,
    list: [1, 2],
    flags: { a: true },
    on: true,
    any: 'x=y',
  })
})

it('reads parameters from standard input and from files; those given by name come first', async () => {
  const { workflow } = await setupWorkflows({ 'typed.yaml': typed, 'p.json': '{"text":"file","count":1}' })
  const outputOf = async (args: readonly string[], input = '') => {
    const { stdout } = await workflow(['run', 'typed.yaml', '--wait', ...args], { input })
    return JSON.parse(stdout) as object
  }
  expect(await outputOf(['--params', '-'], '{"text":"stdin"}')).toMatchObject({ text: 'stdin' })
  expect(await outputOf(['--params', '@p.json', '--param', 'count=2'])).toMatchObject({ text: 'file', count: 2 })
})

it('says all that is wrong with the parameters at once, and no secret', async () => {
  const { workflow } = await setupWorkflows({ 'typed.yaml': typed })
  const args = ['txet=a', 'count=many', 'list=a,b', 'on=yes'].flatMap((each) => ['--param', each])
  const refusal = await workflow(['run', 'typed.yaml', ...args, '--params', '{"token":12345678}'])
  expect(refusal).toEqual(refused('FP_PARAMETERS_INVALID', 'workflow typed: '))
  for (const part of [
    'the parameter text is required',
    'there is no parameter "txet": did you mean text?',
    'the parameter count must be a whole number, not "many": write --param count=3',
    `the parameter list must be a list, not "a,b": write --param list='["a","b"]'`,
    'the parameter on must be true or false',
    'the parameter token must be text: write',
    'The parameters are',
    'text (string, required)',
  ]) {
    expect(refusal.stderr).toContain(part)
  }
  expect(refusal.stderr).not.toContain('12345678')
  const broken = await workflow(['run', 'typed.yaml', '--params', 'hunter2'])
  expect(broken).toEqual(refused('FP_INPUT_NOT_JSON', 'the parameters: Unexpected token'))
  expect(broken.stderr).not.toContain('hunter2')
  expect(await workflow(['run', 'typed.yaml', '--param', 'hunter2'])).toEqual(
    refused('FP_USAGE', '--param takes name=value', 2),
  )
  expect(await workflow(['run', 'typed.yaml', '--param', 'a=1', '--param', 'a=2'])).toEqual(
    refused('FP_USAGE', 'is there twice', 2),
  )
  expect(await workflow(['run', 'typed.yaml', '--timeout', '1s'])).toEqual(refused('FP_USAGE', '--timeout', 2))
})

it('tells by the exit code that the run failed, with its error, its place and its output, without its secrets', async () => {
  const { workflow } = await setupWorkflows({ 'failing.yaml': failing, 'misread.yaml': misread })
  const { code, stdout, stderr } = await workflow(['run', 'failing.yaml', '--param', 'token=hunter2', '--wait'])
  expect({ code, stdout }).toEqual({ code: 1, stdout: '{"status":"failed"}\n' })
  expect(stderr).toMatch(
    /^\S+ started\nfencepost: the run failed\n {2}task one failed: no luck with ••• \(LUCK\)\nSee how it went: fencepost workflow show \S+\n$/,
  )
  const misled = await workflow(['run', 'misread.yaml', '--wait'])
  expect(misled.code).toBe(1)
  expect(misled.stderr).toMatch(
    /task one failed: next of one: .*\(FP_EXPRESSION\)\n +\{\{ result\(\)\.size > 1 \}\}\n +\^+\n/,
  )
  const json = await workflow(['run', 'failing.yaml', '--param', 'token=hunter2', '--wait', '--json'])
  expect(JSON.parse(json.stdout)).toMatchObject({
    state: 'failed',
    error: { message: expect.stringContaining('•••') as string },
  })
  expect(json.stdout + json.stderr).not.toContain('hunter2')
})

it('starts a run once under an id of one’s own, and says what to do next', async () => {
  const { workflow, workflowJson, until } = await setupWorkflows({ 'typed.yaml': typed })
  const id = randomUUID()
  const args = ['run', 'typed.yaml', '--param', 'text=a', '--id', id]
  const { stdout } = await workflow(args)
  expect(stdout).toBe(`${id} started (typed, version 1)\nWatch it: fencepost workflow watch ${id}\n`)
  expect(await workflowJson(args)).toEqual({ id, answer: 'existing', workflow: 'typed', version: 1 })
  expect(await workflow([...args, '--param', 'count=1'])).toEqual(refused('FP_ID_CONFLICT', id))
  await until(id)
  expect(await workflowJson(['run', 'typed', '--param', 'text=b'])).toMatchObject({ answer: 'started', version: 1 })
})

it('waits as long as it is told, and says when no worker is there', async () => {
  const { workflow, sql } = await setupWorkflows(
    { 'typed.yaml': typed.replace('action: echo', 'action: core.echo') },
    { withWorker: false },
  )
  const late = await workflow(['run', 'typed.yaml', '--param', 'text=a', '--wait', '--timeout', '50ms'])
  expect(late).toMatchObject({ code: 1, stdout: '' })
  expect(late.stderr).toContain('No live worker is there')
  expect(late.stderr).toMatch(
    /after 50 ms \(FP_RESULT_TIMEOUT\)\nThe run goes on\. Watch it: fencepost workflow watch \S+\n$/,
  )
  expect((await workflow(['run', 'typed.yaml', '--param', 'text=a'])).stdout).toContain('No live worker is there')
  expect(await sql('select state from fencepost.run')).toEqual([{ state: 'running' }, { state: 'running' }])
})

it('refuses what it does not know, and says what may have been meant', async () => {
  const unknown = 'name: unknown\ntasks: [{ name: a, action: ehco }]\n'
  const { workflow, sql } = await setupWorkflows({ 'typed.yaml': typed, 'unknown.yaml': unknown })
  await workflow(['deploy', 'typed.yaml'])
  const misspelt = await workflow(['run', 'tpyed', '--param', 'text=a'])
  expect(misspelt).toEqual(refused('FP_WORKFLOW_UNKNOWN', 'tpyed'))
  expect(misspelt.stderr).toContain('Did you mean typed?')
  const file = await workflow(['run', 'unknown'])
  expect(file.stderr).toContain('There is a file of that name: fencepost workflow run unknown.yaml')
  const action = await workflow(['run', 'unknown.yaml'])
  expect(action).toEqual(refused('FP_TASK_UNKNOWN', 'ehco'))
  expect(action.stderr).toContain('Did you mean echo?')
  expect(await sql('select * from fencepost.run')).toEqual([])
})

it('lists runs, of one workflow or in one state, without secrets in their errors', async () => {
  const { workflow, workflowJson, start, until } = await setupWorkflows({
    'typed.yaml': typed,
    'failing.yaml': failing,
  })
  expect((await workflow(['runs'])).stdout).toBe('No such runs.\n')
  const first = await start('typed.yaml', '--param', 'text=a')
  const second = await start('failing.yaml', '--param', 'token=hunter2')
  await until(first)
  await until(second)
  const { stdout } = await workflow(['runs'])
  expect(stdout).toMatch(
    new RegExp(
      `^RUN +WORKFLOW +STATE +BEGAN +TOOK +NOTE\n` +
        `${second} +failing v1 +failed +\\S+ \\S+Z +\\S+ +task one failed: no luck with •••\n` +
        `${first} +typed v1 +succeeded +\\S+ \\S+Z +\\S+\n$`,
    ),
  )
  expect(await workflowJson(['runs', '--state', 'succeeded'])).toMatchObject([{ id: first }])
  const failed = await workflowJson<object[]>(['runs', '--workflow', 'failing', '--limit', '1'])
  expect(failed).toMatchObject([{ id: second, error: { code: 'LUCK' } }])
  expect(JSON.stringify(failed)).not.toContain('hunter2')
  expect((await workflow(['runs', '--workflow', 'tpyed'])).stderr).toContain('Did you mean typed?')
  expect((await workflow(['runs', '--limit', '0'])).stderr).toContain('--limit must be a whole number')
})
