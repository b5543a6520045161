import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { bundleDirectories, catalogueDirectories, loadBundle, waitingRows } from '../../src/lab/catalogue.js'
import { verdictOf } from '../../src/lab/lab.js'
import { packageRoot } from '../../src/package-root.js'

const specSections = [
  'Context',
  'Hidden assumption',
  'Violated invariants',
  'Description',
  'Trigger',
  'Failure mechanism',
  'Symptoms',
  'Detection',
  'Recovery and prevention',
  'Expected impact',
  'Acceptance',
]

describe('the catalogue', () => {
  it('has every failure mode from FM_001 to FM_054, once: a bundle, or one that says what it waits for', () => {
    const all = Array.from({ length: 54 }, (_, n) => `FM_${String(n + 1).padStart(3, '0')}`)

    expect(catalogueDirectories().map((directory) => directory.slice(0, 6))).toEqual(all)
    expect(
      [...bundleDirectories().map((name) => name.slice(0, 6)), ...waitingRows().map(({ id }) => id)].sort(),
    ).toEqual(all)
  })
})

const waiting = catalogueDirectories().filter((directory) => !bundleDirectories().includes(directory))

describe.each(waiting)('%s, which waits', (directory) => {
  const path = join(packageRoot, 'failure-modes', directory)

  it('has a spec with all its sections, which says what it waits for, and nothing that looks like a test of it', () => {
    const spec = readFileSync(join(path, 'spec.md'), 'utf8')
    const row = waitingRows().find(({ id }) => directory.startsWith(id))

    expect(readdirSync(path)).toEqual(['spec.md'])
    expect(row?.waitsFor).toMatch(/^(schedules|unique keys)$/)
    expect(
      spec
        .split(/^## /m)
        .slice(1)
        .map((section) => section.split('\n', 1)[0]),
    ).toEqual(specSections)
    expect(spec).toContain('there is nothing to play')
  })
})

describe.each(bundleDirectories())('%s', (directory) => {
  const path = join(packageRoot, 'failure-modes', directory)
  const read = (file: string) => readFileSync(join(path, file), 'utf8')
  const id = directory.slice(0, 6)
  const tests = ['happy-path.test.ts', 'prevent.test.ts', 'recover.test.ts', 'repro.test.ts']

  it('has its scenario, its spec, its four tests, and nothing else but a naïve version', async () => {
    const files = readdirSync(path).sort()
    expect(files.filter((file) => file !== 'naive.sql')).toEqual([...tests, 'scenario.ts', 'spec.md'])
    for (const file of tests) expect(read(file)).toContain(`'${id}: `)
    // A guard of the client's, not of a function, is left out by the scenario itself.
    expect(files.includes('naive.sql') || /\.naive|naiveDecide/.test(read('scenario.ts'))).toBe(true)
  })

  it('has a scenario of that id, whose steps can be told apart', async () => {
    const { scenario } = await loadBundle(directory)
    expect(scenario.id).toBe(id)
    expect(scenario.story).not.toContain('\n')
    expect(scenario.invariants).toEqual([...new Set(scenario.invariants)].sort())
    const keys = scenario.steps.map(({ by, does }) => `${by}: ${does}`)
    expect(new Set(keys).size).toBe(keys.length)
  })

  it('has a spec with all its sections, which names what the scenario breaks and how it is accepted', async () => {
    const { scenario } = await loadBundle(directory)
    const [title, ...sections] = read('spec.md').split(/^## /m)
    const named = new Map(sections.map((section) => [section.split('\n', 1)[0], section]))

    expect(title?.trim()).toBe(`# ${id}: ${scenario.name}`)
    expect([...named.keys()]).toEqual(specSections)
    for (const invariant of scenario.invariants) expect(named.get('Violated invariants')).toContain(invariant)
    expect(named.get('Failure mechanism')).toMatch(/^ {4}\S/m)
    for (const file of tests) expect(named.get('Acceptance')).toContain(`\`${file}\``)
  })
})

describe('docs/internals/failure-lab.md', () => {
  const read = (path: string) => readFileSync(join(packageRoot, path), 'utf8')
  const page = read('docs/internals/failure-lab.md')

  it('shows a scenario as it is', () => {
    const [, path, text] = /^```ts file=(\S+)\n(.*?)^```$/ms.exec(page) ?? []
    expect(text).toBe(read(path as string))
  })

  it('shows the fields of a verdict', async () => {
    const [, text] = /^```json\n(.*?)^```$/ms.exec(page) ?? []
    const played = { steps: [], violations: [] }
    const verdict = verdictOf(await loadBundle(bundleDirectories()[0] as string), played, played, {
      points: 0,
      broken: [],
    })
    const [shown] = JSON.parse(text as string) as [Record<string, unknown>]
    expect(Object.keys(shown)).toEqual(Object.keys(verdict))
  })
})
