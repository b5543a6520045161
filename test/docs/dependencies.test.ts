import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { packageRoot } from '../../src/package-root.js'

const manifest = JSON.parse(readFileSync(join(packageRoot, 'package.json'), 'utf8')) as Record<
  'dependencies' | 'optionalDependencies' | 'devDependencies',
  Record<string, string>
>
const { dependencies, optionalDependencies, devDependencies } = manifest
const page = readFileSync(join(packageRoot, 'docs', 'internals', 'dependencies.md'), 'utf8')

it('every dependency has a line that says what it saves us, and every line has a dependency', () => {
  const [, atRunTime, forDevelopment] = page.split(/^## .*$/m)
  expect(listed(atRunTime)).toEqual(Object.keys({ ...dependencies, ...optionalDependencies }).sort())
  expect(listed(forDevelopment)).toEqual(Object.keys(devDependencies).sort())
})

it('every dependency is pinned', () => {
  const versions = Object.values({ ...dependencies, ...optionalDependencies, ...devDependencies })
  expect(versions.filter((version) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version))).toEqual([])
})

/** The names in the first cells of the table. */
function listed(section: string | undefined): string[] {
  const cells = [...(section ?? '').matchAll(/^\| (`[^|]*) \|/gm)].map(([, cell]) => cell as string)
  return cells.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => name as string)).sort()
}
