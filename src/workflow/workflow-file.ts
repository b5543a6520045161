import { FencepostError, shown } from '../errors.js'
import { type Compiled, compileWorkflow } from './compile.js'
import type { Definition } from './definition.js'
import { inOrder, type Problem } from './problem.js'
import { problemsText } from './problems-text.js'
import { readTextFile } from './text-file.js'
import { readYaml } from './yaml-file.js'

/** What came of a file: a definition, or all that is wrong with it, once more as a text for people. */
export type WorkflowFile =
  | { readonly definition: Definition }
  | { readonly problems: readonly Problem[]; readonly text: string }

export async function readWorkflowFile(path: string): Promise<WorkflowFile> {
  return readWorkflowText(await readTextFile(path), path)
}

/** `fileName` is what the text for people calls it. */
export function readWorkflowText(text: string, fileName: string): WorkflowFile {
  if (typeof text !== 'string') {
    throw new FencepostError('FP_OPTION_INVALID', `the text of a workflow is expected, not ${shown(text)}`)
  }
  // A mark at its start is no part of the text; the parser counts without it, too.
  const source = text.replace(/^\uFEFF/, '')
  const { content, problems } = readYaml(source)
  const compiled: Compiled = content ? compileWorkflow(content.data, content.places) : { problems: [] }
  const all = inOrder([...problems, ...('problems' in compiled ? compiled.problems : [])])
  if (all.length === 0 && 'definition' in compiled) return compiled
  return { problems: all, text: problemsText(all, source, fileName) }
}
