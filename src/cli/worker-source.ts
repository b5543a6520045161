import { existsSync } from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { checkedConfig, type WorkerConfig } from '../config/config.js'
import { FencepostError } from '../errors.js'
import { loadModule } from './module-loader.js'
import { type FoundTask, isTask, loadTasks, taskFilesAt, tasksIn, withoutDoubles } from './task-files.js'

const configNames = ['ts', 'mts', 'js', 'mjs'].map((ending) => `fencepost.config.${ending}`)
const tasksDirectory = 'tasks'

export interface WorkerSource {
  readonly tasks: readonly FoundTask[]
  /** What the config file says, if there is one. */
  readonly config: WorkerConfig
}

/** What a worker runs if it is told nothing: the config of the working directory, else its tasks. */
export function defaultPaths(): string[] {
  const found = [...configNames, tasksDirectory].find((name) => existsSync(name))
  return found === undefined ? [] : [found]
}

/** The settings alone, without any task: of a config file, or of the one in the working directory if there is one. */
export async function loadConfig(path: string | undefined): Promise<WorkerConfig> {
  const file = path ?? configNames.find((name) => existsSync(name))
  if (file === undefined) return {}
  const settings = configIn(await loadModule(resolve(file)), resolve(file))
  if (settings) return settings
  throw new FencepostError('FP_OPTION_INVALID', `${file} has no settings as its default export`, {
    hint: "Write export default defineConfig({ sqs: { … } }), with defineConfig from 'fencepost'.",
  })
}

export async function loadWorkerSource(paths: readonly string[]): Promise<WorkerSource> {
  const given = paths.length > 0 ? paths : defaultPaths()
  if (given.length === 0) {
    throw new FencepostError('FP_TASKS_MISSING', `${process.cwd()} has no fencepost.config.ts and no tasks/`, {
      hint: 'Make a file tasks/<name>.ts that exports what task(name, …) returns, or name the files: fencepost worker src/jobs',
    })
  }
  const found: FoundTask[] = []
  let config: { readonly file: string; readonly settings: WorkerConfig } | undefined
  for (const file of (await Promise.all(given.map(taskFilesAt))).flat()) {
    const module = await loadModule(file)
    const settings = configIn(module, file)
    if (settings === undefined) {
      found.push(...tasksIn(module, file))
      continue
    }
    if (config) {
      const files = [config.file, file].map((each) => relative(process.cwd(), each)).join(' and ')
      throw new FencepostError('FP_OPTION_INVALID', `${files} are both config files`, { hint: 'Name one of them.' })
    }
    config = { file, settings }
    found.push(...(await tasksOf(settings, file)))
  }
  return { tasks: withoutDoubles(found), config: config?.settings ?? {} }
}

/** The default export with `tasks` in it; or whatever stands in a file of that name, so that mistakes are seen. */
function configIn(module: Record<string, unknown>, file: string): WorkerConfig | undefined {
  const exported = defaultExport(module)
  const isObject = typeof exported === 'object' && exported !== null && !Array.isArray(exported) && !isTask(exported)
  const isNamed = configNames.includes(basename(file))
  if (isObject && (isNamed || 'tasks' in exported)) return checkedConfig(exported, relative(process.cwd(), file))
  if (!isNamed) return undefined
  throw new FencepostError('FP_OPTION_INVALID', `${basename(file)} has no settings as its default export`, {
    hint: "Write export default defineConfig({ tasks: './tasks' }), with defineConfig from 'fencepost'.",
  })
}

/** Of a CommonJS module, the default export is in the default export. */
function defaultExport(module: Record<string, unknown>): unknown {
  const exported = module['default'] as { __esModule?: boolean; default?: unknown } | undefined
  return exported?.__esModule ? exported.default : exported
}

async function tasksOf({ tasks = `./${tasksDirectory}` }: WorkerConfig, file: string): Promise<FoundTask[]> {
  if (typeof tasks === 'string') {
    return loadTasks(await taskFilesAt(relative(process.cwd(), resolve(dirname(file), tasks)) || '.'))
  }
  const wrong = tasks.findIndex((each) => !isTask(each))
  if (tasks.length > 0 && wrong === -1) return tasks.map((task) => ({ task, file }))
  const name = relative(process.cwd(), join(file))
  throw tasks.length === 0
    ? new FencepostError('FP_TASKS_MISSING', `tasks of ${name} is empty`)
    : new FencepostError('FP_OPTION_INVALID', `tasks of ${name} has at place ${wrong + 1} something that is no task`, {
        hint: "List what task(name, …) returned, or write tasks: './tasks' for a directory of modules.",
      })
}
