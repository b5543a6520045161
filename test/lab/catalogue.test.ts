import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { bundleDirectories, loadBundle } from '../../src/lab/catalogue.js'
import { verdictOf } from '../../src/lab/lab.js'
import { packageRoot } from '../../src/package-root.js'

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
    expect([...named.keys()]).toEqual([
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
    ])
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
