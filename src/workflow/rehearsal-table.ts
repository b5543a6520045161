import type { Definition } from './definition.js'
import { Field, isText } from './field.js'
import type { Scene } from './memory-play.js'
import { inOrder, type Problem, ProblemLog } from './problem.js'
import { problemsText } from './problems-text.js'
import { compileExpectation, type Expectation, type Mismatch, mismatchesOf } from './rehearsal-expectation.js'
import { compileScene } from './rehearsal-scene.js'
import { type Rehearsed, rehearsed } from './rehearsal.js'
import { readYaml } from './yaml-file.js'

export interface TableCase {
  readonly name: string
  readonly scene: Scene
  readonly expectation: Expectation
}

/** What came of a table: its cases, or all that is wrong with it, once more as a text for people. */
export type RehearsalTable =
  | { readonly cases: readonly TableCase[] }
  | { readonly problems: readonly Problem[]; readonly text: string }

const hint = 'Write cases: and under it a list, each with parameters, results and expect.'

/** `fileName` is what the text for people calls it. */
export function readRehearsalTable(text: string, fileName: string, definition: Definition): RehearsalTable {
  const source = text.replace(/^\uFEFF/, '')
  const { content, problems } = readYaml(source)
  const log = new ProblemLog(content?.data, content?.places)
  const cases = content ? compileCases(new Field(content.data, [], log), definition) : []
  const all = inOrder([...problems, ...log.problems])
  return all.length === 0 ? { cases } : { problems: all, text: problemsText(all, source, fileName) }
}

function compileCases(root: Field, definition: Definition): TableCase[] {
  if (!root.hasShape({ what: 'the table', keys: ['cases'], elsewhere: { tests: 'cases' } }, hint)) return []
  const field = root.at('cases')
  const list = field.value === undefined ? undefined : field.list('a list of cases', hint)
  if (field.value === undefined) root.add('the table has no cases', hint)
  if (list?.length === 0) field.add('the list of cases is empty', hint)
  return (list ?? []).flatMap((each, i) => {
    const name = each.at('name').isGiven ? each.at('name').text('the name of the case') : `case ${i + 1}`
    const scene = compileScene(each, definition, 'YAML', ['name', 'expect'])
    const expectation = compileExpectation(each.at('expect'), definition)
    return isText(name) && scene ? [{ name, scene, expectation }] : []
  })
}

export interface RehearsedCase {
  readonly name: string
  readonly expectation: Expectation
  readonly actual: Rehearsed
  /** Empty if all is as expected. */
  readonly mismatches: readonly Mismatch[]
}

export function rehearseTable(definition: Definition, cases: readonly TableCase[]): RehearsedCase[] {
  return cases.map(({ name, scene, expectation }) => {
    const actual = rehearsed(definition, scene)
    return { name, expectation, actual, mismatches: mismatchesOf(expectation, actual) }
  })
}
