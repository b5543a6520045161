import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { edgesInto, type Graph, reachableFrom, runnableTasks, startTasks, targetsOf } from '../../src/workflow/graph.js'

/** `a -> b, c` is a task with one transition; `a -> b; c` has two; `a*` joins all, `a2` needs two edges. */
function graph(...lines: string[]): Graph {
  const tasks = lines.map((line) => {
    const [, name = '', join = '', targets = ''] = /^([a-z]+)([*\d]?)(?: -> (.*))?$/.exec(line) ?? []
    const next = targets === '' ? [] : targets.split('; ').map((list) => ({ do: list.split(', ') }))
    return { name, join: join === '*' ? ('all' as const) : join === '' ? null : Number(join), next }
  })
  return { tasks }
}

const release = graph('build -> scan, deploy; report', 'deploy -> validate', 'scan -> validate', 'validate*', 'report')

describe('edges', () => {
  it('lead into every task from the tasks that name it, in their order', () => {
    expect(Object.fromEntries(edgesInto(release))).toEqual({
      build: [],
      deploy: ['build'],
      scan: ['build'],
      validate: ['deploy', 'scan'],
      report: ['build'],
    })
  })

  it('are one for several transitions of a task to another', () => {
    expect(edgesInto(graph('a -> b; b, c; b', 'b', 'c')).get('b')).toEqual(['a'])
  })

  it('are none to commands or to tasks that are not there', () => {
    const commands = graph('a -> fail; retry; noop; continue; b', 'b')
    expect(targetsOf(commands.tasks[0] as never)).toEqual(['b'])
    expect(edgesInto(graph('a -> missing')).has('missing')).toBe(false)
  })

  it('may lead back, and to the task itself', () => {
    expect(Object.fromEntries(edgesInto(graph('a -> b', 'b -> a, b')))).toEqual({ a: ['b'], b: ['a', 'b'] })
  })
})

describe('a run starts with', () => {
  it.each<[string, Graph, string[]]>([
    ['the tasks that no edge leads to', release, ['build']],
    ['several', graph('a', 'b -> c', 'c'), ['a', 'b']],
    ['nothing, if there is a way to each', graph('a -> b', 'b -> a'), []],
    ['a task that only itself leads back to', graph('a -> a', 'b'), ['a', 'b']],
  ])('%s', (_, given, expected) => {
    expect(startTasks(given)).toEqual(expected)
  })
})

describe('reachable is', () => {
  it.each<[string, Graph, string[], string[]]>([
    ['what follows, with where it starts', release, ['scan'], ['scan', 'validate']],
    ['a circle, once', graph('a -> b', 'b -> c', 'c -> a'), ['b'], ['a', 'b', 'c']],
    ['nothing from nowhere', release, [], []],
    ['nothing from a task that is not there', release, ['missing'], []],
  ])('%s', (_, given, from, expected) => {
    expect([...reachableFrom(given, from)].toSorted()).toEqual(expected.toSorted())
  })

  it('found without recursion, however long the chain', () => {
    const chain = {
      tasks: Array.from({ length: 20_000 }, (_, i) => ({ name: `t${i}`, join: null, next: [{ do: [`t${i + 1}`] }] })),
    }
    expect(reachableFrom(chain, ['t0']).size).toBe(20_000)
  })
})

describe('runnable, if every transition fires, is', () => {
  it.each<[string, Graph, string[]]>([
    ['a join whose edges all can fire', release, ['build', 'deploy', 'report', 'scan', 'validate']],
    ['no join that waits for what follows it', graph('a -> b', 'b* -> c', 'c -> b'), ['a']],
    ['a join of one of them', graph('a -> b', 'b1 -> c', 'c -> b'), ['a', 'b', 'c']],
    ['no join that waits for a join that waits for it', graph('a -> x', 'b -> y', 'x* -> y', 'y* -> x'), ['a', 'b']],
    ['no join for more than there are', graph('a -> x; x', 'b -> x', 'x3'), ['a', 'b']],
    ['no task behind such a join', graph('a -> b', 'b2 -> c', 'c'), ['a']],
  ])('%s', (_, given, expected) => {
    expect([...runnableTasks(given)].toSorted()).toEqual(expected)
  })

  it('part of what is reachable, and all of it where nothing joins', () => {
    const names = ['a', 'b', 'c', 'd', 'e']
    const task = fc.record({
      join: fc.constantFrom(null, 'all' as const, 1, 2),
      next: fc.array(fc.record({ do: fc.subarray(names) }), { maxLength: 2 }),
    })
    fc.assert(
      fc.property(fc.tuple(task, task, task, task, task), (tasks) => {
        const given = { tasks: tasks.map((each, i) => ({ name: names[i] as string, ...each })) }
        const loose = { tasks: given.tasks.map((each) => ({ ...each, join: null })) }
        const reached = reachableFrom(given, startTasks(given))
        for (const name of runnableTasks(given)) expect(reached).toContain(name)
        expect(runnableTasks(loose)).toEqual(reached)
      }),
    )
  })
})
