import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { limits } from '../../src/limits.js'
import { packageRoot } from '../../src/package-root.js'
import type { Scope, ScopeName } from '../../src/workflow/expression.js'
import { forms } from '../../src/workflow/expression/forms.js'
import { functionsByName } from '../../src/workflow/functions.js'
import { compileTemplate } from '../../src/workflow/template.js'
import { refusal } from './refusal.js'

const page = readFileSync(join(packageRoot, 'docs', 'reference', 'expressions.md'), 'utf8')
const scope = JSON.parse(/```json\n(.*?)```/s.exec(page)?.[1] ?? '') as Scope
const names: readonly ScopeName[] = [
  'parameters',
  'vars',
  'tasks',
  'item',
  'index',
  'run',
  'error',
  'attempt',
  'ending',
]
const unescaped = (text: string) => text.replaceAll('\\|', '|')
const examples = [...page.matchAll(/`([^`\n]+)` → `([^`\n]+)`/g)]
  .slice(1) // the line that says what the form is
  .map(([, source, value]) => [unescaped(source as string), unescaped(value as string)] as const)

describe('docs/reference/expressions.md', () => {
  it.each(examples)('%s → %s', (source, value) => {
    const template =
      source.startsWith('"') && source.includes('{{') ? (JSON.parse(source) as string) : `{{ ${source} }}`
    expect(compileTemplate(template, names).evaluate(scope)).toEqual(JSON.parse(value))
  })

  it('has an example with every function', () => {
    const called = [...functionsByName.keys(), ...forms.keys()].filter(
      (name) => !examples.some(([source]) => new RegExp(`\\b${name}\\(`).test(source)),
    )
    expect(called).toEqual([])
  })

  it('has a row for every function, with the arguments that it takes, and for no other', () => {
    const rows = [...page.matchAll(/^\| `([\w.]+\(.*?\))` \|/gm)].map(([, signature]) => signature as string)
    const written = [...functionsByName.values(), ...forms.values()].map(({ signature }) => signature)
    const further = ['list.map(x, condition, value)', 'succeeded()', 'failed()', 'timed_out()', 'result()']
    expect(rows.sort()).toEqual([...written, ...further].sort())
  })

  it('shows an error as it is', () => {
    const { text, hint } = refusal(() => compileTemplate('{{ vars.imgae }}', names).evaluate(scope))
    expect(page).toContain(`\`\`\`text\n${text}\n${hint}\n\`\`\``)
  })

  it('names the limits as they are', () => {
    for (const limit of [
      'expressionLengthMax',
      'expressionNodesMax',
      'expressionDepthMax',
      'expressionStepsMax',
    ] as const) {
      expect(page).toContain(limits[limit].toLocaleString('en-US'))
    }
  })
})
