import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { packageRoot } from '../../src/package-root.js'

interface Locked {
  readonly resolved?: string
  readonly dependencies?: Record<string, string>
  readonly optionalDependencies?: Record<string, string>
}

type Packages = Record<string, Locked>

describe.each(['package-lock.json', 'bench/peers/package-lock.json'])('the lock file %s', (file) => {
  const { packages } = JSON.parse(readFileSync(join(packageRoot, file), 'utf8')) as { packages: Packages }

  // `npm install` leaves out what its registry does not have, and `npm ci` then refuses the file.
  it('has every package that some platform needs', () => {
    const needed = Object.entries(packages).flatMap(([path, { dependencies, optionalDependencies }]) =>
      Object.keys({ ...dependencies, ...optionalDependencies }).map((name) => ({ path, name })),
    )
    expect(needed.filter(({ path, name }) => !found(packages, path, name))).toEqual([])
  })

  it('names no registry', () => {
    expect(Object.keys(packages).filter((path) => packages[path]?.resolved !== undefined)).toEqual([])
  })
})

/** As Node looks for it: in the node_modules of the package itself, then in those around it. */
function found(packages: Packages, path: string, name: string): boolean {
  const here = path === '' ? `node_modules/${name}` : `${path}/node_modules/${name}`
  if (packages[here]) return true
  if (path === '') return false
  const around = path.lastIndexOf('/node_modules/')
  return found(packages, around < 0 ? '' : path.slice(0, around), name)
}
