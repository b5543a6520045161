import { readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { describe, expect, it } from 'vitest'
import { packageRoot } from '../../src/package-root.js'

/**
 * Who may import whom under src/. A module is a directory, or a file at the top. Dependencies point one way: every
 * module stands below those that name it, and nothing names itself through another.
 */
const allowed: Readonly<Record<string, readonly string[]>> = {
  index: ['client', 'config', 'errors', 'events', 'job', 'observe', 'sqs', 'store', 'task', 'worker', 'workflow'],
  cli: [
    'audit',
    'client',
    'config',
    'embedded',
    'errors',
    'events',
    'job',
    'lab',
    'limits',
    'observe',
    'package-root',
    'sqs',
    'store',
    'task',
    'worker',
    'workflow',
  ],
  lab: [
    'audit',
    'client',
    'embedded',
    'errors',
    'events',
    'job',
    'limits',
    'package-root',
    'store',
    'task',
    'worker',
    'workflow',
  ],
  config: ['client', 'errors', 'limits', 'observe', 'sqs', 'task'],
  observe: ['client', 'errors', 'events', 'limits', 'store', 'task'],
  client: ['embedded', 'errors', 'events', 'job', 'limits', 'sqs', 'store', 'task', 'worker', 'workflow'],
  audit: ['errors', 'job', 'package-root', 'store'],
  sqs: ['errors', 'events', 'job', 'limits', 'store', 'task', 'worker'],
  worker: ['errors', 'events', 'job', 'limits', 'package-root', 'store', 'task', 'workflow'],
  store: ['errors', 'job', 'limits', 'package-root', 'task', 'workflow'],
  workflow: ['errors', 'job', 'limits', 'task'],
  events: ['errors', 'job', 'workflow'],
  job: ['errors', 'limits', 'task'],
  task: ['errors', 'limits'],
  embedded: ['errors'],
  errors: [],
  limits: [],
  'package-root': [],
}

/** The modules that may load the driver. Types of it may be named anywhere. */
const speaksToPostgres = ['store', 'embedded', 'lab', 'audit']

const attics = ['utils', 'helpers', 'common', 'types', 'interfaces', 'manager']

interface Import {
  /** Relative to src/, or the name of a package. */
  readonly from: string
  readonly to: string
  readonly typeOnly: boolean
}

describe('the imports under src/', () => {
  const sources = readSources()
  const imports = [...sources].flatMap(([file, text]) => importsOf(file, text))

  it('are found by this test', () => {
    expect(imports).toContainEqual({ from: 'worker/executor.ts', to: 'store/settle.ts', typeOnly: false })
    expect(imports).toContainEqual({ from: 'client/fencepost.ts', to: 'pg', typeOnly: true })
    expect(imports).toContainEqual({ from: 'store/database.ts', to: 'pg', typeOnly: false })
  })

  it('lead to files that exist', () => {
    expect(imports.filter(({ to }) => to.endsWith('.ts') && !sources.has(to))).toEqual([])
  })

  it('point one way', () => {
    expect(forbidden(imports, allowed)).toEqual([])
  })

  it('form no cycle between files', () => {
    expect(cycleIn(imports)).toBeUndefined()
  })

  it('load the PostgreSQL driver only where SQL is spoken', () => {
    const loading = imports.filter(({ to, typeOnly }) => to === 'pg' && !typeOnly).map(({ from }) => moduleOf(from))
    expect(loading.filter((module) => !speaksToPostgres.includes(module))).toEqual([])
  })

  it('lead to no attic', () => {
    const names = [...sources.keys()].flatMap((file) => [basename(file, '.ts'), ...dirname(file).split('/')])
    expect(names.filter((name) => attics.includes(name.replace(/s$/, '')) || attics.includes(name))).toEqual([])
  })
})

describe('the table of modules', () => {
  it('has no cycle of its own', () => {
    const edges = Object.entries(allowed).flatMap(([from, tos]) => tos.map((to) => ({ from, to, typeOnly: false })))
    expect(cycleIn(edges)).toBeUndefined()
  })
})

describe('the check itself', () => {
  const edge = (from: string, to: string): Import => ({ from, to, typeOnly: false })

  it('sees an edge that the table does not have, and a module that it does not know', () => {
    const edges = [
      edge('job/verdict.ts', 'store/lease.ts'),
      edge('attic/x.ts', 'errors.ts'),
      edge('cli/main.ts', 'errors.ts'),
    ]
    expect(forbidden(edges, allowed)).toEqual(['job/verdict.ts imports store/lease.ts', 'attic/x.ts imports errors.ts'])
  })

  it('sees a cycle', () => {
    expect(cycleIn([edge('a', 'b'), edge('b', 'c'), edge('c', 'a'), edge('c', 'd')])).toEqual(['a', 'b', 'c', 'a'])
    expect(cycleIn([edge('a', 'b'), edge('a', 'c'), edge('b', 'd'), edge('c', 'd')])).toBeUndefined()
  })

  it('reads every form of import', () => {
    const text = `
      import pg from 'pg'
      import type { A } from './a.js'
      import { type B, type C } from './b.js'
      import { type D, e } from '../store/d.js'
      export { f } from './f.js'
      export type { G } from './g.js'
      import './h.js'
      const i = await import('./i.js')
    `
    expect(
      importsOf('job/x.ts', text)
        .map(({ to, typeOnly }) => `${to}${typeOnly ? ' (type)' : ''}`)
        .sort(),
    ).toEqual(
      [
        'pg',
        'job/a.ts (type)',
        'job/b.ts (type)',
        'store/d.ts',
        'job/f.ts',
        'job/g.ts (type)',
        'job/h.ts',
        'job/i.ts',
      ].sort(),
    )
  })
})

function readSources(): Map<string, string> {
  const root = join(packageRoot, 'src')
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'))
  return new Map(files.map((file) => [file.replaceAll('\\', '/'), readFileSync(join(root, file), 'utf8')]))
}

function importsOf(file: string, text: string): Import[] {
  const statements = /^\s*(?:import|export)\s+(type\s)?(?:([^'"`;]*?)\s+from\s+)?'([^']+)'/gm
  const calls = /\bimport\(\s*'([^']+)'/g
  const resolved = (name: string) =>
    name.startsWith('.')
      ? relative('.', join(dirname(file), name))
          .replace(/\.js$/, '.ts')
          .replaceAll('\\', '/')
      : name
  return [
    ...[...text.matchAll(statements)].map(([, type, names, to]) => ({
      from: file,
      to: resolved(to as string),
      typeOnly: type !== undefined || onlyTypes(names),
    })),
    ...[...text.matchAll(calls)].map(([, to]) => ({ from: file, to: resolved(to as string), typeOnly: false })),
  ]
}

function onlyTypes(names: string | undefined): boolean {
  const list = /^\{([^}]*)\}$/.exec(names?.trim() ?? '')?.[1]
  if (list === undefined) return false
  const each = list.split(',').map((name) => name.trim())
  return each.filter(Boolean).every((name) => name.startsWith('type '))
}

function moduleOf(file: string): string {
  return file.includes('/') ? (file.split('/')[0] as string) : basename(file, '.ts')
}

function forbidden(imports: readonly Import[], table: typeof allowed): string[] {
  return imports
    .filter(({ to }) => to.endsWith('.ts'))
    .filter(({ from, to }) => moduleOf(from) !== moduleOf(to) && !table[moduleOf(from)]?.includes(moduleOf(to)))
    .map(({ from, to }) => `${from} imports ${to}`)
}

/** The first cycle found, as the path that leads back to its start. */
function cycleIn(imports: readonly Import[]): string[] | undefined {
  const next = new Map(imports.map(({ from }) => [from, imports.filter((each) => each.from === from)]))
  const done = new Set<string>()
  const visit = (node: string, path: readonly string[]): string[] | undefined => {
    if (path.includes(node)) return [...path.slice(path.indexOf(node)), node]
    if (done.has(node)) return undefined
    for (const { to } of next.get(node) ?? []) {
      const cycle = visit(to, [...path, node])
      if (cycle) return cycle
    }
    done.add(node)
    return undefined
  }
  for (const node of next.keys()) {
    const cycle = visit(node, [])
    if (cycle) return cycle
  }
  return undefined
}
