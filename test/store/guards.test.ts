import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { expect, it } from 'vitest'
import { packageRoot } from '../../src/package-root.js'
import { type Guard, isSqlGuard, readGuards, textWithout } from '../harness/guard-removal.js'

const guards = readGuards()
const folders = ['sql/moves', 'src/store', 'src/worker']
/** There is SQL in TypeScript, too. */
const mark = /(?:--|\/\/) guard: (\S+)/g

const pathOf = (guard: Guard) => (isSqlGuard(guard) ? `sql/moves/${guard.move}.sql` : guard.file)
const read = (path: string) => readFileSync(join(packageRoot, path), 'utf8')

it('lists every guard that is marked, once, and no other', () => {
  const paths = folders.flatMap((folder) => readdirSync(join(packageRoot, folder)).map((file) => `${folder}/${file}`))
  const marked = paths.flatMap((path) => [...read(path).matchAll(mark)].map(([, id]) => `${path}: ${id}`))

  expect(guards.map((guard) => `${pathOf(guard)}: ${guard.id}`).sort()).toEqual(marked.sort())
  expect(new Set(guards.map(({ id }) => id)).size).toBe(guards.length)
})

it('names a guard after its file', () => {
  for (const guard of guards) {
    const file = basename(pathOf(guard)).split('.', 1)[0]
    expect(guard.id).toMatch(new RegExp(`^${file}\\.[a-z_]+$`))
  }
})

it('says what each guard protects, and removes something', () => {
  for (const { id, protects, remove } of guards) {
    expect(protects, id).not.toBe('')
    expect(remove.length, id).toBeGreaterThan(0)
  }
})

it('finds each guard’s text exactly once', () => {
  for (const guard of guards) {
    const whole = read(pathOf(guard))
    expect(textWithout(whole, guard), guard.id).not.toBe(whole)
  }
})

it('names tests that exist', () => {
  for (const { id, tests } of guards) {
    expect(tests.length, id).toBeGreaterThan(0)
    for (const test of tests) {
      const [file, ...names] = test.split(' > ') as [string, ...string[]]
      expect(existsSync(join(packageRoot, file)), test).toBe(true)
      const source = read(file)
      for (const name of names) expect(source.includes(`'${name}'`), `${id}: ${test}`).toBe(true)
    }
  }
})
