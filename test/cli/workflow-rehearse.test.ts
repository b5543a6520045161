import { expect, it } from 'vitest'
import { cli } from './cli-process.js'
import { project } from './project.js'

const release = `
name: release
parameters: { version: { type: string, required: true } }
tasks:
  - name: build
    action: ci.build
    next:
      - { when: "{{ succeeded() }}", do: scan }
      - { when: "{{ failed() }}", do: report }
  - { name: scan, action: ci.scan, next: [{ do: ship }] }
  - { name: ship, action: ops.ship }
  - { name: report, action: core.noop }
output: { version: "{{ parameters.version }}" }
`
const good = `
cases:
  - name: all is well
    parameters: { version: '1' }
    expect: { path: [build, scan, ship], output: { version: '1' } }
  - name: a broken build is reported
    parameters: { version: '1' }
    results: { build: { fail: no space } }
    expect: { path: [build, report] }
`

async function rehearse(table: string, ...args: string[]) {
  const { directory: cwd } = await project({ 'release.yaml': release, 'table.yaml': table })
  const env = { DATABASE_URL: 'postgres://127.0.0.1:1/none' }
  return cli(['workflow', 'rehearse', 'release.yaml', 'table.yaml', ...args], { cwd, env })
}

it('rehearses a table of cases without a database', async () => {
  expect(await rehearse(good)).toEqual({
    code: 0,
    stdout: '✔ all is well\n✔ a broken build is reported\n2 cases, all as expected\n',
    stderr: '',
  })
})

it('shows what is not as expected, and the ways side by side', async () => {
  const { code, stdout } = await rehearse(`
cases:
  - name: it is shipped
    parameters: { version: '1' }
    results: { scan: { fail: virus } }
    expect: { path: [build, report, ship], output: { version: '2' } }
`)
  expect(code).toBe(1)
  expect(stdout).toBe(`✘ it is shipped
    path
      expected    actual
      build       build
      report    ≠ scan
      ship        ship
    output
      expected  {"version":"2"}
      actual    {"version":"1"}
1 case, 1 not as expected
`)
})

it('tells the error of a case that should have succeeded', async () => {
  const { code, stdout } = await rehearse(`
cases:
  - parameters: { version: '1' }
    results: { ship: { fail: the sea is rough } }
`)
  expect(code).toBe(1)
  expect(stdout).toContain('✘ case 1\n    state\n      expected  "succeeded"\n      actual    "failed"\n')
  expect(stdout).toContain('    its error  task ship failed: the sea is rough\n')
})

it('shows all that is wrong with a table, with its place', async () => {
  const { code, stdout, stderr } = await rehearse('cases:\n  - { parameters: {}, results: { biuld: {} } }\n')
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
  expect(stderr).toContain('table.yaml:2:34  unknown task "biuld"\n')
  expect(stderr).toContain('  Did you mean build?')
  expect(stderr).toContain('table.yaml:2:19  the parameter version is required\n')
  expect(stderr).toMatch(/table\.yaml has 2 problems \(FP_REHEARSAL_INVALID\)\n.+\n$/)
})

it('tells programs how each case went', async () => {
  const { code, stdout } = await rehearse(good, '--json')
  expect(code).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject([
    { name: 'all is well', mismatches: [], actual: { state: 'succeeded', path: ['build', 'scan', 'ship'] } },
    { name: 'a broken build is reported', mismatches: [] },
  ])
})
