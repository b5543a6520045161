import { readdir, stat } from 'node:fs/promises'
import { basename, extname, join, relative, resolve } from 'node:path'
import type { AnyTask } from '../client/fencepost.js'
import { FencepostError } from '../errors.js'
import { loadModule } from './module-loader.js'

const extensions = ['.ts', '.mts', '.cts', '.tsx', '.js', '.mjs', '.cjs', '.jsx']

const directories = new Set<string>()

/** The directories that were asked for their tasks: a file that comes into one of them is a change. */
export function taskDirectories(): string[] {
  return [...directories]
}

/** Tasks by the name of the file that exports them, which errors name. */
export interface FoundTask {
  readonly task: AnyTask
  readonly file: string
}

/** The modules that a file or a directory stands for. */
export async function taskFilesAt(path: string): Promise<string[]> {
  const full = resolve(path)
  const found = await stat(full).catch(() => undefined)
  if (!found) {
    throw new FencepostError('FP_TASKS_MISSING', `${path} does not exist`, {
      hint: 'Name a file or a directory of task modules, or a config file, as seen from the working directory.',
    })
  }
  if (!found.isDirectory()) return [full]
  directories.add(full)
  const files = await modulesIn(full)
  if (files.length > 0) return files
  throw new FencepostError('FP_TASKS_MISSING', `there is no module in ${path}`, {
    hint: `Put files that export tasks there: ${extensions.join(', ')}.`,
  })
}

/** Whether a change of this file, in a directory of tasks, can change what runs. */
export function isModule(file: string): boolean {
  return extensions.includes(extname(file)) && !/\.d\.[cm]?ts$/.test(file)
}

/** Tests, declarations, hidden files and those that begin with `_` are left out. */
async function modulesIn(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { withFileTypes: true })
  const files: string[] = []
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    if (/^[._]|^node_modules$/.test(entry.name)) continue
    const path = join(directory, entry.name)
    if (entry.isDirectory()) files.push(...(await modulesIn(path)))
    else if (isModule(entry.name) && !/\.(test|spec)\.\w+$/.test(entry.name)) files.push(path)
  }
  return files
}

/** Loads the files, one after the other so that the first error is the first file’s. */
export async function loadTasks(files: readonly string[]): Promise<FoundTask[]> {
  const found: FoundTask[] = []
  for (const file of files) found.push(...tasksIn(await loadModule(file), file))
  return withoutDoubles(found)
}

/** The tasks of a module, wherever it exports them; everything else is ignored. */
export function tasksIn(module: unknown, file: string): FoundTask[] {
  const tasks = [...exportedTasks(module, 3)]
  if (tasks.length > 0) return tasks.map((task) => ({ task, file }))
  throw new FencepostError('FP_TASKS_MISSING', `${relative(process.cwd(), file)} exports no task`, {
    hint: `Export what task(name, …) returns from it. If it only serves other files, name it _${basename(file)} or move it.`,
  })
}

/** The same task from two files, or twice from one, is one; two tasks of one name are a mistake. */
export function withoutDoubles(found: readonly FoundTask[]): FoundTask[] {
  const named = new Map<string, FoundTask>()
  for (const each of found) {
    const first = named.get(each.task.name)
    if (!first) named.set(each.task.name, each)
    else if (first.task !== each.task) throw duplicate(first, each)
  }
  return [...named.values()]
}

function duplicate(first: FoundTask, second: FoundTask): FencepostError {
  const [one, other] = [first, second].map(({ file }) => relative(process.cwd(), file))
  const where = one === other ? `twice in ${one}` : `in ${one} and in ${other}`
  return new FencepostError('FP_TASK_DUPLICATE', `${JSON.stringify(first.task.name)}, ${where}`)
}

/** By its shape, not by its class: the module may have another copy of this package. */
export function isTask(value: unknown): value is AnyTask {
  if (typeof value !== 'object' || value === null) return false
  const { name, queue, leaseMs, retry, run } = value as Partial<AnyTask>
  return (
    typeof name === 'string' &&
    typeof queue === 'string' &&
    typeof leaseMs === 'number' &&
    typeof retry === 'object' &&
    typeof run === 'function'
  )
}

/** In arrays and plain objects, too: that is what a CommonJS module or `export * as` looks like. */
function* exportedTasks(value: unknown, depth: number): Generator<AnyTask> {
  if (isTask(value)) yield value
  else if (depth > 0 && (Array.isArray(value) || isPlain(value))) {
    for (const each of Object.values(value)) yield* exportedTasks(each, depth - 1)
  }
}

function isPlain(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}
