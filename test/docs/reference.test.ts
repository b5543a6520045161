import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { referencePages } from '../../scripts/docs-reference.js'
import { errorCatalogue } from '../../src/errors.js'
import { eventNames } from '../../src/events.js'
import { defaults, limits } from '../../src/limits.js'
import { packageRoot } from '../../src/package-root.js'
import { troubleCodes } from '../../src/workflow/trouble-codes.js'

const directory = join(packageRoot, 'docs', 'reference')
const read = (file: string) => readFileSync(join(directory, file), 'utf8')

describe('docs/reference', () => {
  it.each([...referencePages()])('%s is up to date (npm run docs:reference)', (file, text) => {
    expect(read(file)).toBe(text)
  })

  it('has a section for every error and no other', () => {
    const sections = [...read('errors.md').matchAll(/^## (\w+)$/gm)].map(([, code]) => code)
    expect(sections).toEqual(Object.keys(errorCatalogue))
  })

  it('has a row for every default and every limit', () => {
    const rows = read('defaults.md')
      .split('\n')
      .filter((line) => line.startsWith('| `'))
    expect(rows).toHaveLength(Object.keys(defaults).length + Object.keys(limits).length)
  })

  it('has a row for every event that the types know', () => {
    const source = readFileSync(join(packageRoot, 'src', 'events.ts'), 'utf8')
    const types = /export interface FencepostEvents \{\n(.*?)\n\}/s.exec(source)?.[1] ?? ''
    const named = [...types.matchAll(/^ {2}(\w+): /gm)].map(([, event]) => event)
    const rows = [...read('events.md').matchAll(/^\| `(\w+)` \|/gm)].map(([, event]) => event)
    expect(rows).toEqual(named)
    expect(rows).toEqual(eventNames)
  })
})

it('every code that the code throws is in the catalogue, and every code of the catalogue is thrown', () => {
  const files = readdirSync(join(packageRoot, 'src'), { recursive: true, encoding: 'utf8' })
  const others = files.filter((file) => file.endsWith('.ts') && !/(^|\/)(errors|trouble-codes)\.ts$/.test(file))
  const text = others.map((file) => readFileSync(join(packageRoot, 'src', file), 'utf8')).join('\n')
  const thrown = new Set([...text.matchAll(/'(FP_[A-Z_]+)'/g)].map(([, code]) => code as string))
  const catalogued = { ...errorCatalogue, ...troubleCodes }
  expect([...thrown].filter((code) => !(code in catalogued) && code !== 'FP_INPUT_')).toEqual([])
  expect(Object.keys(errorCatalogue).filter((code) => !thrown.has(code))).toEqual([])
  // Some of them are stored by moves.
  const moves = readdirSync(join(packageRoot, 'sql', 'moves')).map((file) =>
    readFileSync(join(packageRoot, 'sql', 'moves', file), 'utf8'),
  )
  expect(Object.keys(troubleCodes).filter((code) => !thrown.has(code) && !moves.join().includes(code))).toEqual([])
})
