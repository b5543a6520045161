import { createRequire } from 'node:module'
import { join, relative, sep } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { FencepostError } from '../errors.js'
import { packageRoot } from '../package-root.js'

/** Files of the user’s that were loaded, directly or by another one. */
const imported = new Set<string>()
let registered = false

/** Modules of others may keep a process alive, with a pool or a timer: who has loaded some ends it by hand. */
export function hasLoadedModules(): boolean {
  return registered
}

/** The files that make up what runs: a change in one of them is a change of the tasks. */
export function loadedFiles(): string[] {
  const required = Object.keys(createRequire(import.meta.url).cache)
  return [...new Set([...imported, ...required])].filter((file) => !isOfPackage(file))
}

function isOfPackage(file: string): boolean {
  return file.includes(`${sep}node_modules${sep}`) || file.startsWith(join(packageRoot, 'dist') + sep)
}

/** Imports a module of the user’s, TypeScript or JavaScript, of either kind. */
export async function loadModule(file: string): Promise<Record<string, unknown>> {
  await registerOnce()
  try {
    return (await import(pathToFileURL(file).href)) as Record<string, unknown>
  } catch (error) {
    throw loadingFailed(file, error)
  }
}

/**
 * For the whole process, not for a namespace: the modules then share our own classes (a `NonRetryable` thrown there is
 * one here), and what a handler imports later is TypeScript as well.
 */
async function registerOnce(): Promise<void> {
  if (registered) return
  registered = true
  const [forRequire, forImport] = await Promise.all([import('tsx/cjs/api'), import('tsx/esm/api')])
  forRequire.register()
  forImport.register({
    onImport(url) {
      if (url.startsWith('file:')) imported.add(fileURLToPath(url.split('?')[0] as string))
    },
  })
}

function loadingFailed(file: string, error: unknown): FencepostError {
  const name = relative(process.cwd(), file)
  const { code, message = String(error), hint } = (error ?? {}) as { code?: string; message?: string; hint?: unknown }
  // One of ours, perhaps of another copy of this package: what task() refused.
  if (code?.startsWith('FP_') && typeof hint === 'string') {
    return new FencepostError('FP_MODULE_FAILED', `${name}: ${message}`, { cause: error, hint })
  }
  const missing = code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND'
  const said = message.replaceAll(process.cwd() + sep, '').replace(/^Transform failed with \d+ errors?:\s*/, '')
  const where = frameIn(error, file)
  const named = said.startsWith(`${name}:`) ? said : `${name}: ${said}`
  return new FencepostError('FP_MODULE_FAILED', `${named}${where ? ` (${where})` : ''}`, {
    cause: error,
    ...(missing && { hint: 'Fix the path of the import, or install the package that it names.' }),
  })
}

/** Where in the file it was thrown, if it was thrown there and the message does not tell already. */
function frameIn(error: unknown, file: string): string | undefined {
  const { name, message, stack } = (error ?? {}) as Partial<Error>
  if (name === 'TransformError' || message?.includes(file)) return undefined
  const frame = stack?.split('\n').find((line) => /^\s+at /.test(line) && line.includes(`${file}:`))
  const position = frame && /:(\d+:\d+)\)?$/.exec(frame)?.[1]
  return position && `at ${position}`
}
