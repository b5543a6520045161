import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { packageRoot } from '../../src/package-root.js'
import { readWorkflowText } from '../../src/workflow/workflow-file.js'

// What people really write wrong, each file beside what they are told. `npx tsx scripts/broken-definitions.ts` writes the
// messages anew; read the diff.

const directory = join(packageRoot, 'test', 'workflow', 'broken')
const names = readdirSync(directory)
const definitions = names.filter((name) => name.endsWith('.yaml'))

describe('the corpus of broken definitions', () => {
  it('is not smaller than it was', () => {
    expect(definitions.length).toBeGreaterThanOrEqual(150)
  })

  it('has an expected message for every definition, and none without', () => {
    const expected = names.filter((name) => name.endsWith('.txt')).map((name) => name.replace(/\.txt$/, '.yaml'))
    expect(expected).toEqual(definitions)
  })
})

describe.each(definitions)('%s', (name) => {
  const source = readFileSync(join(directory, name), 'utf8')

  it('is refused with the expected message, also if its lines end as on Windows', () => {
    const expected = readFileSync(join(directory, name.replace(/\.yaml$/, '.txt')), 'utf8')
    expect(`${textOf(source, name)}\n`).toBe(expected)
    expect(`${textOf(source.replaceAll('\n', '\r\n'), name)}\n`).toBe(expected)
  })

  it('is refused with a place in the file and a hint for every problem, in the order of the file', () => {
    const result = readWorkflowText(source, name)
    const problems = 'problems' in result ? result.problems : []
    const lines = source.split(/\r?\n/)
    for (const { line, column, message, hint } of problems) {
      expect(line, message).toBeLessThanOrEqual(lines.length)
      expect(column, message).toBeLessThanOrEqual((lines[(line as number) - 1] as string).length + 1)
      expect(hint, message).toMatch(/.{9,}/)
    }
    const places = problems.map(({ line, column }) => (line as number) * 1e6 + (column as number))
    expect(places).toEqual(places.toSorted((a, b) => a - b))
  })
})

function textOf(source: string, name: string): string {
  const result = readWorkflowText(source, name)
  return 'text' in result ? result.text : 'nothing is wrong with it'
}
