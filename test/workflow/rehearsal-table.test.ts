import { expect, it } from 'vitest'
import { readRehearsalTable, rehearseTable } from '../../src/workflow/rehearsal-table.js'
import { workflowOf } from '../harness/workflow-of.js'

const { definition } = workflowOf(`
name: release
parameters: { version: { type: string, required: true } }
vars: { image: null, size: 0 }
tasks:
  - name: build
    action: ci.build
    input: { version: "{{ parameters.version }}" }
    next:
      - { when: "{{ succeeded() }}", publish: { image: "{{ result() }}" }, do: scan }
      - { when: "{{ timed_out() }}", do: report }
  - { name: scan, action: ci.scan }
  - { name: report, action: core.echo, input: late }
output: { image: "{{ vars.image }}" }
`)

function read(cases: string) {
  return readRehearsalTable(`cases:\n${cases}`, 'table.yaml', definition)
}

/** What is not as expected, of one case. */
function mismatches(rest: string) {
  const table = read(`  - name: the case\n    parameters: { version: '1' }\n${rest}`)
  if ('problems' in table) throw new Error(table.text)
  return rehearseTable(definition, table.cases)[0]?.mismatches
}

it('compares what is expected, and only that', () => {
  const results = 'results: { build: { result: app:1, after: 5m } }'
  expect(mismatches(`    ${results}`)).toEqual([])
  expect(
    mismatches(`    ${results}
    expect:
      state: succeeded
      path: [build, scan]
      output: { image: 'app:1' }
      vars: { image: 'app:1' }
      inputs: { build: { version: '1' } }
`),
  ).toEqual([])
})

it.each([
  ['path: [build, report]', { what: 'path', expected: ['build', 'report'], actual: ['build', 'scan'] }],
  ['path: []', { what: 'path', expected: [], actual: ['build', 'scan'] }],
  ['state: cancelled', { what: 'state', expected: 'cancelled', actual: 'succeeded' }],
  ['output: null', { what: 'output', expected: null, actual: { image: null } }],
  ['output: { image: null, more: 1 }', { what: 'output' }],
  ['vars: { size: 1 }', { what: 'vars.size', expected: 1, actual: 0 }],
  ['inputs: { build: {} }', { what: 'inputs.build', expected: {}, actual: { version: '1' } }],
  ['inputs: { report: late }', { what: 'inputs.report', expected: 'late', actual: null }],
  ['{ state: succeeded, waits: [scan] }', { what: 'waits', expected: ['scan'], actual: [] }],
])('sees that %s is not what came', (expectation, mismatch) => {
  const inner = expectation.startsWith('{') ? expectation : `{ ${expectation} }`
  expect(mismatches(`    expect: ${inner}`)).toMatchObject([mismatch])
})

it.each([
  ['{ error: no space }', []],
  ['{ error: { code: FULL, task: build } }', []],
  ['{ state: failed, error: { message: "task build failed: no space left" } }', []],
  ['{ error: { code: EMPTY } }', [{ what: 'error.code', expected: 'EMPTY', actual: 'FULL' }]],
  ['{ error: no time }', [{ what: 'error', expected: 'no time' }]],
  ['{ path: [build] }', [{ what: 'state', expected: 'succeeded', actual: 'failed' }]],
])('expects a failure only if it is told to: %s', (expectation, found) => {
  const failing = '    results: { build: { fail: { message: no space left, code: FULL } } }'
  expect(mismatches(`${failing}\n    expect: ${expectation}`)).toMatchObject(found)
})

it('rehearses every case, and calls one without a name by its number', () => {
  const table = read(
    "  - { parameters: { version: '1' }, results: { build: { time_out: true } } }\n  - { name: b, parameters: { version: '2' } }",
  )
  if ('problems' in table) throw new Error(table.text)
  const cases = rehearseTable(definition, table.cases)
  expect(cases.map(({ name, actual }) => [name, actual.path])).toEqual([
    ['case 1', ['build', 'report']],
    ['b', ['build', 'scan']],
  ])
})

it.each([
  [
    '  - results: { biuld: {} }\n    parameters: { version: x }',
    'table.yaml:2:16  unknown task "biuld"',
    'Did you mean build?',
  ],
  ['  - parameters: { version: 7 }', 'table.yaml:2:28  the parameter version must be text, not 7', ''],
  ['  - results: {}', 'table.yaml:2:5  the parameter version is required', ''],
  ['  - parameters: { version: x }\n    expect: { path: [build, scna] }', 'unknown task "scna"', 'Did you mean scan?'],
  ['  - parameters: { version: x }\n    expect: { vars: { imgae: 1 } }', 'unknown var "imgae"', 'Did you mean image?'],
  ['  - parameters: { version: x }\n    expect: { state: suceeded }', 'state must be', 'Did you mean succeeded?'],
  ['  - parameters: { version: x }\n    expct: {}', 'unknown key "expct" in a case', 'Did you mean expect?'],
  [
    '  - parameters: { version: x }\n    results: { build: { timeOut: true } }',
    'unknown key "timeOut" in a mocked result',
    'time_out',
  ],
  ['  - parameters: { version: x }\n    results: { build: { result: 1, fail: no } }', 'a try has one end', ''],
  ['  - parameters: { version: x }\n    results: { build: { after: 5 } }', 'after must be a duration', 'Add the unit'],
  ['  - parameters: { version: x }\n    results: { build: [] }', 'the list of results is empty', ''],
  [
    '  - parameters: { version: x }\n    results: { build: done }',
    'build must be a mapping with result, fail or time_out',
    '{ result: … }',
  ],
  ['  []', 'the list of cases is empty', ''],
  ['  - parameters: { version: x', '', ''],
])('refuses %j, and says where', (cases, message, hint) => {
  const table = read(cases)
  expect(table).toHaveProperty('problems')
  expect('problems' in table && table.text).toContain(message)
  expect('problems' in table && table.text).toContain(hint)
})
