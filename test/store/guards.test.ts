import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { packageRoot } from '../../src/package-root.js'
import { readSqlFiles } from '../../src/store/sql-files.js'
import { readGuards, withoutGuard } from '../harness/guard-removal.js'

const guards = readGuards()
const files = readSqlFiles()

it('lists every guard that is marked in sql/moves, once, and no other', () => {
  const marked = [...files.moves].flatMap(([move, sql]) =>
    [...sql.matchAll(/-- guard: (\S+)/g)].map(([, id]) => ({ move, id: id as string })),
  )
  const key = ({ move, id }: { move: string; id: string }) => `${move}: ${id}`

  expect(guards.map(key).sort()).toEqual(marked.map(key).sort())
  expect(new Set(guards.map(({ id }) => id)).size).toBe(guards.length)
})

it('names a guard after its move', () => {
  for (const { id, move } of guards) expect(id).toMatch(new RegExp(`^${move}\\.[a-z_]+$`))
})

it('says what each guard protects, and removes something', () => {
  for (const { id, protects, remove } of guards) {
    expect(protects, id).not.toBe('')
    expect(remove.length, id).toBeGreaterThan(0)
  }
})

it('finds each guard’s text exactly once', () => {
  for (const guard of guards) {
    const sql = withoutGuard(files, guard).moves.get(guard.move)
    expect(sql, guard.id).not.toBe(files.moves.get(guard.move))
  }
})

it('names tests that exist', () => {
  for (const { id, tests } of guards) {
    expect(tests.length, id).toBeGreaterThan(0)
    for (const test of tests) {
      const [file, ...names] = test.split(' > ') as [string, ...string[]]
      expect(existsSync(join(packageRoot, file)), test).toBe(true)
      const source = readFileSync(join(packageRoot, file), 'utf8')
      for (const name of names) expect(source.includes(`'${name}'`), `${id}: ${test}`).toBe(true)
    }
  }
})
