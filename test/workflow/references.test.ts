import { describe, expect, it } from 'vitest'
import { referencesIn } from '../../src/workflow/references.js'

/** Each reference as it is written, with the members that are known. */
function read(text: string): string[] {
  return referencesIn(text).map(({ root, members, offset, length }) => {
    expect(text.slice(offset, offset + length)).toBe(root)
    for (const member of members) {
      expect(text.slice(member.offset, member.offset + member.length)).toMatch(new RegExp(`^['"]?${member.name}['"]?$`))
    }
    return [root, ...members.map(({ name }) => name)].join('.')
  })
}

describe('the references in a text', () => {
  it.each<[string, string[]]>([
    ['no expression', []],
    ['{{ 1 + 2 }}', []],
    ['{{ vars.a }} and {{ tasks.b.result.c }}', ['vars.a', 'tasks.b.result.c']],
    ["{{ tasks['a-b'].result }}", ['tasks.a-b.result']],
    ['{{ tasks["a"]["result"] }}', ['tasks.a.result']],
    ['{{ parameters }}', ['parameters']],
    ['{{ vars.list[0].name }}', ['vars.list']],
    ['{{ tasks[vars.name].result }}', ['tasks', 'vars.name']],
    ['{{ vars.a ? vars.b : [vars.c, {"k": vars.d, vars.e: 1}] }}', ['vars.a', 'vars.b', 'vars.c', 'vars.d', 'vars.e']],
    ['{{ !vars.a && -vars.b < 1 || vars.c in vars.d }}', ['vars.a', 'vars.b', 'vars.c', 'vars.d']],
    ['{{ size(vars.a) + vars.b.size() }}', ['vars.a', 'vars.b']],
    ['{{ default(vars.a.b, parameters.c) }}', ['vars.a.b', 'parameters.c']],
    ['{{ has(vars.a.b) }}', ['vars.a.b']],
    ['{{ vars.list.map(x, x.n + vars.a) }}', ['vars.list', 'vars.a']],
    ['{{ vars.list.filter(vars, vars.n > 1) }}', ['vars.list']],
    ['{{ vars.list.map(x, x.map(y, y + x + z.n)) }}', ['vars.list', 'z.n']],
    ['{{ vars.list.exists(x, x) && x }}', ['vars.list', 'x']],
    ['{{ "}} vars.no" + vars.yes }}', ['vars.yes']],
    ['{{ result().image }}', []],
  ])('%s', (text, expected) => {
    expect(read(text)).toEqual(expected)
  })
})
