import { expect, it } from 'vitest'
import { cli, cliJson, refused } from './cli-process.js'
import { project } from './project.js'
import { setupWorkflows } from './workflow-setup.js'

const good = `
name: release
description: Builds and scans
tasks:
  - name: build
    action: ci.build
    retry: { count: 3 }
    timeout: 10m
    next:
      - { when: "{{ succeeded() }}", publish: { image: "{{ result() }}" }, do: [scan, deploy] }
      - { when: "{{ failed() }}", do: report }
  - { name: deploy, action: ops.deploy, with_items: [1, 2], concurrency: 2, next: [{ do: check }] }
  - { name: scan, action: ci.scan, next: [{ do: check }] }
  - { name: check, join: all, wait_for: { signal: ok }, next: [{ when: "{{ failed() }}", do: retry }] }
  - { name: report, action: workflow.mail }
vars: { image: null }
`
const bad = `
name: bad
tasks:
  - { name: one, action: x, next: [{ do: tow }] }
  - { name: two, acton: y }
`

it('finds nothing wrong with a good file, and needs no database for that', async () => {
  const { directory: cwd } = await project({ 'a.yaml': good, 'b.yml': good.replace('release', 'other') })
  const env = { DATABASE_URL: 'postgres://127.0.0.1:1/none' }
  expect(await cli(['workflow', 'validate', 'a.yaml', 'b.yml'], { cwd, env })).toEqual({
    code: 0,
    stdout: 'a.yaml: ok, release has 5 tasks\nb.yml: ok, other has 5 tasks\n',
    stderr: '',
  })
  expect(await cliJson(['workflow', 'validate', 'a.yaml'], { cwd })).toEqual([
    { file: 'a.yaml', ok: true, workflows: [{ name: 'release', tasks: 5 }] },
  ])
})

it('shows all that is wrong with all files, each with its place and a hint', async () => {
  const { directory: cwd } = await project({ 'a.yaml': good, 'bad.yaml': bad })
  const { code, stdout, stderr } = await cli(['workflow', 'validate', 'bad.yaml', 'a.yaml'], { cwd })
  expect({ code, stdout }).toEqual({ code: 1, stdout: 'a.yaml: ok, release has 5 tasks\n' })
  expect(stderr).toContain('bad.yaml:4:42  unknown task "tow"\n')
  expect(stderr).toContain('  Did you mean two?\n')
  expect(stderr).toContain('bad.yaml:5:18  unknown key "acton" in a task\n')
  expect(stderr).toMatch(/1 file of 2 \(FP_WORKFLOW_INVALID\)\n.+\n$/)
  const json = await cli(['workflow', 'validate', 'bad.yaml', '--json'], { cwd })
  expect(json.code).toBe(1)
  expect(JSON.parse(json.stdout)).toMatchObject([{ file: 'bad.yaml', ok: false, problems: [{ line: 4 }, { line: 5 }] }])
})

it('reads modules that export workflows, too', async () => {
  const tasks = (next: string) => `{ tasks: { one: { action: 'x', next: [{ do: '${next}' }] }, two: { action: 'x' } } }`
  const module = (next: string) =>
    `import { workflow } from 'fencepost'\nexport const all = [workflow('a', ${tasks(next)})]\n`
  const { directory: cwd } = await project({ 'good.ts': module('two'), 'bad.ts': module('tow') })
  const { code, stdout, stderr } = await cli(['workflow', 'validate', 'good.ts', 'bad.ts'], { cwd })
  expect({ code, stdout }).toEqual({ code: 1, stdout: 'good.ts: ok, a has 2 tasks\n' })
  expect(stderr).toMatch(/^bad\.ts: .*\n\ntasks\.one\.next\[0\]\.do {2}unknown task "tow"\n {2}Did you mean two\?\n/)
})

it.each([
  ['nope.yaml', 'nope.yaml: there is no such file'],
  ['.', 'that is a directory'],
  ['module.ts', 'module.ts exports no workflow'],
])('says of %s what it is', async (file, problem) => {
  const { directory: cwd } = await project({ 'module.ts': 'export const a = 1' })
  const args = ['workflow', 'validate', file === '.' ? './node_modules/zod/' : file]
  expect(await cli(args, { cwd })).toEqual(refused('FP_MODULE_FAILED', problem))
})

it('draws the graph of a file', async () => {
  const { directory: cwd } = await project({ 'a.yaml': good })
  const { code, stdout } = await cli(['workflow', 'graph', 'a.yaml'], { cwd })
  expect(code).toBe(0)
  expect(stdout).toBe(`release  Builds and scans
●      build   ci.build  retry 3, timeout 10m
│        succeeded() → scan, deploy, publish image
│        failed() → report
├─┬─╮
● │ │  scan    ci.scan
│ ● │  deploy  ops.deploy  with items, 2 at a time
├─╯ │
◆   │  check   wait.signal  join all 2  ↺ check
    │    failed() → retry
    ■  report  workflow.mail
`)
  expect((await cli(['workflow', 'graph', 'a.yaml', '--mermaid'], { cwd })).stdout).toMatch(/^flowchart TD\n/)
})

it('deploys files, all or none, lists what is deployed, and draws it by its name', async () => {
  const { workflow, workflowJson } = await setupWorkflows(
    { 'a.yaml': good, 'b.yaml': good.replace('name: release', 'name: other'), 'bad.yaml': bad },
    { withWorker: false },
  )
  expect((await workflow([])).stdout).toBe('No workflow is deployed: fencepost workflow deploy <file>\n')
  const refusal = await workflow(['deploy', 'a.yaml', 'bad.yaml'])
  expect(refusal).toMatchObject({ code: 1, stdout: '' })
  expect(refusal.stderr).toContain('bad.yaml has 2 problems (FP_WORKFLOW_INVALID)')
  expect(await workflowJson(['list'])).toEqual([])

  expect((await workflow(['deploy', 'a.yaml', 'b.yaml'])).stdout).toBe(
    'release version 1 deployed\nother version 1 deployed\n',
  )
  expect(await workflowJson(['deploy', 'a.yaml'])).toEqual([{ name: 'release', version: 1 }])
  expect((await workflow(['list'])).stdout).toMatch(
    /^WORKFLOW +VERSION +DEPLOYED +DESCRIPTION\nother +1 +\S+ \S+Z +Builds and scans\nrelease +1 +\S+ \S+Z +Builds and scans\n$/,
  )
  expect((await workflow(['graph', 'release'])).stdout).toContain('● │ │  scan    ci.scan')
  const misspelt = await workflow(['graph', 'relaese'])
  expect(misspelt).toEqual(refused('FP_WORKFLOW_UNKNOWN', 'relaese'))
  expect(misspelt.stderr).toContain('Did you mean release?')
})
