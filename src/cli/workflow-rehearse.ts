import { Command } from 'commander'
import { FencepostError } from '../errors.js'
import type { Mismatch } from '../workflow/rehearsal-expectation.js'
import { readRehearsalTable, type RehearsedCase, rehearseTable } from '../workflow/rehearsal-table.js'
import { type Paint, paintFor } from './colours.js'
import { counted } from './counted.js'
import type { GlobalOptions } from './global-options.js'
import { jsonLine } from './json-line.js'
import { printable } from './printable.js'
import { sideBySide } from './side-by-side.js'
import { readTextFile } from '../workflow/text-file.js'
import { requireOneWorkflow } from './workflow-source.js'

export function workflowRehearseCommand(): Command {
  return new Command('rehearse')
    .description('run a workflow with mocked results, and compare its way and its output; needs no database')
    .argument('<file>', 'the workflow: a YAML file, or a module that exports one')
    .argument('<table>', 'a YAML file of cases')
    .addHelpText('after', example)
    .action(async (file: string, table: string, _options: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>()
      const { json } = options
      const { definition } = await requireOneWorkflow(file, options)
      const read = readRehearsalTable(await readTextFile(table), table, definition)
      if ('problems' in read) {
        if (json) throw new FencepostError('FP_REHEARSAL_INVALID', read.text)
        console.error(`${read.text}\n`)
        const detail = `${table} has ${counted(read.problems.length, 'problem')}`
        throw new FencepostError('FP_REHEARSAL_INVALID', detail, { hint: 'What is wrong is listed above, all of it.' })
      }
      const cases = rehearseTable(definition, read.cases)
      if (json) console.log(JSON.stringify(cases.map(({ expectation: _expectation, ...rest }) => rest)))
      else print(cases)
      if (cases.some(({ mismatches }) => mismatches.length > 0)) process.exitCode = 1
    })
}

const example = `
A table:

  cases:
    - name: a failed scan is reported
      parameters: { version: '1.2' }
      results:                      # by task; without one, it succeeds with null
        build: { result: { image: app:1.2 }, after: 5m }
        scan: [{ fail: { message: flaky, code: NET } }, { time_out: true }]   # successive tries
        deploy: { result: ok, items: { 1: { fail: no quota } } }              # item 1 fails
        poll: { ordinals: { 3: { result: done } } }                           # the third activation
      answers: { approve: { ok: true } }
      signals: [{ name: go, payload: {}, after: 1h }]
      expect:
        state: failed               # succeeded, if nothing is said
        path: [build, scan, report]
        output: { image: app:1.2 }
        vars: { image: app:1.2 }
        error: { code: NET }
        inputs: { build: { version: '1.2' } }
`

function print(cases: readonly RehearsedCase[]): void {
  const paint = paintFor(process.stdout)
  for (const { name, mismatches, actual } of cases) {
    const isAsExpected = mismatches.length === 0
    console.log(`${isAsExpected ? paint('green', '✔') : paint('red', '✘')} ${printable(name)}`)
    for (const mismatch of mismatches) for (const line of mismatchLines(mismatch, paint)) console.log(`    ${line}`)
    // What one asks next.
    const isTold = mismatches.some(({ what }) => what.startsWith('error'))
    if (!isAsExpected && actual.error && !isTold)
      console.log(`    ${paint('dim', 'its error')}  ${printable(actual.error.message)}`)
    if (!isAsExpected && actual.waits.length > 0)
      console.log(`    ${paint('dim', 'it waits in')}  ${actual.waits.join(', ')}`)
  }
  const failed = cases.filter(({ mismatches }) => mismatches.length > 0).length
  console.log(`${counted(cases.length, 'case')}, ${failed === 0 ? 'all as expected' : `${failed} not as expected`}`)
}

function mismatchLines({ what, expected, actual }: Mismatch, paint: Paint): string[] {
  if (what === 'path') return pathLines(expected as readonly string[], actual as readonly string[], paint)
  return [
    paint('dim', what),
    `  expected  ${paint('green', jsonLine(expected))}`,
    `  actual    ${paint('red', jsonLine(actual))}`,
  ]
}

/** Side by side; what differs is marked. */
function pathLines(expected: readonly string[], actual: readonly string[], paint: Paint): string[] {
  const width = Math.max('expected'.length, ...expected.map(({ length }) => length))
  const rows = sideBySide(expected, actual).map(([wanted = '', got = '']) => {
    if (wanted === got) return `  ${wanted.padEnd(width)}    ${got}`
    return `  ${paint('green', wanted.padEnd(width))}  ${paint('red', `≠ ${got}`)}`
  })
  return [paint('dim', 'path'), `  ${paint('dim', `${'expected'.padEnd(width)}    actual`)}`, ...rows].map((line) =>
    line.trimEnd(),
  )
}
