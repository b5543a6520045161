import { extname, resolve } from 'node:path'
import { existsSync } from 'node:fs'
import { FencepostError } from '../errors.js'
import type { Workflow } from '../workflow/builder.js'
import type { Problem } from '../workflow/problem.js'
import { readWorkflowFile } from '../workflow/workflow-file.js'
import { counted } from './counted.js'
import { loadModule } from './module-loader.js'

/** What came of a file: its workflows, or what is wrong with it, as a text for people, too. */
export type WorkflowSource =
  | { readonly file: string; readonly workflows: readonly Workflow[] }
  | { readonly file: string; readonly problems: readonly Problem[]; readonly text: string }

const yamlEndings = ['.yaml', '.yml']
const moduleEndings = ['.ts', '.mts', '.cts', '.js', '.mjs', '.cjs']

/** Whether this is meant as a file, and not as the name of a workflow. */
export function isFileName(given: string): boolean {
  return [...yamlEndings, ...moduleEndings].includes(extname(given)) || /[\\/]/.test(given)
}

/** The file that someone may have meant who gave this as a name. */
export function fileOfName(name: string): string | undefined {
  return yamlEndings.map((ending) => name + ending).find((file) => existsSync(file))
}

/** A YAML file, or a module that exports workflows. */
export async function readSource(file: string): Promise<WorkflowSource> {
  if (moduleEndings.includes(extname(file))) return readModule(file)
  const read = await readWorkflowFile(file)
  return 'problems' in read ? { file, ...read } : { file, workflows: [{ ...read, tasks: [], workflows: [] }] }
}

async function readModule(file: string): Promise<WorkflowSource> {
  let module: Record<string, unknown>
  try {
    module = await loadModule(resolve(file))
  } catch (error) {
    const { cause } = error as { cause?: { code?: unknown; message?: string } }
    if (cause?.code !== 'FP_WORKFLOW_INVALID' || cause.message === undefined) throw error
    return { file, problems: [], text: `${file}: ${cause.message}` } // workflow() has written it for people
  }
  const workflows = [...new Set(exportedWorkflows(module, 3))]
  if (workflows.length > 0) return { file, workflows }
  throw new FencepostError('FP_MODULE_FAILED', `${file} exports no workflow`, {
    hint: 'Export what workflow(name, …) returns from it.',
  })
}

/** By its shape, in arrays and plain objects, too: see task-files.ts. */
function* exportedWorkflows(value: unknown, depth: number): Generator<Workflow> {
  if (typeof value !== 'object' || value === null) return
  const { definition, workflows } = value as Partial<Workflow>
  if (typeof definition?.name === 'string' && Array.isArray(workflows)) yield value as Workflow
  else if (depth > 0) for (const each of Object.values(value)) yield* exportedWorkflows(each, depth - 1)
}

/** The same, for those who cannot go on: the problems are written for people first; programs find them in the error. */
export async function requireSource(file: string, { json = false }: { json?: boolean }): Promise<readonly Workflow[]> {
  const source = await readSource(file)
  if ('workflows' in source) return source.workflows
  const { problems, text } = source
  if (json) throw new FencepostError('FP_WORKFLOW_INVALID', text)
  console.error(`${text}\n`)
  const many = problems.length > 0 ? ` has ${counted(problems.length, 'problem')}` : ''
  throw new FencepostError('FP_WORKFLOW_INVALID', `${file}${many}`, {
    hint: 'What is wrong is listed above, all of it.',
  })
}

/** The only workflow of a file. */
export async function requireOneWorkflow(file: string, options: { json?: boolean }): Promise<Workflow> {
  const [workflow, ...others] = await requireSource(file, options)
  if (workflow && others.length === 0) return workflow
  const names = [workflow, ...others].map((each) => each?.definition.name).join(', ')
  throw new FencepostError('FP_OPTION_INVALID', `${file} has several workflows: ${names}`, {
    hint: `Deploy them first, and give the name: fencepost workflow deploy ${file}`,
  })
}
